// Integrals over boxes with edges within pixels from tables on the device: the bits of the host's.

#include "support/complaint.hpp"
#include "support/gpu.hpp"
#include "support/stored_table.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace boxsum {
namespace {

using test::answered, test::contents, test::entry_shape, test::entry_shapes, test::layouts, test::same_bits,
    test::stored_table, test::table_types;

/// Edges at random, on pixels and at every edge, and boxes that no table answers.
std::vector<fractional_box> fractional_boxes_of(const const_any_table_view& t, std::uint64_t seed) {
    const auto rows = static_cast<double>(t.form.answered_extent(t.entries.shape.rows)),
               cols = static_cast<double>(t.form.answered_extent(t.entries.shape.cols));
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    std::vector<fractional_box> boxes{{0, 0, rows, cols},
                                      {0, 0, 1, 1},
                                      {0.25, 0.5, 0.75, 0.625},
                                      {rows - 0.5, cols - 0.25, rows, cols},
                                      {0, 0, 0.5, cols},
                                      {0, 0, std::nextafter(rows, inf), cols},
                                      {0, 0, rows, std::nextafter(cols, inf)},
                                      {-0.5, 0, 1, 1},
                                      {0, -1e-300, 1, 1},
                                      {1, 1, 1, 1},
                                      {1, 1, 0, 2},
                                      {0, 0, inf, 1},
                                      {-inf, 0, 1, 1},
                                      {0, 0, 1e300, 1},
                                      {nan, 0, 1, 1},
                                      {0, nan, 1, 1},
                                      {0, 0, nan, 1},
                                      {0, 0, 1, nan}};
    std::mt19937_64 random(seed);
    const auto within = [&](double extent) {
        const double at = static_cast<double>(random() >> 11) * 0x1p-53 * extent;
        return random() % 3 == 0 ? std::floor(at) : at;
    };
    while (boxes.size() < 773) {
        fractional_box b{within(rows), within(cols), within(rows), within(cols)};
        if (b.top > b.bottom) std::swap(b.top, b.bottom);
        if (b.left > b.right) std::swap(b.left, b.right);
        if (random() % 8 == 0) b.bottom = rows;
        if (random() % 8 == 0) b.right = cols;
        boxes.push_back(b);
    }
    return boxes;
}

class device_fractional_boxes : public test::gpu_stream_test {
  protected:
    cuda::device_boxes upload(const std::vector<fractional_box>& boxes) {
        const std::size_t bytes = boxes.size() * sizeof(fractional_box);
        boxes_ = cuda::device_buffer(bytes, stream());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(boxes_.data(), boxes.data(), bytes, cudaMemcpyHostToDevice, stream().get()));
        stream().synchronize();
        return {.count = std::ssize(boxes), .edges = static_cast<const fractional_box*>(boxes_.data())};
    }

    /// What `call` leaves in memory for `count` values; behind them it may write nothing.
    template <typename T, typename Call>
    std::vector<T> results(std::int64_t count, Call call) {
        std::vector<T> values(static_cast<std::size_t>(count) + 8, T{-77});
        const std::size_t bytes = values.size() * sizeof(T);
        const cuda::device_buffer memory(bytes, stream());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(memory.data(), values.data(), bytes, cudaMemcpyHostToDevice, stream().get()));
        call(cuda::any_device_span(static_cast<T*>(memory.data()), count));
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(values.data(), memory.data(), bytes, cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        EXPECT_TRUE(std::all_of(values.end() - 8, values.end(), [](T v) { return v == T{-77}; }));
        values.resize(static_cast<std::size_t>(count));
        return values;
    }

    /// `on_device(boxes, out)` against `on_host(one box, one result)`.
    template <typename T, typename Device, typename Host>
    void expect_host(const const_any_table_view& table, const std::vector<fractional_box>& boxes, Device on_device,
                     Host on_host) {
        const cuda::device_boxes there = upload(boxes);
        const std::vector<T> found =
            results<T>(there.count, [&](const cuda::any_device_span& out) { on_device(there, out); });
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            double expected = std::nan("");
            if (answered(table, boxes[i])) on_host(std::span(&boxes[i], 1), std::span(&expected, 1));
            const fractional_box& b = boxes[i];
            ASSERT_TRUE(same_bits(found[i], static_cast<T>(expected)))
                << "box " << i << " (" << b.top << " " << b.left << " " << b.bottom << " " << b.right
                << "): " << found[i] << ", expected " << expected;
        }
    }

    template <typename T>
    void expect_all(const stored_table& table, const stored_table& squares, const std::vector<fractional_box>& boxes,
                    std::int64_t channel, std::int64_t plane) {
        using list = const cuda::device_boxes&;
        using out = const cuda::any_device_span&;
        using one = std::span<const fractional_box>;
        using to = std::span<double>;
        const const_any_table_view here = table.host(), there = table.device();
        const moment_views both{here, squares.host()}, both_there{there, squares.device()};
        expect_host<T>(
            here, boxes, [&](list b, out o) { cuda::box_sums_async(there, b, o, stream(), channel, plane); },
            [&](one b, to o) { box_sums(here, b, o, channel, plane); });
        if (HasFatalFailure()) return;
        expect_host<T>(
            here, boxes, [&](list b, out o) { cuda::box_means_async(there, b, o, stream(), channel, plane); },
            [&](one b, to o) { box_means(here, b, o, channel, plane); });
        if (HasFatalFailure()) return;
        expect_host<T>(
            here, boxes, [&](list b, out o) { cuda::box_variances(both_there, b, o, stream(), channel, plane); },
            [&](one b, to o) { box_variances(both, b, o, channel, plane); });
    }

  private:
    cuda::device_buffer boxes_;
};

/// Of all types of tables, with squares of all types, whose memory has strides of its own.
TEST_F(device_fractional_boxes, are_those_of_the_host_bit_for_bit) {
    std::uint64_t seed = 1;
    for (const dtype type : table_types)
        for (const entry_shape& s : entry_shapes)
            for (const contents what : {contents::small, contents::any_bits}) {
                const table_layout layout = layouts[++seed % 3];
                const stored_table table(type, s, layout, what, seed, stream());
                entry_shape packed = s;
                packed.row_gap = packed.plane_gap = packed.first = 0;
                const stored_table squares(table_types[seed % 6], packed, layout, what, seed + 77, stream());
                const std::vector<fractional_box> boxes = fractional_boxes_of(table.host(), seed);
                expect_all<double>(table, squares, boxes, s.channels - 1, s.planes - 1);
                if (!HasFatalFailure() && s.planes > 1) expect_all<float>(table, squares, boxes, 0, 0);
                if (HasFatalFailure())
                    FAIL() << name_of(type) << ", " << name_of(layout) << ", " << s.rows << " x " << s.cols;
            }
}

/// For each channel of each plane another one; variances do not see it.
TEST_F(device_fractional_boxes, have_offsets_added_back_as_on_the_host) {
    const entry_shape s{20, 31, 3, 2, 5, 7, 1};
    std::uint64_t seed = 2000;
    for (const dtype type : table_types)
        for (const contents what : {contents::small, contents::any_bits}) {
            std::vector<double> offsets;
            for (std::int64_t i = 0; i < s.channels * s.planes; ++i)
                offsets.push_back(is_floating(type) ? 0.3 * static_cast<double>(i) - 0.7
                                                    : static_cast<double>((i + 1) * 1'000'000'007));
            table_form form(table_layout::padded, {6, 9});
            form.offsets = offsets.data();
            const stored_table table(type, s, form, what, ++seed, stream());
            const stored_table squares(type, s, form, what, seed + 77, stream());
            for (const std::int64_t plane : {0, 1})
                expect_all<double>(table, squares, fractional_boxes_of(table.host(), seed), plane * 2, plane);
            if (HasFatalFailure()) FAIL() << name_of(type);
        }
}

/// Integers modulo 2^bits: what a table holds of large entries is that of their differences.
TEST_F(device_fractional_boxes, of_pixels_are_those_of_pixels) {
    const stored_table table(dtype::u32, {33, 47}, table_layout::padded, contents::any_bits, 5, stream());
    const std::vector<fractional_box> edges{{0, 0, 32, 46}, {3, 5, 4, 6}, {7, 0, 21, 46}};
    const std::vector<box> pixels{{0, 0, 32, 46}, {3, 5, 1, 1}, {7, 0, 14, 46}};
    const cuda::device_boxes there = upload(edges);
    const std::vector<double> found = results<double>(
        3, [&](const cuda::any_device_span& out) { cuda::box_sums(table.device(), there, out, stream()); });
    for (std::size_t i = 0; i < 3; ++i) {
        scalar sum;
        box_sums(table.host(), {&pixels[i], 1}, {&sum, 1});
        EXPECT_EQ(found[i], static_cast<double>(sum.u));
    }
}

TEST_F(device_fractional_boxes, wrong_arguments_are_named) {
    const stored_table table(dtype::u32, {9, 11}, {}, contents::small, 13, stream());
    const std::vector<fractional_box> here{{0, 0, 2, 2}, {1, 1, 2.5, 3}};
    const cuda::device_boxes boxes = upload(here);
    const cuda::device_buffer memory(64, stream());
    auto* const out = static_cast<double*>(memory.data());
    const const_any_table_view there = table.device();
    const auto sums_of = [&](const cuda::device_boxes& b, const cuda::any_device_span& o) {
        cuda::box_sums_async(there, b, o, stream());
    };
    EXPECT_COMPLAINT(sums_of({.count = 2, .edges = here.data()}, {out, 2}), "boxes: is host memory");
    EXPECT_COMPLAINT(sums_of(boxes, {out, 3}), "sums: has 3 entries, but there are 2 boxes");
    const auto* const beside =
        reinterpret_cast<const fractional_box*>(reinterpret_cast<const std::byte*>(boxes.edges) + 4);
    EXPECT_COMPLAINT(sums_of({.count = 1, .edges = beside}, {out, 1}), "boxes: data lies 4 bytes behind a multiple");
    EXPECT_COMPLAINT(sums_of({reinterpret_cast<const box*>(boxes.edges), 1, boxes.edges}, {out, 1}),
                     "boxes: data and edges are given");
    EXPECT_THROW(sums_of(boxes, {static_cast<std::uint32_t*>(memory.data()), 2}), unsupported);
}

}  // namespace
}  // namespace boxsum
