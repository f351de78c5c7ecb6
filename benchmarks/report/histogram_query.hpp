#pragma once

#include "report/document.hpp"
#include "report/record.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Questions that the sections of the report of `boxsum bench hist` ask of a record.
namespace boxsum::bench {

inline constexpr std::int64_t paper_bins = 32;

/// The extents of a tensor.
struct histogram_size {
    std::int64_t rows = 0, cols = 0, bins = 0;

    friend bool operator==(const histogram_size&, const histogram_size&) = default;
};

/// An algorithm as a line of tables and charts.
struct histogram_line {
    std::string name;  ///< "cpu, 8 threads"
    std::string backend, algorithm;
    int threads = 0;
};

/// The paper's four and `fast`, whether they were measured or not.
std::vector<histogram_line> gpu_lines();
/// The CPU's that were measured, with their numbers of threads.
std::vector<histogram_line> cpu_lines(const bench_record& record);
/// Both.
std::vector<histogram_line> all_lines(const bench_record& record);

/// The tensor of a size by an algorithm with default parameters; null where that was not tried.
const histogram_row* tensor_row(const bench_record& record, const histogram_line& line, const histogram_size& size);

/// Any other row without an algorithm: "memset", "upload", "download".
std::optional<double> plain_us(const bench_record& record, std::string_view what, const histogram_size& size);

/// Microseconds a frame if computing and copying overlap: the longer of the two, as the paper has it (section 4.5).
/// Copying is the image and the tensor, one after the other; on the CPU there is none.
std::optional<double> frame_us(const bench_record& record, const histogram_line& line, const histogram_size& size);

/// Edge lengths of square tensors with the paper's number of bins, and numbers of bins at 512 x 512 (or, where that was
/// not measured, of the size with the most of them), both ascending.
std::vector<std::int64_t> square_sizes(const bench_record& record);
struct bins_at {
    std::int64_t size = 0;
    std::vector<std::int64_t> bins;
};
bins_at varied_bins(const bench_record& record);

/// The citation of the paper, the figure's place in it, and the machine where it names one. `figure`: of
/// printed("poostchi-2017").
std::string place_of(const nlohmann::ordered_json& figure);

/// Milliseconds; "not measured", "-" for what was refused, "wrong".
cell ms_cell(const histogram_row* row);
/// The value of a rate or ratio with three digits; "not measured" where there is none, or "-" where what it is made of
/// was refused.
cell value_cell(std::optional<double> value, bool refused = false);
/// A row of a table whose values are all not measured.
std::vector<cell> not_measured(const std::string& name, std::size_t columns);

}  // namespace boxsum::bench
