// Rows pushed to a device one after the other: every filter gives the bits of the whole image, planned or not, in
// memory that does not grow. Random shapes, windows, borders, masks, weights, places of memory and pieces.
// BOXSUM_FILTER_CASES is how many.

#include "support/counting_allocator.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/row_stream.hpp>
#include <boxsum/error.hpp>
#include <boxsum/row_stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::device_images;
using test::host_image;
using test::packed;

template <typename View>
View rows_of(View v, std::int64_t first, std::int64_t end) {
    if (v.shape.rows == 0) return v;
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    v.data = static_cast<byte*>(v.data) + first * v.shape.row_stride;
    v.shape.rows = end - first;
    return v;
}

/// What a stream gets, on the host; maps without rows are not given.
struct picture {
    host_image image;
    std::optional<host_image> mask, weights;

    row_format format() const {
        const view_shape& s = image.shape;
        return {s.type, s.cols, s.channels, mask ? mask->shape.channels : 0, weights ? weights->shape.channels : 0};
    }
    /// The image and its maps, whole, wherever `place` puts them.
    template <typename Place>
    filter_inputs inputs(Place&& place) {
        filter_inputs all{.image = place(image.view())};
        if (mask) all.mask = place(mask->view());
        if (weights) all.weights = place(weights->view());
        return all;
    }
};

/// Means, what counts, deviations and a threshold.
struct results {
    std::array<any_view, 4> views;

    results rows(std::int64_t first, std::int64_t end) const {
        results some;
        for (std::size_t i = 0; i < views.size(); ++i) some.views[i] = rows_of(views[i], first, end);
        return some;
    }
    filter_outputs means() const { return {views[0], views[1]}; }
    window_outputs deviations() const { return {.deviation = views[2]}; }
    filter_outputs threshold() const { return {views[3]}; }
};

struct host_results {
    std::vector<host_image> images;

    explicit host_results(const view_shape& s) {
        for (const dtype type : {dtype::f64, dtype::f32, dtype::f64, dtype::u8})
            images.emplace_back(packed(type, s.rows, s.cols, s.channels));
    }
    results views() { return {{images[0].view(), images[1].view(), images[2].view(), images[3].view()}}; }
    results upload(device_images& memory) {
        results there;
        for (std::size_t i = 0; i < images.size(); ++i) there.views[i] = memory.upload(images[i].view());
        return there;
    }
    void fetch(const results& from, cuda::stream_ref stream) {
        for (std::size_t i = 0; i < images.size(); ++i) cuda::copy(from.views[i], images[i].view(), stream);
    }
};

class device_row_stream : public test::gpu_stream_test {
  protected:
    /// Memory all of whose bits are set: NaN, where floats are read that nobody wrote.
    cuda::allocator set_bits() {
        set_bits_.filled_with = 0xff;
        return set_bits_.get();
    }
    test::counting_allocator set_bits_;

    static constexpr const char* names[] = {"mean", "count", "deviation", "threshold"};

    void expect_equal(const host_results& expected, const host_results& got, const std::string& what) {
        for (std::size_t i = 0; i < expected.images.size(); ++i)
            EXPECT_TRUE(expected.images[i].bytes == got.images[i].bytes)
                << what << ": " << names[i] << ", by " << test::largest_difference(expected.images[i], got.images[i]);
    }

    /// The filters of the whole image at once.
    host_results whole_of(picture& p, const filter_options& options) {
        device_images memory(stream());
        host_results all(p.image.shape);
        const results there = all.upload(memory);
        const filter_inputs in = p.inputs([&](const any_view& v) { return const_any_view(memory.upload(v)); });
        cuda::box_filter(in, there.means(), stream(), options);
        cuda::local_statistics(in, there.deviations(), stream(), options);
        cuda::adaptive_threshold(in, there.threshold(), stream(), {}, options);
        all.fetch(there, stream());
        return all;
    }

    /// For the next n rows of a stream; with plans where these take them.
    void filter(const cuda::row_stream& rows, std::int64_t n, const results& to, const filter_options& options,
                cuda::workspace& workspace) {
        const filter_inputs in = rows.next(n);
        if (rows.is_inner(n)) {
            const cuda::box_filter_plan means(rows.inner(n), to.means(), options);
            workspace.reserve(means.workspace_bytes(), stream());
            means.run_async(in, to.means(), workspace, stream());
        } else {
            cuda::box_filter_async(in, to.means(), workspace, stream(), options);
        }
        cuda::local_statistics_async(in, to.deviations(), workspace, stream(), options);
        cuda::adaptive_threshold_async(in, to.threshold(), workspace, stream(), {}, options);
    }
};

/// Floats of many magnitudes, whose sums are rounded.
void roughen(host_image& image, std::mt19937& numbers) {
    visit_dtype(image.shape.type, [&]<typename T>() {
        if constexpr (std::is_floating_point_v<T>)
            for (std::size_t i = 0; i < image.bytes.size() / sizeof(T); ++i)
                reinterpret_cast<T*>(image.bytes.data())[i] =
                    static_cast<T>(std::ldexp(static_cast<double>(numbers()), -static_cast<int>(numbers() % 48)) / 3);
    });
}

/// Some NaN among floats.
void spoil(host_image& image, std::mt19937& numbers) {
    visit_dtype(image.shape.type, [&]<typename T>() {
        if constexpr (std::is_floating_point_v<T>)
            for (std::size_t i = 0; i < image.bytes.size() / sizeof(T); ++i)
                if (numbers() % 19 == 0)
                    reinterpret_cast<T*>(image.bytes.data())[i] = std::numeric_limits<T>::quiet_NaN();
    });
}

TEST_F(device_row_stream, has_the_bits_of_the_whole) {
    std::mt19937 numbers(20261127);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(numbers() % static_cast<std::uint32_t>(n));
    };
    const int wanted = test::random_cases(60);
    int planned = 0;
    for (int number = 0; number < wanted && !HasFailure(); ++number) {
        const dtype type = std::array{dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64}[numbers() % 5];
        const border_mode border = std::array{border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                              border_mode::constant, border_mode::mirror}[numbers() % 5];
        const std::int64_t tall = below(2) == 0 ? 12 : 50;
        filter_options options{
            .window = window_extents{.above = below(tall), .below = below(tall), .left = below(9), .right = below(9)},
            .border = border,
            .threads = 1};
        const window& w = options.window;
        const std::int64_t rows = w.above + w.below + 1 + below(120), cols = 9 + below(60), channels = 1 + below(3);
        picture p{test::random_image(packed(type, rows, cols, channels), static_cast<unsigned>(numbers())), {}, {}};
        if (below(4) > 0) roughen(p.image, numbers);
        const bool sampled = below(2) == 0;
        if (sampled) {
            spoil(p.image, numbers);
            if (below(2) == 0) options.nan = nan_mode::omit;
            if (below(2) == 0) options.nodata = 7;
            if (below(3) > 0) {
                p.mask.emplace(packed(dtype::u8, rows, cols, below(2) == 0 ? 1 : channels));
                for (std::byte& b : p.mask->bytes) b = static_cast<std::byte>(numbers() % 3);
            }
            if (below(3) == 0) {
                p.weights.emplace(packed(dtype::f32, rows, cols, below(2) == 0 ? 1 : channels));
                for (std::size_t i = 0; i < p.weights->bytes.size(); i += 4) {
                    const float weight = static_cast<float>(numbers() % 1000) / 3;
                    std::memcpy(p.weights->bytes.data() + i, &weight, 4);
                }
            }
        }
        const std::string what = std::to_string(number) + ": " +
                                 test::text_of({type, rows, cols, channels, 1, options.window, border}) +
                                 (p.mask ? ", mask" : "") + (p.weights ? ", weights" : "");
        host_results expected = whole_of(p, options);
        if (!is_floating(type) && !p.weights) {
            host_results cpu(p.image.shape);
            const filter_inputs in = p.inputs([](const any_view& v) { return const_any_view(v); });
            box_filter(in, cpu.views().means(), options);
            local_statistics(in, cpu.views().deviations(), options);
            adaptive_threshold(in, cpu.views().threshold(), {}, options);
            expect_equal(cpu, expected, what + ", whole");
        }

        device_images memory(stream());
        host_results got(p.image.shape);
        const results there = got.upload(memory);
        cuda::workspace workspace(0, stream());
        const std::int64_t capacity = 1 + below(40);
        cuda::row_stream stream_of_rows(p.format(), options, capacity, stream(), set_bits());
        const filter_inputs on_host = p.inputs([](const any_view& v) { return const_any_view(v); });
        const filter_inputs on_device = p.inputs([&](const any_view& v) { return const_any_view(memory.upload(v)); });
        const auto take = [&] {
            const std::int64_t n = 1 + below(stream_of_rows.ready());
            planned += stream_of_rows.is_inner(n) ? 1 : 0;
            const std::int64_t first = stream_of_rows.dropped();
            filter(stream_of_rows, n, there.rows(first, first + n), options, workspace);
            stream_of_rows.drop(n);
        };
        while (stream_of_rows.received() < rows) {
            std::int64_t n = std::min(rows - stream_of_rows.received(), stream_of_rows.room());
            ASSERT_GT(n, 0) << what;
            n = 1 + below(n);
            const std::int64_t first = stream_of_rows.received();
            const filter_inputs& from = below(2) == 0 ? on_host : on_device;
            stream_of_rows.push(rows_of(from.image, first, first + n), rows_of(from.mask, first, first + n),
                                rows_of(from.weights, first, first + n));
            while (stream_of_rows.ready() > 0 && (stream_of_rows.room() == 0 || below(3) > 0)) take();
            if (below(6) > 0) continue;
            // Goes on from its state, by way of the CPU.
            const row_stream at_home(p.format(), options, capacity, stream_of_rows.state());
            stream_of_rows = cuda::row_stream(p.format(), options, capacity, at_home.state(), stream(), set_bits());
        }
        stream_of_rows.finish();
        while (stream_of_rows.ready() > 0) take();
        got.fetch(there, stream());
        expect_equal(expected, got, what);
    }
    EXPECT_GT(planned, wanted / 4);
}

/// Sums of tall windows start from rows that are added beforehand, and floats are rounded in that order, however few
/// rows of results are asked for.
TEST_F(device_row_stream, has_the_bits_of_the_whole_row_by_row) {
    for (const dtype type : {dtype::f32, dtype::f64}) {
        const filter_options options{.window = window_extents{.above = 22, .below = 46, .left = 2, .right = 3},
                                     .threads = 1};
        picture p{test::random_image(packed(type, 121, 24, 1), 77), {}, {}};
        p.weights.emplace(packed(dtype::f32, 121, 24, 1));
        std::mt19937 numbers(5);
        for (std::size_t i = 0; i < p.weights->bytes.size(); i += 4) {
            const float weight = static_cast<float>(numbers() % 1000) / 3;
            std::memcpy(p.weights->bytes.data() + i, &weight, 4);
        }
        host_results expected = whole_of(p, options);
        device_images memory(stream());
        host_results got(p.image.shape);
        const results there = got.upload(memory);
        cuda::workspace workspace(0, stream());
        cuda::row_stream rows(p.format(), options, 1, stream(), set_bits());
        const filter_inputs in = p.inputs([](const any_view& v) { return const_any_view(v); });
        for (std::int64_t row = 0; row <= 121; ++row) {
            if (row == 121)
                rows.finish();
            else
                rows.push(rows_of(in.image, row, row + 1), {}, rows_of(in.weights, row, row + 1));
            for (; rows.ready() > 0; rows.drop(1))
                filter(rows, 1, there.rows(rows.dropped(), rows.dropped() + 1), options, workspace);
        }
        got.fetch(there, stream());
        expect_equal(expected, got, std::string(name_of(type)));
    }
}

TEST_F(device_row_stream, takes_rows_of_any_strides) {
    const std::int64_t rows = 24, cols = 30, channels = 2;
    picture p{test::random_image(packed(dtype::u16, rows, cols, channels), 3), {}, {}};
    const filter_options options{.window = 5, .threads = 1};
    host_results expected = whole_of(p, options);
    // The image mirrored both ways in memory, and views that undo it.
    host_image mirrored(p.image.shape);
    const image_view<const std::uint16_t> from(reinterpret_cast<const std::uint16_t*>(p.image.bytes.data()), rows, cols,
                                               0, channels);
    const image_view<std::uint16_t> to(reinterpret_cast<std::uint16_t*>(mirrored.bytes.data()), rows, cols, 0,
                                       channels);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            for (std::int64_t k = 0; k < channels; ++k) to(rows - 1 - r, cols - 1 - c, k) = from(r, c, k);
    device_images memory(stream());
    const auto unmirrored = [&](const any_view& all, std::int64_t first, std::int64_t n) {
        view_shape s = all.shape;
        auto* const last = static_cast<std::byte*>(all.data) + (rows - 1 - first) * s.row_stride + (cols - 1) * 4;
        s.rows = n;
        s.row_stride = -s.row_stride;
        s.col_stride = -4;
        return const_any_view{last, s};
    };
    for (const any_view& all : {mirrored.view(), memory.upload(mirrored.view())}) {
        host_results got(p.image.shape);
        const results there = got.upload(memory);
        cuda::workspace workspace(0, stream());
        cuda::row_stream stream_of_rows(p.format(), options, 8, stream(), set_bits());
        while (stream_of_rows.received() < rows) {
            stream_of_rows.push(unmirrored(all, stream_of_rows.received(), 8));
            if (stream_of_rows.received() == rows) stream_of_rows.finish();
            const std::int64_t n = stream_of_rows.ready(), first = stream_of_rows.dropped();
            filter(stream_of_rows, n, there.rows(first, first + n), options, workspace);
            stream_of_rows.drop(n);
        }
        got.fetch(there, stream());
        expect_equal(expected, got, all.data == mirrored.bytes.data() ? "host" : "device");
    }
}

/// One plan of each filter for all but the first and the last rows; whole periods of rows.
TEST_F(device_row_stream, allocates_and_plans_once) {
    for (const dtype type : {dtype::u8, dtype::f32}) {
        const filter_options options{.window = window_extents{.above = 9, .below = 4, .left = 3, .right = 3},
                                     .border = border_mode::mirror,
                                     .threads = 1};
        test::counting_allocator counter;
        {
            cuda::row_stream probe({.type = type, .cols = 40}, options, 1, stream(), set_bits());
            const std::int64_t chunk = (32 + probe.period() - 1) / probe.period() * probe.period(), chunks = 9;
            EXPECT_EQ(probe.period() == 1, type == dtype::u8);
            picture p{test::random_image(packed(type, chunks * chunk + 5, 40, 1), 8), {}, {}};
            std::mt19937 numbers(9);
            roughen(p.image, numbers);
            host_results expected = whole_of(p, options);
            device_images memory(stream());
            host_results got(p.image.shape);
            const results there = got.upload(memory);

            cuda::row_stream rows(p.format(), options, 2 * chunk, stream(), counter.get());
            const results some = there.rows(0, chunk);
            const cuda::box_filter_plan means(rows.inner(chunk), some.means(), options);
            const cuda::local_statistics_plan deviations(rows.inner(chunk), some.deviations(), options);
            const cuda::adaptive_threshold_plan threshold(rows.inner(chunk), some.threshold(), {}, options);
            cuda::workspace unplanned(0, stream());
            cuda::workspace workspace(
                std::max({means.workspace_bytes(), deviations.workspace_bytes(), threshold.workspace_bytes()}),
                stream(), counter.get());
            const std::size_t allocations = counter.allocations();
            EXPECT_LE(allocations, 2u);
            std::int64_t planned = 0;
            const auto take = [&](std::int64_t n) {
                const std::int64_t first = rows.dropped();
                const results to = there.rows(first, first + n);
                if (n == chunk && rows.is_inner(n)) {
                    ++planned;
                    means.run_async(rows.next(n), to.means(), workspace, stream());
                    deviations.run_async(rows.next(n), to.deviations(), workspace, stream());
                    threshold.run_async(rows.next(n), to.threshold(), workspace, stream());
                } else {
                    filter(rows, n, to, options, unplanned);
                }
                rows.drop(n);
            };
            while (rows.received() < p.image.shape.rows) {
                const std::int64_t first = rows.received(), n = std::min(chunk, p.image.shape.rows - first);
                rows.push(rows_of(any_view(p.image.view()), first, first + n));
                while (rows.ready() >= chunk) take(chunk);
            }
            rows.finish();
            while (rows.ready() > 0) take(std::min(rows.ready(), chunk));
            EXPECT_EQ(planned, chunks - 1);
            EXPECT_EQ(counter.allocations(), allocations);
            got.fetch(there, stream());
            expect_equal(expected, got, std::string(name_of(type)));
        }
        EXPECT_EQ(counter.buffers_out(), 0u);
        EXPECT_EQ(counter.strays(), 0u);
    }
}

/// What kernels number rows in is narrower than what streams do. A state is of a stream that has long been running.
TEST_F(device_row_stream, may_be_without_end) {
    for (const dtype type : {dtype::u16, dtype::f32, dtype::f64})
        for (const border_mode border : {border_mode::reflect, border_mode::shrink}) {
            const filter_options options{.window = window_radius(7, 3), .border = border, .threads = 1};
            picture p{test::random_image(packed(type, 90, 33, 1), 4), {}, {}};
            std::mt19937 numbers(3);
            roughen(p.image, numbers);
            host_results expected = whole_of(p, options);
            device_images memory(stream());
            host_results got(p.image.shape);
            const results there = got.upload(memory);
            cuda::workspace workspace(0, stream());
            cuda::row_stream rows(p.format(), options, 20, stream(), set_bits());
            std::int64_t ago = 0;
            const auto take = [&] {
                const std::int64_t n = rows.ready(), first = rows.dropped() - ago;
                filter(rows, n, there.rows(first, first + n), options, workspace);
                rows.drop(n);
            };
            for (std::int64_t first = 0; first < 90; first += 15) {
                rows.push(rows_of(any_view(p.image.view()), first, first + 15));
                if (rows.ready() > 0) take();
                if (first != 45) continue;
                std::vector<std::byte> state = rows.state();
                ago = (std::int64_t{1} << 44) * rows.period();
                for (const std::size_t number : {9u, 10u, 11u}) {  // rows: the first that is kept, received, dropped
                    std::int64_t row = 0;
                    std::memcpy(&row, state.data() + 8 * number, 8);
                    row += ago;
                    std::memcpy(state.data() + 8 * number, &row, 8);
                }
                rows = cuda::row_stream(p.format(), options, 20, state, stream(), set_bits());
                EXPECT_EQ(rows.dropped(), ago + 60 - 7);
            }
            rows.finish();
            take();
            got.fetch(there, stream());
            expect_equal(expected, got, std::string(name_of(type)) + " " + std::string(name_of(border)));
        }
}

/// Sums of windows that repeat the image go through memory.
TEST_F(device_row_stream, has_the_bits_of_the_whole_in_large_windows) {
    for (const dtype type : {dtype::u8, dtype::f32, dtype::f64})
        for (const border_mode border : {border_mode::reflect, border_mode::replicate}) {
            const filter_options options{.window = window_radius(9, 70), .border = border, .threads = 1};
            picture p{test::random_image(packed(type, 90, 20, 1), 6), {}, {}};
            std::mt19937 numbers(3);
            roughen(p.image, numbers);
            host_results expected = whole_of(p, options);
            device_images memory(stream());
            host_results got(p.image.shape);
            const results there = got.upload(memory);
            cuda::workspace workspace(0, stream());
            cuda::row_stream rows(p.format(), options, 9, stream(), set_bits());
            while (rows.received() < 90 || rows.ready() > 0) {
                const std::int64_t n = std::min(rows.room(), 90 - rows.received()), first = rows.received();
                if (n > 0) rows.push(rows_of(any_view(p.image.view()), first, first + n));
                if (rows.received() == 90) rows.finish();
                if (rows.ready() == 0) continue;
                const std::int64_t m = 1 + static_cast<std::int64_t>(numbers() % 7) % rows.ready(), at = rows.dropped();
                filter(rows, m, there.rows(at, at + m), options, workspace);
                rows.drop(m);
            }
            got.fetch(there, stream());
            expect_equal(expected, got, std::string(name_of(type)) + " " + std::string(name_of(border)));
        }
}

TEST_F(device_row_stream, goes_on_on_another_stream) {
    cuda::stream other;
    const filter_options options{.window = 3, .threads = 1};
    picture p{test::random_image(packed(dtype::u8, 12, 20, 1), 2), {}, {}};
    cuda::row_stream rows(p.format(), options, 6, stream(), set_bits());
    rows.push(rows_of(any_view(p.image.view()), 0, 6));
    rows.follow(other);
    EXPECT_EQ(rows.stream(), cuda::stream_ref(other));
    rows.push(rows_of(any_view(p.image.view()), 6, 9));
    const row_stream at_home(p.format(), options, 6, rows.state());
    const filter_inputs kept = at_home.next(at_home.ready());
    for (std::int64_t r = 0; r < kept.image.shape.rows; ++r)
        EXPECT_EQ(std::memcmp(static_cast<const std::byte*>(kept.image.data) + r * kept.image.shape.row_stride,
                              p.image.bytes.data() + r * p.image.shape.row_stride, 20),
                  0);
    EXPECT_EQ(kept.image.shape.rows, 9);
}

TEST_F(device_row_stream, says_what_is_wrong) {
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const error& e) {
            return e.what();
        }
        return "";
    };
    const filter_options options{.window = 3};
    EXPECT_EQ(message([&] {
                  cuda::row_stream({dtype::u32, 4}, options, 1, stream(), set_bits());
              }),
              "format: type is 32u, which devices do not do yet");
    EXPECT_EQ(message([&] {
                  cuda::row_stream({dtype::u8, 4}, options, 0, stream(), set_bits());
              }),
              "capacity: is 0, must be at least 1");
    EXPECT_NE(message([&] {
                  cuda::row_stream({dtype::f32, 4}, {.window = window_extents{.above = INT64_MAX, .below = INT64_MAX}},
                                   1, stream());
              }),
              "");
    EXPECT_EQ(message([&] {
                  cuda::row_stream({dtype::f32, 4}, {.window = window_extents{.above = -1}}, 1, stream(), set_bits());
              }),
              "window: rows is 0, must be at least 1");
    cuda::row_stream rows({dtype::u8, 4}, options, 2, stream(), set_bits());
    host_image image(packed(dtype::u8, 30, 4, 1));
    EXPECT_EQ(message([&] { rows.push(image.view()); }), "rows: are 30, but there is room for 6");
    EXPECT_EQ(message([&] { rows.inner(3); }), "inner: n is 3, must be 1 to the capacity, 2");
    EXPECT_EQ(message([&] { rows.inner(0); }), "inner: n is 0, must be 1 to the capacity, 2");
    EXPECT_EQ(message([&] { (void)rows.is_inner(1); }), "is_inner: n is 1, but 0 rows are ready");
    EXPECT_EQ(message([&] { rows.next(1); }), "next: n is 1, but 0 rows are ready");
    EXPECT_EQ(message([&] { rows.push({nullptr, packed(dtype::u8, 1, 4, 1)}); }).substr(0, 5), "rows:");
    EXPECT_EQ(rows.received(), 0);
    EXPECT_EQ(message([&] {
                  cuda::row_stream({dtype::u8, 5}, options, 2, rows.state(), stream(), set_bits());
              }),
              "state: is of another format, window or border, or none");
    rows.finish();
    EXPECT_EQ(message([&] { rows.push(rows_of(image.view(), 0, 1)); }), "rows: come after finish()");
}

}  // namespace
}  // namespace boxsum
