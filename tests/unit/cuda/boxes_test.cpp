// Sums, means and variances of boxes from tables on the device: the bits of the host's.

#include "cuda/runtime/cuda_try.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"
#include "support/stored_table.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::answered, test::contents, test::entry_shape, test::entry_shapes, test::layouts, test::same_bits,
    test::stored_table, test::table_types;

/// Boxes at random and at every edge, and some that no table answers: more than two blocks of threads have, and not a
/// multiple of what one has.
std::vector<box> some_boxes(const const_any_table_view& t, std::uint64_t seed) {
    const std::int64_t border = t.form.border();
    const std::int64_t rows = t.entries.shape.rows - border, cols = t.entries.shape.cols - border;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most - 1,
                           far = std::int64_t{1} << 40;
    std::vector<box> boxes{{0, 0, rows, cols},
                           {0, 0, 1, 1},
                           {rows - 1, cols - 1, 1, 1},
                           {0, 0, rows + 1, cols},
                           {0, 0, rows, cols + 1},
                           {-1, 0, 1, 1},
                           {0, -1, 1, 1},
                           {0, 0, 0, 1},
                           {0, 0, 1, 0},
                           {0, 0, -1, -1},
                           {far, 0, 1, 1},
                           {0, far, 1, 1},
                           {0, 0, far, 1},
                           {0, 0, 1, far},
                           {most, 0, 1, 1},
                           {1, 1, most, most},
                           {least, least, most, most},
                           {0, 0, least, 1},
                           {0, least, 1, most}};
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
    };
    while (boxes.size() < 1301) {
        box b{below(rows), below(cols), 1, 1};
        b.rows += below(rows - b.row);
        b.cols += below(cols - b.col);
        if (random() % 4 == 0) b.row = 0;
        if (random() % 4 == 0) b.col = 0;
        if (random() % 16 == 0) b.rows = rows - b.row + 1;  // one too many
        boxes.push_back(b);
    }
    return boxes;
}

class device_boxes : public test::gpu_stream_test {
  protected:
    static constexpr std::size_t guard = 64;
    static constexpr auto poison = std::byte{0xa5};

    /// The boxes in device memory, `offset` bytes behind where they would be aligned best.
    cuda::device_boxes upload(const std::vector<box>& boxes, std::size_t offset = 0) {
        const std::size_t bytes = boxes.size() * sizeof(box);
        boxes_ = cuda::device_buffer(offset + bytes, stream());
        auto* const first = static_cast<std::byte*>(boxes_.data()) + offset;
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(first, boxes.data(), bytes, cudaMemcpyHostToDevice, stream().get()));
        stream().synchronize();
        return {reinterpret_cast<const box*>(first), static_cast<std::int64_t>(boxes.size())};
    }

    /// What `call` leaves in memory for `count` values; around them it may write nothing.
    template <typename T, typename Call>
    std::vector<T> results(std::int64_t count, Call call) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        std::vector<std::byte> all(bytes + 2 * guard, poison);
        const cuda::device_buffer memory(all.size(), stream());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(memory.data(), all.data(), all.size(), cudaMemcpyHostToDevice, stream().get()));
        call(cuda::any_device_span(reinterpret_cast<T*>(static_cast<std::byte*>(memory.data()) + guard), count));
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(all.data(), memory.data(), all.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        const auto is_poison = [](std::byte b) { return b == poison; };
        EXPECT_TRUE(std::all_of(all.begin(), all.begin() + guard, is_poison));
        EXPECT_TRUE(std::all_of(all.end() - guard, all.end(), is_poison));
        std::vector<T> values(static_cast<std::size_t>(count));
        std::memcpy(values.data(), all.data() + guard, bytes);
        return values;
    }

    template <typename T>
    void expect_sums(const stored_table& table, const std::vector<box>& boxes, std::int64_t channel, std::int64_t plane,
                     std::size_t offset = 0) {
        const cuda::device_boxes there = upload(boxes, offset);
        const std::vector<T> found = results<T>(there.count, [&](const cuda::any_device_span& out) {
            cuda::box_sums_async(table.device(), there, out, stream(), channel, plane);
        });
        const const_any_table_view host = table.host();
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            T expected{};
            if (std::is_floating_point_v<T>) expected = static_cast<T>(std::nan(""));
            if (answered(host, boxes[i])) {
                scalar sum;
                box_sums(host, {&boxes[i], 1}, {&sum, 1}, channel, plane);
                if constexpr (std::is_floating_point_v<T>)
                    expected = static_cast<T>(sum.f);
                else
                    expected = std::is_signed_v<T> ? static_cast<T>(sum.s) : static_cast<T>(sum.u);
            }
            ASSERT_TRUE(same_bits(found[i], expected))
                << "box " << i << ": " << found[i] << ", expected " << expected << ", " << name_of(host.form.layout)
                << ", channel " << channel << ", plane " << plane;
        }
    }

    template <typename T>
    void expect_means(const stored_table& table, const std::vector<box>& boxes, std::int64_t channel,
                      std::int64_t plane) {
        const cuda::device_boxes there = upload(boxes);
        const std::vector<T> found = results<T>(there.count, [&](const cuda::any_device_span& out) {
            cuda::box_means_async(table.device(), there, out, stream(), channel, plane);
        });
        const const_any_table_view host = table.host();
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            double expected = std::nan("");
            if (answered(host, boxes[i])) box_means(host, {&boxes[i], 1}, {&expected, 1}, channel, plane);
            ASSERT_TRUE(same_bits(found[i], static_cast<T>(expected)))
                << "box " << i << ": " << found[i] << ", expected " << expected;
        }
    }

    template <typename T>
    void expect_variances(const stored_table& table, const stored_table& squares, const std::vector<box>& boxes,
                          std::int64_t channel, std::int64_t plane) {
        const cuda::device_boxes there = upload(boxes);
        const std::vector<T> found = results<T>(there.count, [&](const cuda::any_device_span& out) {
            cuda::box_variances_async({table.device(), squares.device()}, there, out, stream(), channel, plane);
        });
        const const_any_table_view host = table.host(), host_squares = squares.host();
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            double expected = std::nan("");
            if (answered(host, boxes[i]))
                box_variances({host, host_squares}, {&boxes[i], 1}, {&expected, 1}, channel, plane);
            ASSERT_TRUE(same_bits(found[i], static_cast<T>(expected)))
                << "box " << i << ": " << found[i] << ", expected " << expected;
        }
    }

    void expect_sums_of_type(const stored_table& table, const std::vector<box>& boxes, std::int64_t channel,
                             std::int64_t plane, std::size_t offset = 0) {
        switch (table.host().entries.shape.type) {
            case dtype::u32:
                return expect_sums<std::uint32_t>(table, boxes, channel, plane, offset);
            case dtype::s32:
                return expect_sums<std::int32_t>(table, boxes, channel, plane, offset);
            case dtype::u64:
                return expect_sums<std::uint64_t>(table, boxes, channel, plane, offset);
            case dtype::s64:
                return expect_sums<std::int64_t>(table, boxes, channel, plane, offset);
            case dtype::f32:
                return expect_sums<float>(table, boxes, channel, plane, offset);
            default:
                return expect_sums<double>(table, boxes, channel, plane, offset);
        }
    }

    /// f(table, boxes, channel, plane) for all types, layouts, shapes, channels and planes.
    template <typename F>
    void for_all(F f) {
        std::uint64_t seed = 1;
        for (const dtype type : table_types)
            for (const table_layout layout : layouts)
                for (const entry_shape& s : entry_shapes)
                    for (const contents what : {contents::small, contents::any_bits}) {
                        const stored_table table(type, s, layout, what, ++seed, stream());
                        const std::vector<box> boxes = some_boxes(table.host(), seed);
                        for (std::int64_t plane = 0; plane < s.planes; ++plane)
                            for (std::int64_t channel = 0; channel < s.channels; ++channel) {
                                f(table, boxes, channel, plane);
                                if (HasFatalFailure())
                                    FAIL() << name_of(type) << ", " << name_of(layout) << ", " << s.rows << " x "
                                           << s.cols << ", " << s.channels << " channels, " << s.planes << " planes";
                            }
                    }
    }

  private:
    cuda::device_buffer boxes_;
};

TEST_F(device_boxes, sums_are_those_of_the_host_bit_for_bit) {
    for_all([&](const stored_table& table, const std::vector<box>& boxes, std::int64_t channel, std::int64_t plane) {
        expect_sums_of_type(table, boxes, channel, plane);
    });
}

TEST_F(device_boxes, means_are_those_of_the_host_bit_for_bit) {
    for_all([&](const stored_table& table, const std::vector<box>& boxes, std::int64_t channel, std::int64_t plane) {
        expect_means<double>(table, boxes, channel, plane);
        if (HasFatalFailure()) return;
        if (channel == 0 && plane == 0) expect_means<float>(table, boxes, channel, plane);
    });
}

/// Of every type of sums with every type of squares, whose memory has strides of its own.
TEST_F(device_boxes, variances_are_those_of_the_host_bit_for_bit) {
    std::uint64_t seed = 1000;
    for (const dtype type : table_types)
        for (const dtype square : table_types)
            for (const contents what : {contents::small, contents::any_bits}) {
                const table_layout layout = layouts[++seed % 3];
                const entry_shape s{20, 31, 3, 2, 5, 7, 1}, t{20, 31, 3, 2, 0, 2, 0};
                const stored_table table(type, s, layout, what, seed, stream());
                const stored_table squares(square, t, layout, what, seed + 77, stream());
                const std::vector<box> boxes = some_boxes(table.host(), seed);
                expect_variances<double>(table, squares, boxes, 2, 1);
                if (!HasFatalFailure()) expect_variances<float>(table, squares, boxes, 0, 0);
                if (HasFatalFailure()) FAIL() << name_of(type) << " and " << name_of(square);
            }
}

/// Of every type, for each channel of each plane another one; means and variances, too.
TEST_F(device_boxes, offsets_are_added_back_as_on_the_host) {
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
            const std::vector<box> boxes = some_boxes(table.host(), seed);
            for (const std::int64_t plane : {0, 1})
                for (const std::int64_t channel : {0, 2}) {
                    expect_sums_of_type(table, boxes, channel, plane);
                    if (!HasFatalFailure()) expect_means<double>(table, boxes, channel, plane);
                    if (!HasFatalFailure()) expect_variances<double>(table, squares, boxes, channel, plane);
                    if (HasFatalFailure()) FAIL() << name_of(type);
                }
        }
}

TEST_F(device_boxes, may_start_on_eight_bytes) {
    const stored_table table(dtype::u32, {33, 47}, {}, contents::any_bits, 5, stream());
    const std::vector<box> boxes = some_boxes(table.host(), 6);
    for (const std::size_t offset : {8U, 16U, 24U}) expect_sums_of_type(table, boxes, 0, 0, offset);
}

TEST_F(device_boxes, of_every_count_around_that_of_a_block) {
    const stored_table table(dtype::s64, {33, 47}, table_layout::padded, contents::any_bits, 7, stream());
    const std::vector<box> boxes = some_boxes(table.host(), 8);
    for (const std::size_t count : {1U, 2U, 255U, 256U, 257U, 511U, 512U, 513U, 1024U})
        expect_sums_of_type(table, {boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(count)}, 0, 0);
}

TEST_F(device_boxes, the_waiting_forms_do_the_same) {
    const stored_table table(dtype::u32, {33, 47}, {}, contents::small, 9, stream());
    const stored_table squares(dtype::u64, {33, 47}, {}, contents::small, 10, stream());
    const std::vector<box> boxes = some_boxes(table.host(), 11);
    const cuda::device_boxes there = upload(boxes);
    const auto twice = [&]<typename T>(auto waiting, auto enqueueing) {
        const std::vector<T> a = results<T>(there.count, waiting), b = results<T>(there.count, enqueueing);
        for (std::size_t i = 0; i < boxes.size(); ++i) ASSERT_TRUE(same_bits(a[i], b[i])) << i;
    };
    using out = const cuda::any_device_span&;
    twice.operator()<std::uint32_t>([&](out o) { cuda::box_sums(table.device(), there, o, stream()); },
                                    [&](out o) { cuda::box_sums_async(table.device(), there, o, stream()); });
    twice.operator()<double>([&](out o) { cuda::box_means(table.device(), there, o, stream()); },
                             [&](out o) { cuda::box_means_async(table.device(), there, o, stream()); });
    twice.operator()<double>(
        [&](out o) {
            cuda::box_variances({table.device(), squares.device()}, there, o, stream());
        },
        [&](out o) {
            cuda::box_variances_async({table.device(), squares.device()}, there, o, stream());
        });
}

/// No boxes need no memory.
TEST_F(device_boxes, of_none_do_nothing) {
    const stored_table table(dtype::u32, {33, 47}, {}, contents::small, 12, stream());
    cuda::box_sums(table.device(), {}, {static_cast<std::uint32_t*>(nullptr), 0}, stream());
    cuda::box_means(table.device(), {}, {static_cast<double*>(nullptr), 0}, stream());
    cuda::box_variances({table.device(), table.device()}, {}, {static_cast<double*>(nullptr), 0}, stream());
}

/// Rows more than 2 GiB apart, planes more than 4.
TEST_F(device_boxes, of_tables_beyond_32_bits) {
    constexpr std::int64_t row_stride = (std::int64_t{1} << 31) + 4;
    const cuda::device_info device = cuda::describe_device(cuda::current_device());
    if (device.free_bytes < std::size_t{10} << 30) GTEST_SKIP() << "needs 10 GiB of device memory";
    const view_shape shape{dtype::u32, 2, 2, 2, 1, row_stride, 2 * row_stride};
    const cuda::device_buffer memory(static_cast<std::size_t>(4 * row_stride), stream());
    auto* const first = static_cast<std::byte*>(memory.data());
    const std::uint32_t entries[4][2] = {{1, 10}, {100, 1000}, {2, 30}, {500, 7000}};
    for (int r = 0; r < 4; ++r)
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(first + r * row_stride, entries[r], sizeof entries[r], cudaMemcpyHostToDevice,
                                        stream().get()));
    const cuda::device_boxes boxes = upload({{1, 1, 1, 1}, {0, 0, 2, 2}, {1, 0, 1, 2}});
    for (const std::int64_t plane : {0, 1}) {
        const std::vector<std::uint32_t> found =
            results<std::uint32_t>(boxes.count, [&](const cuda::any_device_span& out) {
                cuda::box_sums_async({{first, shape}, {}}, boxes, out, stream(), 0, plane);
            });
        const auto& e = entries + 2 * plane;
        EXPECT_EQ(found,
                  (std::vector<std::uint32_t>{e[1][1] - e[0][1] - e[1][0] + e[0][0], e[1][1], e[1][1] - e[0][1]}));
    }
}

TEST_F(device_boxes, wrong_arguments_are_named) {
    const stored_table table(dtype::u32, {9, 11, 2, 3}, {}, contents::small, 13, stream());
    const std::vector<box> host_boxes{{0, 0, 2, 2}, {1, 1, 3, 3}};
    const cuda::device_boxes boxes = upload(host_boxes);
    const cuda::device_buffer memory(64, stream());
    auto* const sums = static_cast<std::uint32_t*>(memory.data());
    auto* const means = static_cast<double*>(memory.data());
    const const_any_table_view there = table.device();
    const auto sums_of = [&](const const_any_table_view& t, const cuda::device_boxes& b, const cuda::any_device_span& o,
                             std::int64_t channel = 0,
                             std::int64_t plane = 0) { cuda::box_sums_async(t, b, o, stream(), channel, plane); };
    EXPECT_COMPLAINT(sums_of(table.host(), boxes, {sums, 2}), "table: is host memory");
    EXPECT_COMPLAINT(sums_of({{nullptr, there.entries.shape}, {}}, boxes, {sums, 2}), "table: data is null");
    EXPECT_COMPLAINT(sums_of(there, boxes, {sums, 2}, 2), "channel: is 2");
    EXPECT_COMPLAINT(sums_of(there, boxes, {sums, 2}, -1), "channel: is -1");
    EXPECT_COMPLAINT(sums_of(there, boxes, {sums, 2}, 0, 3), "plane: is 3");
    EXPECT_COMPLAINT(sums_of({there.entries, static_cast<table_layout>(9)}, boxes, {sums, 2}), "layout");
    EXPECT_COMPLAINT(sums_of(there, {host_boxes.data(), 2}, {sums, 2}), "boxes: is host memory");
    EXPECT_COMPLAINT(sums_of(there, {nullptr, 2}, {sums, 2}), "boxes: data is null");
    EXPECT_COMPLAINT(sums_of(there, {boxes.data, -1}, {sums, -1}), "boxes: count is -1");
    const auto* const beside = reinterpret_cast<const box*>(reinterpret_cast<const std::byte*>(boxes.data) + 4);
    EXPECT_COMPLAINT(sums_of(there, {beside, 1}, {sums, 1}), "boxes: data lies 4 bytes behind a multiple of 8");
    EXPECT_COMPLAINT(sums_of(there, boxes, {sums, 3}), "sums: has 3 entries, but there are 2 boxes");
    EXPECT_COMPLAINT(sums_of(there, boxes, {reinterpret_cast<std::int32_t*>(sums), 2}), "sums: type is 32s");
    std::uint32_t host_sums[2];
    EXPECT_COMPLAINT(sums_of(there, boxes, {host_sums, 2}), "sums: is host memory");
    EXPECT_COMPLAINT(sums_of(there, boxes, {static_cast<std::uint32_t*>(nullptr), 2}), "sums: data is null");
    EXPECT_THROW(cuda::box_means_async(there, boxes, {sums, 2}, stream()), unsupported);  // means of 32u

    const stored_table others[] = {{dtype::u64, {9, 12, 2, 3}, {}, contents::small, 14, stream()},
                                   {dtype::u64, {8, 11, 2, 3}, {}, contents::small, 15, stream()},
                                   {dtype::u64, {9, 11, 1, 3}, {}, contents::small, 16, stream()},
                                   {dtype::u64, {9, 11, 2, 3}, table_layout::padded, contents::small, 17, stream()}};
    const char* const parts[] = {"squares: cols is 12", "squares: rows is 8", "channel: is 1",
                                 "squares: its form is padded"};
    for (int i = 0; i < 4; ++i)
        EXPECT_COMPLAINT(cuda::box_variances_async({there, others[i].device()}, boxes, {means, 2}, stream(), 1),
                         parts[i]);

    const_any_table_view narrow = there;
    narrow.entries.shape.type = dtype::u8;
    EXPECT_THROW(sums_of(narrow, boxes, {static_cast<std::uint8_t*>(memory.data()), 2}), unsupported);
}

}  // namespace
}  // namespace boxsum
