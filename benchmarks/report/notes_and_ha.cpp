// The notes' table of times, and figure 5 of Ha et al. 2012.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/query.hpp"
#include "report/sections.hpp"

#include <algorithm>

namespace boxsum::bench {
namespace {

cell microseconds(std::optional<double> us) {
    return number_cell(us);
}

std::optional<double> pass_us(const bench_record& record, const std::string& algorithm, int pass, std::int64_t size) {
    for (const pass_row& p : record.passes)
        if (p.algorithm == algorithm && p.pass == pass && p.types == "32u32u" && p.rows == size && p.cols == size &&
            p.us)
            return p.us;
    return {};
}

std::optional<double> blur_us(const bench_record& record, const std::string& algorithm, std::int64_t size) {
    std::optional<double> best;
    for (const table_row& r : record.tables)
        if (r.what == "box-blur" && r.algorithm == algorithm && r.rows == size && r.cols == size && r.us)
            best = best ? std::min(*best, *r.us) : *r.us;
    return best;
}

}  // namespace

section notes_section(const bench_record& record) {
    const auto& paper = printed("notes-2025");
    section s{"notes", "Survey notes of 2025: passes and box blur", {}};
    const auto& time = paper["time"];
    table as_printed{"As printed, us",
                     {"algorithm"},
                     {},
                     paper["citation"].get<std::string>() + ", " + time["source"].get<std::string>() + ". " +
                         time["note"].get<std::string>(),
                     1};
    for (const auto& column : time["columns"]) as_printed.head.push_back(column.get<std::string>());
    table t{"This machine, us",
            {"algorithm", "row pass 128^2", "column pass 128^2", "row pass 800^2", "column pass 800^2",
             "box blur 128^2", "box blur 800^2"},
            {},
            "Passes: 32u32u. Box blur: the 8u32u table and a window of 17 x 17 read from it, result rounded.",
            1};
    std::vector<std::string> names;
    for (const auto& row : time["rows"]) {
        names.push_back(row["algorithm"].get<std::string>());
        std::vector<cell> line{{names.back()}};
        for (const auto& us : row["us"]) line.push_back({us.dump()});
        as_printed.rows.push_back(std::move(line));
    }
    s.blocks.push_back(std::move(as_printed));
    for (const table_row& r : record.tables)
        if (r.what == "box-blur" && std::find(names.begin(), names.end(), r.algorithm) == names.end())
            names.push_back(r.algorithm);
    for (const std::string& name : names) {
        std::vector<cell> line{{name}};
        for (const std::int64_t size : {128, 800})
            for (const int pass : {1, 2}) line.push_back(microseconds(pass_us(record, name, pass, size)));
        for (const std::int64_t size : {128, 800}) line.push_back(microseconds(blur_us(record, name, size)));
        if (std::any_of(line.begin() + 1, line.end(), [](const cell& c) { return c.mark != emphasis::muted; }))
            t.rows.push_back(std::move(line));
    }
    if (t.rows.empty())
        s.blocks.push_back(paragraph{"None of this in this record."});
    else
        s.blocks.push_back(std::move(t));
    return s;
}

section ha_han_section(const bench_record& record) {
    const auto& paper = printed("ha-2012");
    const auto& figure = paper["figure_5"];
    section s{"ha-han", "Ha et al. 2012, figure 5: throughput", {}};
    s.blocks.push_back(paragraph{"The paper (" + figure["source"].get<std::string>() + ", " +
                                 paper["machine"].get<std::string>() + "): \"" + figure["text"].get<std::string>() +
                                 "\"; " + figure["lost"].get<std::string>() + ". Global accesses as printed (" +
                                 paper["accesses"]["source"].get<std::string>() + "): harris-transpose " +
                                 paper["accesses"]["harris-transpose"].get<std::string>() + ", ha-han " +
                                 paper["accesses"]["ha-han"].get<std::string>() +
                                 "; ours adds the transposition that makes the table upright, 8wh in all."});
    table_rows rows;
    for (const table_row* r : squares_of(record, "32f32f"))
        if (r->cols >= figure["sizes"][0].get<std::int64_t>() && r->cols <= figure["sizes"][1].get<std::int64_t>() &&
            (r->cols & (r->cols - 1)) == 0)
            rows.push_back(r);
    std::vector<std::string> names;
    for (const std::string& name : algorithms_of(rows))
        for (const char* wanted : {"harris-transpose", "ha-han", "serial-cpu", "fast", "simd", "opencv-cpu"})
            if (name == wanted) names.push_back(name);
    const std::vector<std::int64_t> sizes = sizes_of(rows);
    table t{
        "Throughput in megapixels a second, best sub-image b of ha-han", with_sizes({"algorithm"}, sizes), {}, {}, 1};
    line_chart chart{"Throughput", "rows = columns", "megapixels a second", {}};
    for (const std::string& name : names) {
        std::vector<cell> line{{name}};
        series speed{name, {}};
        for (const std::int64_t size : sizes) {
            const table_row* const best = best_of(of_algorithm(rows, name), size);
            if (best == nullptr) {
                line.push_back({"-", emphasis::muted});
                continue;
            }
            const double megapixels = static_cast<double>(size) * static_cast<double>(size) / *best->us;
            line.push_back({short_number(megapixels)});
            speed.points.push_back({static_cast<double>(size), megapixels});
        }
        t.rows.push_back(std::move(line));
        chart.lines.push_back(std::move(speed));
    }
    std::vector<cell> ratio{{"ha-han over harris-transpose"}}, b{{"best b"}};
    bool any = false;
    for (const std::int64_t size : sizes) {
        const table_row *const own = best_of(of_algorithm(rows, "ha-han"), size), *const other = best_of(
                                                                                      of_algorithm(rows,
                                                                                                   "harris-transpose"),
                                                                                      size);
        ratio.push_back(own != nullptr && other != nullptr ? number_cell(*other->us / *own->us)
                                                           : cell{"-", emphasis::muted});
        b.push_back(own != nullptr ? cell{parameter_value(own->parameters, "b")} : cell{"-", emphasis::muted});
        any = any || (own != nullptr && other != nullptr);
    }
    if (any) {
        t.rows.push_back(std::move(ratio));
        t.rows.push_back(std::move(b));
    }
    if (t.rows.empty()) {
        s.blocks.push_back(paragraph{"No 32f32f tables of these sizes in this record."});
        return s;
    }
    s.blocks.push_back(std::move(t));
    if (sizes.size() > 1) s.blocks.push_back(std::move(chart));
    return s;
}

}  // namespace boxsum::bench
