// Emoto et al. 2018: the tables of section V and I.C.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/query.hpp"
#include "report/sections.hpp"

#include <algorithm>

namespace boxsum::bench {
namespace {

/// The paper's algorithms in its order, then what else was measured in its types.
std::vector<std::string> in_order_of_paper(const table_rows& rows) {
    std::vector<std::string> names;
    const std::vector<std::string> measured = algorithms_of(rows);
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end() &&
            std::find(measured.begin(), measured.end(), name) != measured.end())
            names.push_back(name);
    };
    for (const auto& row : printed("emoto-2018")["table_1"]["rows"]) add(row["algorithm"]);
    const bool has_papers = !names.empty();
    for (const std::string& name : measured)
        if (!has_papers || name.starts_with("fast") || name == "simd") add(name);
    return names;
}

std::string width_text(const std::string& parameters) {
    const std::string w = parameter_value(parameters, "W");
    return w.empty() ? (parameters.empty() ? "-" : parameters) : w + "^2";
}

table printed_times() {
    const auto& paper = printed("emoto-2018");
    const auto& printed_table = paper["table_3"];
    std::vector<std::int64_t> sizes = printed_table["sizes"];
    table t{"As printed: " + paper["machine"].get<std::string>() + ", ms, and overhead over cudaMemcpy in percent",
            with_sizes({"algorithm", "W^2"}, sizes),
            {},
            paper["citation"].get<std::string>() + ", " + printed_table["source"].get<std::string>() + ". " +
                printed_table["note"].get<std::string>(),
            2};
    const auto line = [&](const std::string& name, const std::string& width, const auto& values) {
        std::vector<cell> cells{{name}, {width}};
        for (const double v : values) cells.push_back({short_number(v)});
        t.rows.push_back(std::move(cells));
    };
    line("duplication", "-", printed_table["duplication"]);
    std::string before;
    const auto overhead = [&] {
        if (before.empty()) return;
        std::vector<cell> cells{{before}, {"overhead"}};
        for (const double v : printed_table["overhead_percent"][before]) {
            char text[32];
            std::snprintf(text, sizeof text, "%.1f%%", v);
            cells.push_back({text});
        }
        t.rows.push_back(std::move(cells));
    };
    for (const auto& row : printed_table["rows"]) {
        const std::string name = row["algorithm"];
        if (name != before) overhead();
        before = name;
        line(name, row.contains("W") ? std::to_string(row["W"].get<int>()) + "^2" : "-", row["ms"]);
    }
    overhead();
    return t;
}

}  // namespace

section emoto_times_section(const bench_record& record) {
    const std::string types = printed("emoto-2018")["table_3"]["types"];
    const table_rows rows = squares_of(record, types);
    section s{"emoto-times", "Emoto et al. 2018, Table III: time per W and size", {}};
    if (rows.empty()) {
        s.blocks.push_back(paragraph{"No " + types + " tables in this record."});
    } else {
        const std::vector<std::int64_t> sizes = sizes_of(rows);
        table t{"This machine: ms, the best of each algorithm marked, and its overhead over duplication in percent",
                with_sizes({"algorithm", "W^2"}, sizes),
                {},
                "overhead = (min over W of the time - duplication) / duplication. " +
                    std::string(record.origin.backend == "cpu"
                                    ? "The paper's algorithms run on a GPU; in a record of a CPU the CPU's stand here."
                                    : "'fast' is boxsum's production record."),
                2};
        std::vector<cell> copies{{"duplication"}, {"-"}};
        series copy{"duplication", {}, true};
        for (const std::int64_t size : sizes) {
            const auto us = copy_us(record, types, size);
            copies.push_back(number_cell(us ? std::optional(*us / 1000) : std::nullopt));
            if (us) copy.points.push_back({static_cast<double>(size), *us / 1000});
        }
        t.rows.push_back(std::move(copies));
        line_chart times{"Time over size, best W of each", "rows = columns", "ms", {}};
        line_chart overheads{"Overhead over duplication, best W of each", "rows = columns", "percent", {}};
        for (const std::string& name : in_order_of_paper(rows)) {
            const table_rows own = of_algorithm(rows, name);
            for (const std::string& parameters : parameters_of(own)) {
                const table_rows variant = with_parameters(own, parameters);
                std::vector<cell> line{{name}, {width_text(parameters)}};
                for (const std::int64_t size : sizes) {
                    const auto found = std::find_if(variant.begin(), variant.end(),
                                                    [&](const table_row* r) { return r->cols == size; });
                    line.push_back(time_cell(found == variant.end() ? nullptr : *found));
                    if (found != variant.end() && *found == best_of(own, size)) line.back().mark = emphasis::best;
                }
                t.rows.push_back(std::move(line));
            }
            std::vector<cell> line{{name}, {"overhead"}};
            series overhead{name, {}};
            for (const std::int64_t size : sizes) {
                const table_row* const best = best_of(own, size);
                const auto us = copy_us(record, types, size);
                if (best == nullptr || !us) {
                    line.push_back({"-", emphasis::muted});
                    continue;
                }
                char text[32];
                std::snprintf(text, sizeof text, "%.1f%%", overhead_percent(*best->us, *us));
                line.push_back({text});
                overhead.points.push_back({static_cast<double>(size), overhead_percent(*best->us, *us)});
            }
            t.rows.push_back(std::move(line));
            times.lines.push_back(time_series(name, own));
            overheads.lines.push_back(std::move(overhead));
        }
        times.lines.push_back(std::move(copy));
        s.blocks.push_back(std::move(t));
        if (sizes.size() > 1) {
            s.blocks.push_back(std::move(times));
            s.blocks.push_back(std::move(overheads));
        }
    }
    s.blocks.push_back(printed_times());
    return s;
}

section emoto_costs_section(const bench_record& record) {
    const auto& paper = printed("emoto-2018");
    section s{"emoto-costs", "Emoto et al. 2018, Table I: launches, threads, accesses", {}};
    const std::string types = paper["table_3"]["types"];
    const table_rows rows = squares_of(record, types);
    std::int64_t size = 0;
    for (const table_row* r : rows)
        if (r->launches) size = std::max(size, r->cols);
    table t{size == 0 ? "As printed"
                      : "As printed, and as counted for " + std::to_string(size) + "^2 (accesses per element)",
            {"algorithm", "launches", "threads", "parallelism", "reads", "writes"},
            {},
            paper["citation"].get<std::string>() + ", " + paper["table_1"]["source"].get<std::string>() + ". " +
                paper["table_1"]["note"].get<std::string>(),
            6};
    if (size != 0)
        for (const char* head : {"W", "launches counted", "kernels captured", "memsets captured", "threads counted",
                                 "reads counted", "writes counted"})
            t.head.push_back(head);
    for (const auto& row : paper["table_1"]["rows"]) {
        std::vector<cell> line;
        for (const char* key : {"algorithm", "launches", "threads", "parallelism", "reads", "writes"})
            line.push_back({row[key].get<std::string>()});
        const table_row* const best = best_of(of_algorithm(rows, row["algorithm"].get<std::string>()), size);
        if (size != 0 && best == nullptr) line.resize(t.head.size(), {"-", emphasis::muted});
        if (best != nullptr) {
            const auto whole = [](const std::optional<std::int64_t>& v) {
                return v ? cell{std::to_string(*v)} : cell{"-", emphasis::muted};
            };
            line.push_back({width_text(best->parameters)});
            line.push_back(whole(best->launches));
            line.push_back(whole(best->measured_launches));
            line.push_back(whole(best->measured_memsets));
            line.push_back(whole(best->threads));
            line.push_back(number_cell(best->reads));
            line.push_back(number_cell(best->writes));
        }
        t.rows.push_back(std::move(line));
    }
    s.blocks.push_back(std::move(t));
    if (record.origin.backend == "cpu")
        s.blocks.push_back(paragraph{"Launches are counted in a captured call, which needs a GPU."});
    return s;
}

}  // namespace boxsum::bench
