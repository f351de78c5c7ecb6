// The page of `boxsum bench hist`.

#include "report/histogram_query.hpp"
#include "report/histogram_sections.hpp"
#include "report/sections.hpp"

#include <algorithm>
#include <map>

namespace boxsum::bench {
namespace {

std::string name_of_row(const histogram_row& r) {
    std::string name = r.algorithm.empty() ? r.what : r.algorithm;
    if (!r.parameters.empty()) name += ", " + r.parameters;
    if (r.what == "part") name += ", parts";
    if (r.what == "frames" || r.what == "answers") name += ", a stream with " + std::to_string(r.buffers) + " buffers";
    if (r.what.starts_with("tasks"))
        name += (r.what == "tasks-kept" ? ", tasks, kept, " : ", tasks, to the host, ") + std::to_string(r.workers) +
                (r.workers == 1 ? " worker" : " workers");
    if (r.threads > 0) name += ", threads: " + std::to_string(r.threads);
    return name;
}

std::string size_of_row(const histogram_row& r) {
    return std::to_string(r.cols) + " x " + std::to_string(r.rows) + ", " + std::to_string(r.bins) + " bins";
}

}  // namespace

section histogram_problems_section(const bench_record& record) {
    section s{"problems", "Wrong results, and what was not run", {}};
    table wrong{"Wrong results: no time counts", {"what", "size", "what was found"}, {}, {}, 3};
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> not_run;
    for (const histogram_row& r : record.histograms) {
        if (r.wrong()) wrong.rows.push_back({{name_of_row(r)}, {size_of_row(r)}, {r.check, emphasis::wrong}});
        if (!r.us && !r.wrong()) not_run[{name_of_row(r), r.note}].push_back(size_of_row(r));
    }
    if (!wrong.rows.empty())
        s.blocks.push_back(std::move(wrong));
    else if (record.histograms.empty())
        s.blocks.push_back(paragraph{"Nothing was measured."});
    else
        s.blocks.push_back(paragraph{
            "Every tensor that was timed was compared, entry by entry, with another computation in the same run, and "
            "was equal; of images with bins as tasks the histograms of boxes, with a direct count; of streams of which "
            "answers go back, those of the first frame."});
    table t{"Not run", {"what", "why", "cases"}, {}, {}, 3};
    for (const auto& [what, cases] : not_run) {
        std::string text;
        for (std::size_t i = 0; i < std::min<std::size_t>(cases.size(), 4); ++i)
            text.append(i == 0 ? "" : "; ").append(cases[i]);
        if (cases.size() > 4) text.append("; and ").append(std::to_string(cases.size() - 4)).append(" more");
        t.rows.push_back({{what.first}, {what.second}, {text}});
    }
    if (!t.rows.empty()) s.blocks.push_back(std::move(t));
    return s;
}

document histogram_report_of(const bench_record& record) {
    document d{
        "boxsum: integral histograms on " + record.origin.device,
        "The figures of Poostchi et al. 2017, repeated on this machine: 8u images of random pixels, 32u tensors. "
        "Results are compared with another computation in the same run. What the paper's text prints is shown "
        "as such, with its place; the curves of its figures are not in our extract.",
        facts_of(record),
        {}};
    for (const auto& make :
         {histogram_times_section, histogram_parts_section, histogram_tuning_section, histogram_transfers_section,
          histogram_buffers_section, histogram_rates_section, histogram_large_section, histogram_speedup_section,
          histogram_vga_section, histogram_answers_section, histogram_problems_section})
        d.sections.push_back(make(record));
    return d;
}

}  // namespace boxsum::bench
