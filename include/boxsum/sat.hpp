#pragma once

#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

namespace boxsum BOXSUM_EXPORT {

/// What a table is made of. Members that are not set are not read.
struct sat_inputs {
    const_any_view image;
    /// What the whole tables hold around this part, where the image is a part of a larger one.
    table_carries carries = {};
    table_carries squares_carries = {};
};

/// What is written, and in which form. What is not set (null data) is not computed; `sums` always is.
struct sat_outputs {
    any_table_view sums;
    any_table_view squares = {};  ///< sums of squared pixels; in the same form as `sums`
};

/// Computes the summed area table of host images on this machine's CPU.
///
/// image: planes x rows x cols x channels; every channel of every plane is summed by itself.
/// table: same planes and channels; rows x cols, or (rows + 1) x (cols + 1) for `padded`. Every entry is written,
/// nothing else of its memory is (bytes between rows stay as they are).
/// The pair of element types must be in `type_pairs()`. Integer tables wrap modulo 2^bits; floating tables obey the
/// bound of docs/concepts.md and have the same bits from run to run and for any number of threads.
/// In place (the same pointer, element size and strides, `inclusive`) works where the algorithm says so; every other
/// overlap is an error.
///
/// Throws invalid_argument (names the argument and its value), unsupported (type pair, algorithm), out_of_memory.
/// Thread-safe for distinct tables. Source: Crow 1984; notation of Chen et al. 2018.
void sat(const const_any_view& image, const any_view& table, const sat_options& options = {});

/// The same, and in the same pass the table of squared pixels, for variances. The types must be in
/// `squares_triples()`. Both tables have the same layout.
void sat(const const_any_view& image, const any_view& table, const any_view& squares, const sat_options& options = {});

/// Allocates the table (from the shared pool) and computes it: `auto t = boxsum::sat<std::uint64_t>(image);`
template <typename Table, typename T>
table<Table> sat(const image_view<T>& image, const sat_options& options = {}) {
    detail::check_image(image);
    table<Table> result(image.rows(), image.cols(), options.layout, image.channels(), image.planes());
    sat(image, any_view(result.view()), options);
    return result;
}

/// Queries of an owning table, whose layout is known.
template <typename T>
T box_sum(const table<T>& t, const box& b, std::int64_t channel = 0, std::int64_t plane = 0) {
    return box_sum(t.view(), b, t.layout(), channel, plane);
}
template <typename T>
double box_mean(const table<T>& t, const box& b, std::int64_t channel = 0, std::int64_t plane = 0) {
    return box_mean(t.view(), b, t.layout(), channel, plane);
}

}  // namespace boxsum
