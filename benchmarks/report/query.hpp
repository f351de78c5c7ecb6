#pragma once

#include "report/document.hpp"
#include "report/record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Questions that the sections of a report ask of a record.
namespace boxsum::bench {

using table_rows = std::vector<const table_row*>;

/// Square tables of a pair of types, in the record's order; copies ("copy") left out.
table_rows squares_of(const bench_record& record, std::string_view types);

/// Those of one algorithm; of one set of parameters.
table_rows of_algorithm(const table_rows& rows, std::string_view algorithm);
table_rows with_parameters(const table_rows& rows, std::string_view parameters);

/// Distinct values, sizes ascending, names in order of appearance.
std::vector<std::int64_t> sizes_of(const table_rows& rows);
std::vector<std::string> algorithms_of(const table_rows& rows);
std::vector<std::string> parameters_of(const table_rows& rows);
std::vector<std::string> types_of(const bench_record& record);

/// The fastest of a size that has a time.
const table_row* best_of(const table_rows& rows, std::int64_t size);

/// The time of the same bytes copied, without a table.
std::optional<double> copy_us(const bench_record& record, std::string_view types, std::int64_t size);

/// The value of a parameter in "W=64,threads=256"; empty where it is not among them.
std::string parameter_value(std::string_view parameters, std::string_view name);

/// "1r1w-skss-lb, W=64"
std::string name_with(const table_row& row);

/// (us / reference - 1) in percent, as Emoto's overhead.
double overhead_percent(double us, double reference_us);

/// Milliseconds with three digits; "-" for what was not run, "wrong" for a wrong result.
cell time_cell(const table_row* row);
cell number_cell(std::optional<double> value, const char* behind = "");

/// One line of a chart: the best time of every size, in milliseconds.
series time_series(const std::string& name, const table_rows& rows);

/// A column heading for every size.
std::vector<std::string> with_sizes(std::vector<std::string> head, const std::vector<std::int64_t>& sizes);

/// A section that says why it is empty.
section empty_section(std::string id, std::string title, std::string why);

}  // namespace boxsum::bench
