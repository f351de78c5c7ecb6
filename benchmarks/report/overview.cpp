#include "report/axis.hpp"
#include "report/query.hpp"
#include "report/sections.hpp"

#include <algorithm>
#include <map>

namespace boxsum::bench {
namespace {

/// At most so many columns of sizes in a table, the powers of two first.
std::vector<std::int64_t> shown_sizes(const std::vector<std::int64_t>& sizes) {
    if (sizes.size() <= 10) return sizes;
    std::vector<std::int64_t> powers;
    for (const std::int64_t s : sizes)
        if ((s & (s - 1)) == 0) powers.push_back(s);
    return powers.size() >= 3 ? powers : sizes;
}

}  // namespace

section overview_section(const bench_record& record) {
    section s{"overview", "Every algorithm beside a copy of the same bytes", {}};
    for (const std::string& types : types_of(record)) {
        const table_rows rows = squares_of(record, types);
        if (rows.empty()) continue;
        const std::vector<std::int64_t> sizes = shown_sizes(sizes_of(rows));
        table t{types + ": time over the time of a copy, best parameters of each algorithm", {}, {}, {}, 1};
        t.head = with_sizes({"algorithm"}, sizes);
        line_chart times{types + ": time over size", "rows = columns", "ms", {}};
        line_chart shares{types + ": time over a copy of the same bytes", "rows = columns", "x of a copy", {}};

        std::vector<cell> copies{{"copy, ms"}};
        series copy{"copy", {}, true};
        for (const std::int64_t size : sizes_of(rows)) {
            const std::optional<double> us = copy_us(record, types, size);
            if (us) copy.points.push_back({static_cast<double>(size), *us / 1000});
            if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
                copies.push_back(number_cell(us ? std::optional(*us / 1000) : std::nullopt));
        }
        for (const std::string& name : algorithms_of(rows)) {
            const table_rows own = of_algorithm(rows, name);
            std::vector<cell> line{{name}};
            for (const std::int64_t size : sizes) {
                const table_row* const best = best_of(own, size);
                const std::optional<double> reference = copy_us(record, types, size);
                if (best != nullptr && reference)
                    line.push_back(number_cell(*best->us / *reference));
                else
                    line.push_back(best != nullptr ? time_cell(best) : cell{"-", emphasis::muted});
            }
            t.rows.push_back(std::move(line));
            series time = time_series(name, own), share{name, {}};
            for (const point& p : time.points)
                if (const auto reference = copy_us(record, types, static_cast<std::int64_t>(p.x)))
                    share.points.push_back({p.x, p.y * 1000 / *reference});
            times.lines.push_back(std::move(time));
            shares.lines.push_back(std::move(share));
        }
        for (std::size_t column = 1; column < t.head.size(); ++column) {
            std::vector<cell>* best = nullptr;
            for (std::vector<cell>& line : t.rows)
                if (line[column].mark == emphasis::none &&
                    (best == nullptr || std::stod(line[column].text) < std::stod((*best)[column].text)))
                    best = &line;
            if (best != nullptr) (*best)[column].mark = emphasis::best;
        }
        t.rows.insert(t.rows.begin(), std::move(copies));
        times.lines.push_back(std::move(copy));
        s.blocks.push_back(std::move(t));
        const bool several = sizes_of(rows).size() > 1;
        if (several) s.blocks.push_back(std::move(times));
        const bool any_share = std::any_of(shares.lines.begin(), shares.lines.end(),
                                           [](const series& line) { return !line.points.empty(); });
        if (several && any_share) s.blocks.push_back(std::move(shares));
    }
    if (s.blocks.empty()) s.blocks.push_back(paragraph{"No square tables in this record."});
    return s;
}

section problems_section(const bench_record& record) {
    section s{"problems", "Wrong results, and what was not run", {}};
    table wrong{"Wrong results: no time counts", {"algorithm", "types", "size", "what was found"}, {}, {}, 4};
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> not_run;
    for (const table_row& r : record.tables) {
        const std::string size = std::to_string(r.rows) + " x " + std::to_string(r.cols);
        if (r.wrong()) wrong.rows.push_back({{name_with(r)}, {r.types}, {size}, {r.check, emphasis::wrong}});
        if (!r.us && !r.wrong() && !r.note.empty())
            not_run[{r.algorithm, r.note}].push_back(r.types + " " + size_text(static_cast<double>(r.cols)) + "^2");
    }
    if (wrong.rows.empty())
        s.blocks.push_back(
            paragraph{"Every table that was timed was compared with the reference in the same run, and "
                      "was equal (integers exactly, floats within the bound of their additions)."});
    else
        s.blocks.push_back(std::move(wrong));
    table t{"Not run", {"algorithm", "why", "cases"}, {}, {}, 3};
    for (const auto& [what, cases] : not_run) {
        std::string text;
        for (std::size_t i = 0; i < std::min<std::size_t>(cases.size(), 4); ++i)
            text.append(i == 0 ? "" : ", ").append(cases[i]);
        if (cases.size() > 4) text.append(", and ").append(std::to_string(cases.size() - 4)).append(" more");
        t.rows.push_back({{what.first}, {what.second}, {text}});
    }
    if (!t.rows.empty()) s.blocks.push_back(std::move(t));
    return s;
}

std::vector<std::pair<std::string, std::string>> facts_of(const bench_record& record) {
    const run_origin& o = record.origin;
    std::vector<std::pair<std::string, std::string>> facts;
    const auto fact = [&](const char* name, const std::string& value) {
        if (!value.empty()) facts.emplace_back(name, value);
    };
    fact("device", o.device);
    fact("driver", o.driver);
    fact("CUDA toolkit", o.toolkit);
    fact("processor", o.host);
    fact("boxsum", o.boxsum);
    fact("commit", o.commit.substr(0, 12) + (o.changed ? " with changes" : ""));
    fact("date", record.date);
    fact("settings", record.settings);
    return facts;
}

document report_of(const bench_record& record) {
    const run_origin& o = record.origin;
    document d{
        "boxsum: summed area tables on " + o.device,
        "The experiments of the papers that boxsum implements, repeated on this machine. Times are medians of "
        "interleaved rounds on random images, every result is compared with the reference in the same run. Figures "
        "that a paper prints are shown as such, with their place.",
        facts_of(record),
        {}};
    for (const auto& make : {overview_section, emoto_times_section, emoto_costs_section, chen_speedups_section,
                             chen_passes_section, chen_model_section, notes_section, ha_han_section, problems_section})
        d.sections.push_back(make(record));
    return d;
}

}  // namespace boxsum::bench
