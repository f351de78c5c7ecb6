// Figures 7 to 10 of Poostchi et al. 2017: times of kernels.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/histogram_query.hpp"
#include "report/histogram_sections.hpp"
#include "report/query.hpp"

#include <boxsum/algorithms.hpp>

#include <algorithm>
#include <set>

namespace boxsum::bench {
namespace {

/// The ratios of two lines over sizes, as a row.
std::vector<cell> ratio_row(const bench_record& record, const std::string& slower, const std::string& faster,
                            const std::vector<std::int64_t>& sizes, const std::string& as_printed) {
    std::vector<cell> line{{slower + " over " + faster}, {as_printed}};
    for (const std::int64_t n : sizes) {
        const histogram_size size{n, n, paper_bins};
        const histogram_row *const a = tensor_row(record, {"", "cuda", slower, 0}, size), *const b = tensor_row(
                                                                                              record,
                                                                                              {"", "cuda", faster, 0},
                                                                                              size);
        const bool known = a != nullptr && b != nullptr, both = known && a->us && b->us;
        line.push_back(value_cell(both ? std::optional(*a->us / *b->us) : std::nullopt, known));
    }
    return line;
}

}  // namespace

section histogram_times_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_7"];
    section s{"figure-7", "Figure 7: time of a tensor over image sizes", {}};
    const std::vector<std::int64_t> sizes = square_sizes(record);
    table t{"This machine: ms, 32 bins",
            with_sizes({"algorithm"}, sizes),
            {},
            "Kernels alone, tensors beyond the second-level cache. '-': refused, see the end of the page.",
            1};
    line_chart chart{"Time of a tensor over image sizes, 32 bins", "rows = columns", "ms", {}};
    std::vector<cell> set{{"memset of the tensor"}};
    series limit{"memset", {}, true};
    for (const std::int64_t n : sizes) {
        const auto us = plain_us(record, "memset", {n, n, paper_bins});
        set.push_back(value_cell(us ? std::optional(*us / 1000) : std::nullopt));
        if (us) limit.points.push_back({static_cast<double>(n), *us / 1000});
    }
    for (const histogram_line& line : all_lines(record)) {
        std::vector<cell> cells{{line.name}};
        series times{line.name, {}};
        for (const std::int64_t n : sizes) {
            const histogram_row* const row = tensor_row(record, line, {n, n, paper_bins});
            cells.push_back(ms_cell(row));
            if (row != nullptr && row->us) times.points.push_back({static_cast<double>(n), *row->us / 1000});
        }
        t.rows.push_back(std::move(cells));
        if (!times.points.empty()) chart.lines.push_back(std::move(times));
    }
    t.rows.insert(t.rows.begin(), std::move(set));
    if (!limit.points.empty()) chart.lines.push_back(std::move(limit));
    s.blocks.push_back(std::move(t));
    if (sizes.size() > 1) s.blocks.push_back(std::move(chart));

    table ratios{"Ratios beside what the paper's text says of them",
                 with_sizes({"ratio", "as printed"}, sizes),
                 {},
                 place_of(figure) + ".",
                 2};
    for (const auto& row : figure["ratios"]) {
        const std::string slower = row["slower"], faster = row["faster"];
        const bool of_all = faster == "every other";
        for (const histogram_line& other : gpu_lines())
            if (of_all ? other.algorithm != slower && other.algorithm != "fast" : other.algorithm == faster)
                ratios.rows.push_back(
                    ratio_row(record, slower, other.algorithm, sizes, row["printed"].get<std::string>()));
    }
    ratios.rows.push_back(ratio_row(record, "wf-tis", "fast", sizes, "-"));
    s.blocks.push_back(std::move(ratios));
    return s;
}

section histogram_parts_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_8"];
    section s{"figure-8", "Figure 8: the parts of a computation", {}};
    s.blocks.push_back(
        paragraph{"As printed: \"" + figure["text"].get<std::string>() + "\" (CW-STs; " + place_of(figure) + ")."});
    std::set<std::int64_t> sizes;
    for (const histogram_row& r : record.histograms)
        if (r.what == "part") sizes.insert(r.rows);
    if (sizes.empty()) {
        table t{"This machine", {"algorithm", "ms"}, {}, {}, 1};
        for (const histogram_line& line : gpu_lines()) t.rows.push_back(not_measured(line.name, 2));
        s.blocks.push_back(std::move(t));
    }
    for (const std::int64_t n : sizes) {
        const std::string at = size_text(static_cast<double>(n)) + "^2 x 32";
        table t{"This machine, " + at,
                {"algorithm", "kernels", "launches", "ms", "ms a launch", "share of the whole"},
                {},
                "Each row is the kernels of one name, run without the others from a graph. The whole has gaps between "
                "kernels, and kernels find what the ones before left in the cache, so the shares need not add up.",
                2};
        bar_chart bars{"Parts, " + at, "ms", {}, {}};
        for (const histogram_line& line : gpu_lines()) {
            const histogram_row* const whole = tensor_row(record, line, {n, n, paper_bins});
            bar_chart::bar bar{line.name, {}};
            for (const histogram_row& r : record.histograms) {
                if (r.what != "part" || r.rows != n || r.cols != n || r.bins != paper_bins ||
                    r.algorithm != line.algorithm || !r.us)
                    continue;
                const double launches = static_cast<double>(r.launches.value_or(1));
                t.rows.push_back({{line.name},
                                  {r.part},
                                  {std::to_string(r.launches.value_or(1))},
                                  {three_digits(*r.us / 1000)},
                                  {three_digits(*r.us / 1000 / launches)},
                                  whole != nullptr && whole->us ? cell{three_digits(*r.us / *whole->us * 100) + "%"}
                                                                : cell{"-", emphasis::muted}});
                auto place = std::find(bars.parts.begin(), bars.parts.end(), r.part);
                if (place == bars.parts.end()) place = bars.parts.insert(bars.parts.end(), r.part);
                bar.values.resize(bars.parts.size());
                bar.values[static_cast<std::size_t>(place - bars.parts.begin())] = *r.us / 1000;
            }
            if (!bar.values.empty()) bars.bars.push_back(std::move(bar));
        }
        s.blocks.push_back(std::move(t));
        if (!bars.bars.empty()) s.blocks.push_back(std::move(bars));
    }
    return s;
}

section histogram_tuning_section(const bench_record& record) {
    const auto &nine = printed("poostchi-2017")["figure_9"], &ten = printed("poostchi-2017")["figure_10"];
    section s{"figures-9-10", "Figures 9 and 10: blocks and tiles of wf-tis", {}};
    s.blocks.push_back(paragraph{"As printed: \"" + nine["text"].get<std::string>() + "\" (" + place_of(nine) +
                                 "); \"" + ten["text"].get<std::string>() + "\" (" + place_of(ten) + ")."});
    const algorithm_info& info = *find_algorithm(operation::histogram, "wf-tis");
    const auto tiles = info.parameters[0].values;
    const std::string_view default_threads = info.parameters[1].values[0];
    std::vector<std::string> block_sizes(info.parameters[1].values.begin(), info.parameters[1].values.end());
    std::sort(block_sizes.begin(), block_sizes.end(),
              [](const std::string& a, const std::string& b) { return std::stoi(a) < std::stoi(b); });
    table t{"This machine: 512 x 512, 32 bins", {"tile", "threads of a block"}, {}, {}, 2};
    t.head.insert(t.head.end(), {"ms", "occupancy"});
    line_chart chart{"Time over the threads of a block, 512 x 512, 32 bins", "threads", "ms", {}, false};
    std::size_t best = 0;
    double best_us = 0;
    for (const std::string_view tile : tiles) {
        series times{"tile " + std::string(tile), {}};
        for (const std::string& threads : block_sizes) {
            const bool is_default = tile == tiles[0] && threads == default_threads;
            const std::string parameters = is_default ? "" : "tile=" + std::string(tile) + ",threads=" + threads;
            const histogram_row* found = nullptr;
            for (const histogram_row& r : record.histograms)
                if (r.what == "tensor" && r.algorithm == "wf-tis" && r.rows == 512 && r.cols == 512 &&
                    r.bins == paper_bins && r.parameters == parameters)
                    found = &r;
            if (found != nullptr && found->us) {
                times.points.push_back({std::stod(threads), *found->us / 1000});
                if (best_us == 0 || *found->us < best_us) {
                    best_us = *found->us;
                    best = t.rows.size();
                }
            }
            t.rows.push_back({{std::string(tile) + " x " + std::string(tile)},
                              {threads},
                              ms_cell(found),
                              found != nullptr && found->us && found->occupancy
                                  ? cell{three_digits(*found->occupancy * 100) + "%"}
                                  : cell{"-", emphasis::muted}});
        }
        if (times.points.size() > 1) chart.lines.push_back(std::move(times));
    }
    if (best_us > 0) t.rows[best][2].mark = emphasis::best;
    s.blocks.push_back(std::move(t));
    if (!chart.lines.empty()) s.blocks.push_back(std::move(chart));
    return s;
}

}  // namespace boxsum::bench
