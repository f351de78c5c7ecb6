#include "report/query.hpp"

#include "report/axis.hpp"

#include <algorithm>
#include <utility>

namespace boxsum::bench {
namespace {

template <typename F>
table_rows select(const table_rows& rows, F keep) {
    table_rows kept;
    for (const table_row* r : rows)
        if (keep(*r)) kept.push_back(r);
    return kept;
}

template <typename Range, typename F>
std::vector<std::string> distinct(const Range& rows, F name) {
    std::vector<std::string> names;
    for (const auto& r : rows)
        if (const std::string& n = name(r); std::find(names.begin(), names.end(), n) == names.end()) names.push_back(n);
    return names;
}

}  // namespace

table_rows squares_of(const bench_record& record, std::string_view types) {
    table_rows rows;
    for (const table_row& r : record.tables)
        if (r.what == "table" && r.types == types && r.rows == r.cols) rows.push_back(&r);
    return rows;
}

table_rows of_algorithm(const table_rows& rows, std::string_view algorithm) {
    return select(rows, [&](const table_row& r) { return r.algorithm == algorithm; });
}
table_rows with_parameters(const table_rows& rows, std::string_view parameters) {
    return select(rows, [&](const table_row& r) { return r.parameters == parameters; });
}

std::vector<std::int64_t> sizes_of(const table_rows& rows) {
    std::vector<std::int64_t> sizes;
    for (const table_row* r : rows) sizes.push_back(r->cols);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

std::vector<std::string> algorithms_of(const table_rows& rows) {
    return distinct(rows, [](const table_row* r) -> const std::string& { return r->algorithm; });
}
std::vector<std::string> parameters_of(const table_rows& rows) {
    return distinct(rows, [](const table_row* r) -> const std::string& { return r->parameters; });
}
std::vector<std::string> types_of(const bench_record& record) {
    return distinct(record.tables, [](const table_row& r) -> const std::string& { return r.types; });
}

const table_row* best_of(const table_rows& rows, std::int64_t size) {
    const table_row* best = nullptr;
    for (const table_row* r : rows)
        if (r->cols == size && r->us && (best == nullptr || *r->us < *best->us)) best = r;
    return best;
}

std::optional<double> copy_us(const bench_record& record, std::string_view types, std::int64_t size) {
    for (const table_row& r : record.tables)
        if (r.what == "copy" && r.types == types && r.rows == size && r.cols == size && r.us) return r.us;
    return {};
}

std::string parameter_value(std::string_view parameters, std::string_view name) {
    while (!parameters.empty()) {
        const std::string_view entry = parameters.substr(0, parameters.find(','));
        parameters.remove_prefix(std::min(entry.size() + 1, parameters.size()));
        if (const std::size_t equals = entry.find('='); entry.substr(0, equals) == name && equals != entry.npos)
            return std::string(entry.substr(equals + 1));
    }
    return {};
}

std::string name_with(const table_row& row) {
    return row.parameters.empty() ? row.algorithm : row.algorithm + ", " + row.parameters;
}

double overhead_percent(double us, double reference_us) {
    return (us - reference_us) / reference_us * 100;
}

cell time_cell(const table_row* row) {
    if (row == nullptr) return {"-", emphasis::muted};
    if (row->wrong()) return {"wrong", emphasis::wrong};
    return row->us ? cell{three_digits(*row->us / 1000)} : cell{"-", emphasis::muted};
}

cell number_cell(std::optional<double> value, const char* behind) {
    return value ? cell{three_digits(*value) + behind} : cell{"-", emphasis::muted};
}

series time_series(const std::string& name, const table_rows& rows) {
    series s{name, {}};
    for (const std::int64_t size : sizes_of(rows))
        if (const table_row* best = best_of(rows, size))
            s.points.push_back({static_cast<double>(size), *best->us / 1000});
    return s;
}

std::vector<std::string> with_sizes(std::vector<std::string> head, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) head.push_back(size_text(static_cast<double>(size)) + "^2");
    return head;
}

section empty_section(std::string id, std::string title, std::string why) {
    return {std::move(id), std::move(title), {paragraph{std::move(why)}}};
}

}  // namespace boxsum::bench
