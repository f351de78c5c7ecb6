#pragma once

#include "api/registry.hpp"
#include "verify/conformance.hpp"
#include "verify/expectation.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The promise on floating tables that no bound on single entries states: on random images the root-mean-square error
/// of a table is no worse than that of adding in row order, in the table's type.
namespace boxsum::test {

/// T(r, c) = (I(r, 0) + ... + I(r, c)) + T(r - 1, c), every addition rounded; `by_columns`: the same of the transposed
/// image.
template <typename Table, typename Pixel>
std::vector<Table> serial_table(const std::vector<Pixel>& image, std::int64_t rows, std::int64_t cols,
                                bool by_columns) {
    std::vector<Table> table(image.size());
    const std::int64_t lines = by_columns ? cols : rows, length = by_columns ? rows : cols;
    const std::int64_t step = by_columns ? cols : 1, next_line = by_columns ? 1 : cols;
    for (std::int64_t line = 0; line < lines; ++line) {
        Table in_line = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            const auto at = static_cast<std::size_t>(line * next_line + i * step);
            in_line += static_cast<Table>(image[at]);
            table[at] = in_line + (line == 0 ? Table{0} : table[at - static_cast<std::size_t>(next_line)]);
        }
    }
    return table;
}

/// Both errors, over tables of random images with one channel and packed rows. `run` as check_record() calls it.
struct rms_errors {
    double record = 0, by_rows = 0, by_columns = 0;
};
template <typename Pixel, typename Table>
rms_errors rms_errors_of(const algorithm_record& record, std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                         const record_runner& run, const parameter_values& values) {
    conformance_case c;
    c.input = dtype_of<Pixel>;
    c.table = dtype_of<Table>;
    c.rows = rows;
    c.cols = cols;
    const problem p = problem_of(c);
    host_memory memory;
    const auto block = [](std::size_t bytes) {
        host_block b;
        b.bytes.resize(bytes + 128);
        b.offset = 0;
        b.first = (64 - reinterpret_cast<std::uintptr_t>(b.bytes.data()) % 64) % 64;
        return b;
    };
    const auto pixels = static_cast<std::size_t>(rows * cols);
    memory.image = block(pixels * sizeof(Pixel));
    memory.table = block(pixels * sizeof(Table));
    fill({memory.image.data(), p.image}, pattern::random, seed);
    const auto* const first = reinterpret_cast<const Pixel*>(memory.image.data());
    const std::vector<Pixel> image(first, first + pixels);
    const expectation sums(p, memory.image.data(), false);
    execution how;
    how.parameters = values;
    run(record, p, memory, how);
    return {sums.rms_error(memory.table.data()), sums.rms_error(serial_table<Table>(image, rows, cols, false).data()),
            sums.rms_error(serial_table<Table>(image, rows, cols, true).data())};
}

/// Says where the promise is broken, over so many images of each shape. A tenth is left to chance: errors of
/// neighbouring entries go together, so that few images are few samples.
template <typename Pixel, typename Table>
std::optional<std::string> worse_than_serial(const algorithm_record& record, const record_runner& run,
                                             const parameter_values& values = {}, std::uint64_t images = 4) {
    const double slack = 1.1;
    for (const auto& [rows, cols] : {std::pair{96, 300}, std::pair{301, 64}, std::pair{200, 200}}) {
        conformance_case c;
        c.input = dtype_of<Pixel>;
        c.table = dtype_of<Table>;
        c.rows = rows;
        c.cols = cols;
        if (!check_support(record, problem_of(c), values)) continue;
        rms_errors sum;
        for (std::uint64_t seed = 1; seed <= images; ++seed) {
            const rms_errors one = rms_errors_of<Pixel, Table>(record, rows, cols, seed, run, values);
            sum.record += one.record;
            sum.by_rows += one.by_rows;
            sum.by_columns += one.by_columns;
        }
        const double serial = std::max(sum.by_rows, sum.by_columns);
        if (!(sum.record <= slack * serial))
            return std::string(record.info.name) + " (" + format_parameters(record, values) + "), " +
                   std::to_string(rows) + " x " + std::to_string(cols) + ": root-mean-square error " +
                   std::to_string(sum.record / serial) + " times that of the serial algorithm";
    }
    return {};
}

}  // namespace boxsum::test
