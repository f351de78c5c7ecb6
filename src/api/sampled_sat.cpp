#include "api/sampled_sat.hpp"

#include "api/packed_call.hpp"
#include "api/registry.hpp"
#include "core/table_types.hpp"
#include "core/validate.hpp"
#include "cpu/filters/bands.hpp"
#include "filters/sample_row.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace boxsum {
namespace {

/// Elements of an image's extents, in memory of our own.
using work_image = detail::owned_table;

work_image make_work(dtype type, const view_shape& like) {
    return detail::allocate_table({}, type, like.rows, like.cols, like.channels, like.planes);
}

const_any_view view_of(const work_image& work) {
    return {work.memory.data(), work.shape};
}

template <typename T>
T* row_of(const work_image& work, std::int64_t row, std::int64_t plane) {
    if (work.memory.data() == nullptr) return nullptr;
    return reinterpret_cast<T*>(static_cast<std::byte*>(work.memory.data()) + plane * work.shape.plane_stride +
                                row * work.shape.row_stride);
}

// ---- the checks -----------------------------------------------------------------------------------------------------

std::string extents(const view_shape& s) {
    return std::to_string(s.planes) + " x " + std::to_string(s.rows) + " x " + std::to_string(s.cols) + " x " +
           std::to_string(s.channels);
}

void check_apart(const char* argument, const any_view& written, const char* other, const const_any_view& view) {
    if (is_given(view) && overlap(written, view)) throw invalid_argument(std::string(argument) + ": overlaps " + other);
}

void check_counts(const sat_shapes& shapes) {
    const view_shape &a = *shapes.counts, &b = shapes.sums;
    checked_reach("counts", a, access::write);
    check_count_type(a.type);
    if (shapes.weights.has_value() != is_floating(a.type))
        throw unsupported(
            "counts: type is " + std::string(name_of(a.type)) +
            (is_floating(a.type) ? ", but without weights they are 32u or 64u" : ", but weights add up in 64f"));
    if (a.planes != b.planes || a.rows != b.rows || a.cols != b.cols || a.channels != b.channels)
        throw invalid_argument("counts: planes x rows x cols x channels are " + extents(a) +
                               ", must be those of sums, " + extents(b));
}

void check_weighted(const char* argument, const std::optional<view_shape>& table) {
    if (table && table->type != dtype::f64)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(table->type)) +
                          ", but weighted pixels add up in 64f");
}

}  // namespace

void check_sampled(const sat_shapes& shapes) {
    if (shapes.mask) checked_reach("mask", *shapes.mask, access::read);
    if (shapes.weights) checked_reach("weights", *shapes.weights, access::read);
    filters::check_samples(shapes.image, shapes.mask, shapes.weights, shapes.nan, shapes.nodata);
    if (shapes.carries || shapes.squares_carries)
        throw unsupported("carries: given, but where pixels may not count tables are of whole images");
    if (shapes.form.has_offset())
        throw unsupported("sums: form is " + text_of(shapes.form) +
                          ", where pixels may not count tables are without an offset");
    if (shapes.counts) check_counts(shapes);
    if (!shapes.weights) return;
    check_weighted("sums", shapes.sums);
    check_weighted("squares", shapes.squares);
    check_weighted("counts", shapes.counts);
}

void check_sampled(const sat_inputs& inputs, const sat_outputs& outputs) {
    make_problem(inputs, outputs);
    const any_view& counts = outputs.counts.entries;
    if (counts.data != nullptr) {
        check_written("counts", counts);
        check_layout("counts", outputs.counts.form.layout);
    }
    check_sampled(shapes_of(inputs, outputs));
    if (is_given(inputs.mask)) check_read("mask", inputs.mask);
    if (is_given(inputs.weights)) check_read("weights", inputs.weights);
    if (counts.data != nullptr) {
        check_apart("counts", counts, "image", inputs.image);
        check_apart("counts", counts, "sums", outputs.sums.entries);
        check_apart("counts", counts, "squares", outputs.squares.entries);
    }
    for (const auto& [name, table] :
         {std::pair{"sums", outputs.sums}, {"squares", outputs.squares}, {"counts", outputs.counts}}) {
        if (table.entries.data == nullptr) continue;
        check_apart(name, table.entries, "mask", inputs.mask);
        check_apart(name, table.entries, "weights", inputs.weights);
    }
}

namespace {

// ---- what is summed -------------------------------------------------------------------------------------------------

/// A table that is left to make, checked and with its algorithm: nothing of it fails any more but memory.
class table_call {
  public:
    table_call(const const_any_view& image, const any_table_view& sums, const any_table_view& squares,
               const sat_options& options)
        : options_(options),
          packed_({.image = image}, {.sums = sums, .squares = squares}),
          problem_(make_problem(packed_.inputs, packed_.outputs)),
          chosen_(choose(problem_, backend::cpu, options.algorithm, options.parameters)) {}

    void run() const {
        chosen_.record->enqueue(problem_, memory_of(packed_.inputs, packed_.outputs),
                                execution_of(options_, chosen_.parameters));
        packed_.sums.unpack();
        packed_.squares.unpack();
    }

  private:
    const sat_options& options_;
    packed_call packed_;
    problem problem_;
    choice chosen_;
};

}  // namespace

bool some_may_not_count(const sat_shapes& shapes) {
    return shapes.mask || shapes.weights || shapes.nan != nan_mode::propagate || shapes.nodata || shapes.counts;
}

bool some_may_not_count(const sat_inputs& inputs, const sat_outputs& outputs) {
    return is_given(inputs.mask) || is_given(inputs.weights) || inputs.nan != nan_mode::propagate || inputs.nodata ||
           outputs.counts.entries.data != nullptr;
}

void sampled_sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) {
    check_sampled(inputs, outputs);
    const view_shape& s = inputs.image.shape;
    const bool weighted = is_given(inputs.weights), counted = outputs.counts.entries.data != nullptr;
    const bool as_it_is = !weighted && !is_given(inputs.mask) && !inputs.nodata &&
                          (inputs.nan == nan_mode::propagate || !is_floating(s.type));
    const work_image counts_of = make_work(dtype::u8, s);
    work_image sums_of, squares_of, weights_of;
    std::deque<table_call> tables;
    const auto add = [&](const const_any_view& image, const any_table_view& sums, const any_table_view& squares) {
        tables.emplace_back(image, sums, squares, options);
    };
    if (weighted) {
        add(view_of(sums_of = make_work(dtype::f64, s)), outputs.sums, {});
        if (outputs.squares.entries.data != nullptr)
            add(view_of(squares_of = make_work(dtype::f64, s)), outputs.squares, {});
        if (counted) add(view_of(weights_of = make_work(dtype::f64, s)), outputs.counts, {});
    } else {
        if (!as_it_is) sums_of = make_work(s.type, s);
        add(as_it_is ? inputs.image : view_of(sums_of), outputs.sums, outputs.squares);
        if (counted) add(view_of(counts_of), outputs.counts, {});
    }

    const packed_input image(inputs.image, has_packed_pixels), mask(inputs.mask, has_packed_pixels),
        weights(inputs.weights, has_packed_pixels);
    filters::sampled_image packed{image.view(), mask.view(), weights.view(), inputs.nan};
    if (inputs.nodata) packed.nodata = filters::as_pixel(*inputs.nodata, s.type);
    const int threads = filters::used_threads(options.threads, s.planes * s.rows * s.cols * s.channels);
    visit_dtype(s.type, [&]<typename T>() {
        filters::for_each_band(s.planes, s.rows, threads, [&](const filters::band& b, int) {
            for (std::int64_t row = b.first; row < b.end; ++row) {
                const filters::sample_row<T> from(packed, row, b.plane);
                auto* const counts = row_of<std::uint8_t>(counts_of, row, b.plane);
                from.find(counts);
                if (weighted)
                    from.weigh(row_of<double>(sums_of, row, b.plane), row_of<double>(squares_of, row, b.plane),
                               row_of<double>(weights_of, row, b.plane), counts);
                else if (!as_it_is)
                    from.keep(row_of<T>(sums_of, row, b.plane), counts);
            }
        });
    });
    for (const table_call& table : tables) table.run();
}

}  // namespace boxsum
