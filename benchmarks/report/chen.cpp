// Chen et al. 2018, section VI: figures 6 to 8 and Table II.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/query.hpp"
#include "report/sections.hpp"

#include <algorithm>
#include <array>

namespace boxsum::bench {
namespace {

constexpr std::array own_names{"brlt-scanrow", "scanrow-brlt", "scanrow-column"};
constexpr std::array paper_types{"8u32s", "32f32f", "32u32u", "64f64f"};

/// What speed-ups are held against: OpenCV's CUDA module as in the paper, its CPU integral where there is none.
std::string opencv_of(const table_rows& rows) {
    for (const char* name : {"opencv-cuda", "opencv-cpu"})
        for (const table_row* r : of_algorithm(rows, name))
            if (r->us) return name;
    return {};
}

void add_speedups(section& s, const table_rows& rows, const std::string& types) {
    const std::vector<std::int64_t> sizes = sizes_of(rows);
    const std::vector<std::string> names = algorithms_of(rows);
    table times{types + ": ms, best parameters of each, the best of each size marked", {"size"}, {}, {}, 1};
    for (const std::string& name : names) times.head.push_back(name);
    for (const std::int64_t size : sizes) {
        std::vector<cell> line{{size_text(static_cast<double>(size)) + "^2"}};
        const table_row* const best = best_of(rows, size);
        for (const std::string& name : names) {
            const table_rows own = of_algorithm(rows, name);
            const table_row* shown = best_of(own, size);
            for (const table_row* r : own)
                if (shown == nullptr && r->cols == size) shown = r;
            line.push_back(time_cell(shown));
            if (best != nullptr && shown == best) line.back().mark = emphasis::best;
        }
        times.rows.push_back(std::move(line));
    }
    s.blocks.push_back(std::move(times));
    if (sizes.size() > 1) {
        line_chart chart{types + ": time over size", "rows = columns", "ms", {}};
        for (const std::string& name : names) chart.lines.push_back(time_series(name, of_algorithm(rows, name)));
        s.blocks.push_back(std::move(chart));
    }
    for (const std::string& peer : {opencv_of(rows), std::string("npp")}) {
        const table_rows baseline = of_algorithm(rows, peer);
        line_chart chart{types + ": speed-up over " + peer, "rows = columns", "times as fast", {}, false};
        for (const std::string& name : names) {
            if (name == peer || name == "serial-cpu") continue;
            series speedup{name, {}};
            for (const std::int64_t size : sizes) {
                const table_row *const own = best_of(of_algorithm(rows, name), size), *const other =
                                                                                          best_of(baseline, size);
                if (own != nullptr && other != nullptr)
                    speedup.points.push_back({static_cast<double>(size), *other->us / *own->us});
            }
            if (!speedup.points.empty()) chart.lines.push_back(std::move(speedup));
        }
        if (chart.lines.empty()) continue;
        table t{types + ": speed-up over " + peer, with_sizes({"algorithm"}, sizes), {}, {}, 1};
        for (const series& line : chart.lines) {
            std::vector<cell> cells{{line.name}};
            for (const std::int64_t size : sizes) {
                const auto found = std::find_if(line.points.begin(), line.points.end(),
                                                [&](const point& p) { return p.x == static_cast<double>(size); });
                cells.push_back(found == line.points.end() ? cell{"-", emphasis::muted} : number_cell(found->y));
            }
            t.rows.push_back(std::move(cells));
        }
        s.blocks.push_back(std::move(t));
        if (sizes.size() > 1) s.blocks.push_back(std::move(chart));
    }
}

std::string capital(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::vector<const pass_row*> passes_of(const bench_record& record, std::string_view algorithm, std::string_view types,
                                       std::int64_t size) {
    std::vector<const pass_row*> passes;
    std::string parameters;
    for (const pass_row& p : record.passes)
        if (p.algorithm == algorithm && p.types == types && p.cols == size && p.rows == size) {
            if (passes.empty()) parameters = p.parameters;
            if (p.parameters == parameters) passes.push_back(&p);
        }
    std::sort(passes.begin(), passes.end(), [](const pass_row* a, const pass_row* b) { return a->pass < b->pass; });
    return passes;
}

/// Two passes with times, or nothing.
std::optional<std::array<double, 2>> two_times(const bench_record& record, std::string_view algorithm,
                                               std::string_view types, std::int64_t size) {
    const auto passes = passes_of(record, algorithm, types, size);
    if (passes.size() != 2 || !passes[0]->us || !passes[1]->us) return {};
    return std::array{*passes[0]->us, *passes[1]->us};
}

void add_breakdown(section& s, const bench_record& record) {
    const auto& figure = printed("chen-2018")["figure_8"];
    const std::string types = figure["types"];
    std::vector<std::int64_t> sizes;
    for (const pass_row& p : record.passes)
        if (p.types == types && p.us && std::find(own_names.begin(), own_names.end(), p.algorithm) != own_names.end())
            sizes.push_back(p.cols);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    bar_chart bars{types + ": time of each pass", "ms", {"1st scan", "2nd scan"}, {}};
    table verdicts{
        "The inequalities of section VI.D on this machine, ms",
        {"statement", "size", "left", "right", "as printed", "as its text explains it"},
        {},
        "T_ScanRow and T_ScanColumn are the passes of scanrow-column; T_BRLT-ScanRow and T_ScanRow-BRLT are the "
        "means of the two calls of their kernels. " +
            capital(figure["lost"].get<std::string>()) + ".",
        2};
    for (const std::int64_t size : sizes) {
        for (const char* name : own_names)
            if (const auto us = two_times(record, name, types, size))
                bars.bars.push_back({std::string(name) + " " + size_text(static_cast<double>(size)) + "^2",
                                     {(*us)[0] / 1000, (*us)[1] / 1000}});
        const auto brlt = two_times(record, "brlt-scanrow", types, size);
        const auto scan = two_times(record, "scanrow-brlt", types, size);
        const auto columns = two_times(record, "scanrow-column", types, size);
        const auto add = [&](int index, double left, double right, bool holds, const char* explained) {
            verdicts.rows.push_back(
                {{figure["inequalities"][static_cast<std::size_t>(index)]["printed"].get<std::string>()},
                 {size_text(static_cast<double>(size)) + "^2"},
                 {three_digits(left / 1000)},
                 {three_digits(right / 1000)},
                 {holds ? "holds" : "does not hold"},
                 {explained}});
        };
        const auto mean = [](const std::array<double, 2>& pair) { return (pair[0] + pair[1]) / 2; };
        if (brlt && columns) {
            add(0, (*columns)[1], mean(*brlt), (*columns)[1] < mean(*brlt), "-");
            const double both = (*brlt)[0] + (*brlt)[1], rows = (*columns)[0] + (*columns)[1];
            add(1, both, rows, both < rows, "-");
        }
        if (brlt && scan)
            add(2, mean(*brlt), mean(*scan), mean(*brlt) > mean(*scan),
                mean(*brlt) < mean(*scan) ? "holds" : "does not hold");
    }
    if (bars.bars.empty()) {
        s.blocks.push_back(paragraph{"Figure 8: no passes of the paper's three algorithms in this record" +
                                     std::string(record.origin.backend == "cpu" ? ", which is of a CPU." : ".")});
        return;
    }
    s.blocks.push_back(std::move(bars));
    s.blocks.push_back(std::move(verdicts));
}

void add_networks(section& s, const bench_record& record) {
    table t{"Kogge-Stone against LF, ms",
            {"algorithm", "types", "size", "Kogge-Stone", "LF", "LF over Kogge-Stone"},
            {},
            "The paper (" + printed("chen-2018")["kogge_stone_lf"]["source"].get<std::string>() + "): \"" +
                printed("chen-2018")["kogge_stone_lf"]["text"].get<std::string>() + "\"",
            3};
    for (const table_row& r : record.tables) {
        if (!r.us || parameter_value(r.parameters, "scan") != "kogge-stone") continue;
        std::string other = r.parameters;
        other.replace(other.find("scan=kogge-stone"), 16, "scan=lf");
        for (const table_row& lf : record.tables)
            if (lf.us && lf.what == r.what && lf.algorithm == r.algorithm && lf.types == r.types && lf.rows == r.rows &&
                lf.cols == r.cols && lf.parameters == other)
                t.rows.push_back({{r.algorithm},
                                  {r.types},
                                  {size_text(static_cast<double>(r.cols)) + "^2"},
                                  time_cell(&r),
                                  time_cell(&lf),
                                  number_cell(*lf.us / *r.us)});
    }
    if (!t.rows.empty()) s.blocks.push_back(std::move(t));
}

void add_kernels(section& s, const bench_record& record) {
    const auto& table_2 = printed("chen-2018")["table_2"];
    table paper{"Table II as printed: the kernels of NPP 9.0",
                {"kernel", "block", "grid", "registers", "static shared", "dynamic shared"},
                {},
                table_2["source"].get<std::string>(),
                3};
    for (const auto& row : table_2["rows"])
        paper.rows.push_back({{row["kernel"].get<std::string>()},
                              {row["block"].get<std::string>()},
                              {row["grid"].get<std::string>()},
                              {std::to_string(row["registers"].get<int>())},
                              {row["static_shared"].get<std::string>()},
                              {row["dynamic_shared"].get<std::string>()}});
    s.blocks.push_back(std::move(paper));
    table t{"Kernels on this machine, as the runtime reports them",
            {"algorithm", "kernel", "types", "block", "grid", "registers", "static shared", "dynamic shared"},
            {},
            {},
            5};
    std::vector<std::string> seen;
    for (const pass_row& p : record.passes) {
        const std::string key = p.algorithm + "|" + p.kernel + "|" + p.types + "|" + p.block;
        if (!p.registers || std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        const auto whole = [](const std::optional<std::int64_t>& v) {
            return v ? cell{std::to_string(*v)} : cell{"-", emphasis::muted};
        };
        t.rows.push_back({{p.algorithm},
                          {p.kernel},
                          {p.types},
                          {p.block},
                          {p.grid + " for " + size_text(static_cast<double>(p.cols)) + "^2"},
                          whole(p.registers),
                          whole(p.static_shared_bytes),
                          whole(p.dynamic_shared_bytes)});
    }
    if (!t.rows.empty())
        s.blocks.push_back(std::move(t));
    else
        s.blocks.push_back(paragraph{"No kernels in this record."});
}

}  // namespace

section chen_speedups_section(const bench_record& record) {
    const auto& paper = printed("chen-2018");
    section s{"chen-speedups", "Chen et al. 2018, figures 6 and 7: time and speed-up", {}};
    s.blocks.push_back(paragraph{"The paper (" + paper["speedups"]["source"].get<std::string>() + ", " +
                                 paper["machine"].get<std::string>() + "): \"" +
                                 paper["speedups"]["text"].get<std::string>() + "\" " +
                                 capital(paper["speedups"]["lost"].get<std::string>()) + "."});
    bool any = false;
    for (const char* types : paper_types) {
        const table_rows rows = squares_of(record, types);
        if (rows.empty()) continue;
        // The sizes at which the paper's algorithms or a library were measured: not every power of two of the others.
        table_rows own;
        for (const table_row* r : rows)
            if (r->algorithm.starts_with("fast") || r->algorithm == "simd" || r->algorithm == "npp" ||
                r->algorithm.starts_with("opencv") || r->algorithm == "cub-two-pass" ||
                std::find(own_names.begin(), own_names.end(), r->algorithm) != own_names.end())
                own.push_back(r);
        if (own.empty()) continue;
        add_speedups(s, own, types);
        any = true;
    }
    if (!any)
        s.blocks.push_back(paragraph{"None of the paper's types (8u32s, 32f32f, 32u32u, 64f64f) in this record."});
    return s;
}

section chen_passes_section(const bench_record& record) {
    section s{"chen-passes", "Chen et al. 2018, figure 8 and Table II: passes and kernels", {}};
    add_breakdown(s, record);
    add_networks(s, record);
    add_kernels(s, record);
    return s;
}

}  // namespace boxsum::bench
