// Rows pushed one after the other: every filter gives the bits of the whole image, as early as its windows allow, in
// memory that does not grow.

#include "filters/oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/row_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::streams {
namespace {

using oracle::picture;

template <typename View>
View rows_of(const View& v, std::int64_t first, std::int64_t end) {
    return View(v.row(first), end - first, v.cols(), v.row_stride(), v.channels());
}

/// What goes beside an image; null: nothing.
struct samples {
    const picture<std::uint8_t>* mask = nullptr;
    const picture<float>* weights = nullptr;
};

/// Pushes an image in random pieces, takes results in random pieces, goes on from a state now and then.
template <typename T, typename Filter>
void stream_through(const picture<T>& image, const filter_options& options, Filter&& filter, unsigned seed,
                    const samples& beside = {}) {
    const auto& v = image.view();
    std::mt19937 numbers(seed);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(numbers() % static_cast<std::uint32_t>(n));
    };
    const row_format format{dtype_of<T>, v.cols(), v.channels(), beside.mask ? beside.mask->view().channels() : 0,
                            beside.weights ? beside.weights->view().channels() : 0};
    const auto some = [](const auto* map, std::int64_t first, std::int64_t n) {
        return map == nullptr ? const_any_view{} : const_any_view(any_view(rows_of(map->view(), first, first + n)));
    };
    const std::int64_t capacity = 1 + below(9);
    row_stream rows(format, options, capacity);
    const auto take = [&] {
        while (rows.ready() > 0) {
            const std::int64_t n = 1 + below(rows.ready());
            filter(rows.next(n), rows.dropped(), rows.dropped() + n);
            rows.drop(n);
            if (below(4) == 0) break;
        }
    };
    while (rows.received() < v.rows()) {
        std::int64_t n = std::min<std::int64_t>(v.rows() - rows.received(), rows.room());
        ASSERT_GT(n, 0);
        n = 1 + below(n);
        const std::int64_t at = rows.received();
        rows.push(some(&image, at, n), some(beside.mask, at, n), some(beside.weights, at, n));
        take();
        while (rows.room() == 0) take();
        if (below(5) == 0) rows = row_stream(format, options, capacity, rows.state());
    }
    rows.finish();
    while (rows.ready() > 0) take();
    ASSERT_EQ(rows.dropped(), v.rows());
}

template <typename T>
class row_streams : public testing::Test {};
using types = testing::Types<std::uint8_t, std::int16_t, float>;
TYPED_TEST_SUITE(row_streams, types);

TYPED_TEST(row_streams, have_the_bits_of_the_whole) {
    using T = TypeParam;
    unsigned seed = 3;
    for (const std::int64_t channels : {1, 3})
        for (const window& w : {window(1), window(5), window(8, 3), window(window_extents{.above = 9, .left = 4}),
                                window(window_extents{.below = 7, .right = 2}), window(window_radius(12, 2))})
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror}) {
                SCOPED_TRACE(std::to_string(w.above) + " " + std::to_string(w.below) + " " +
                             std::string(name_of(border)));
                picture<T> image(1, 37, 19, channels, 2), mean(1, 37, 19, channels), streamed(1, 37, 19, channels, 1);
                picture<double> deviation(1, 37, 19, channels), streamed_deviation(1, 37, 19, channels);
                picture<std::uint8_t> black(1, 37, 19, channels), streamed_black(1, 37, 19, channels);
                oracle::fill_random(image, ++seed);
                const filter_options options{.window = w, .border = border, .threads = 1};
                const threshold_rule rule{.method = threshold_method::niblack};
                box_filter({image.view()}, {mean.view()}, options);
                local_statistics({image.view()}, {.deviation = deviation.view()}, options);
                adaptive_threshold({image.view()}, {black.view()}, rule, options);
                stream_through(
                    image, options,
                    [&](const filter_inputs& in, std::int64_t first, std::int64_t end) {
                        box_filter(in, {rows_of(streamed.view(), first, end)}, options);
                        local_statistics(in, {.deviation = rows_of(streamed_deviation.view(), first, end)}, options);
                        adaptive_threshold(in, {rows_of(streamed_black.view(), first, end)}, rule, options);
                    },
                    seed);
                if (testing::Test::HasFatalFailure()) return;
                const auto equal = [](const auto& a, const auto& b) {
                    return oracle::first_difference(a.view(), [&](auto... at) { return b.view()(at...); });
                };
                ASSERT_EQ(equal(streamed, mean), "");
                ASSERT_EQ(equal(streamed_deviation, deviation), "");
                ASSERT_EQ(equal(streamed_black, black), "");
            }
}

/// All of it is kept then, and windows see it several times.
TEST(row_stream, of_fewer_rows_than_a_window) {
    for (std::int64_t rows = 1; rows <= 7; ++rows)
        for (const window& w : {window(9), window(window_extents{.above = 15}), window(window_extents{.below = 15}),
                                window(window_radius(20, 1))})
            for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                             border_mode::constant, border_mode::mirror}) {
                SCOPED_TRACE(std::to_string(rows) + " " + std::to_string(w.above) + " " + std::to_string(w.below) +
                             " " + std::string(name_of(border)));
                picture<std::uint8_t> image(1, rows, 9, 1), mean(1, rows, 9, 1), streamed(1, rows, 9, 1, 1);
                oracle::fill_random(image, static_cast<unsigned>(rows));
                const filter_options options{.window = w, .border = border, .threads = 1};
                box_filter({image.view()}, {mean.view()}, options);
                stream_through(
                    image, options,
                    [&](const filter_inputs& in, std::int64_t first, std::int64_t end) {
                        box_filter(in, {rows_of(streamed.view(), first, end)}, options);
                    },
                    static_cast<unsigned>(rows));
                if (testing::Test::HasFatalFailure()) return;
                ASSERT_EQ(oracle::first_difference(streamed.view(), [&](auto... at) { return mean.view()(at...); }),
                          "");
            }
}

/// Random pixels, some of them NaN or `nodata`, beside random maps; NaN and nodata also under masks.
TYPED_TEST(row_streams, keep_masks_and_weights_beside_the_pixels) {
    using T = TypeParam;
    std::mt19937 numbers(7);
    for (unsigned seed = 1; seed <= 60; ++seed) {
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(numbers() % static_cast<std::uint32_t>(n));
        };
        const std::int64_t channels = 1 + below(3), rows = 30 + below(20), cols = 5 + below(30);
        const border_mode border = std::array{border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                              border_mode::constant, border_mode::mirror}[numbers() % 5];
        filter_options options{.window = window_extents{.above = below(10), .below = below(10), .left = 2, .right = 3},
                               .border = border,
                               .threads = 1};
        picture<T> image(1, rows, cols, channels, 1);
        oracle::fill_random(image, seed);
        const T missing = image.view()(3, 2);
        for (std::int64_t i = 0; i < rows * cols / 4; ++i) {
            T& x = image.view()(below(rows), below(cols), below(channels));
            x = missing;
            if constexpr (std::is_floating_point_v<T>)
                if (below(2) == 0) x = std::numeric_limits<T>::quiet_NaN();
        }
        if (below(2) == 0) options.nan = nan_mode::omit;
        if (below(2) == 0) options.nodata = static_cast<double>(missing);
        picture<std::uint8_t> mask(1, rows, cols, below(2) == 0 ? 1 : channels, 3);
        mask.fill([&](auto...) { return below(3); });
        picture<float> weights(1, rows, cols, below(2) == 0 ? 1 : channels);
        weights.fill([&](auto...) { return static_cast<float>(below(5)) / 4; });
        const samples beside{below(3) > 0 ? &mask : nullptr, below(3) > 0 ? &weights : nullptr};
        SCOPED_TRACE(std::to_string(seed) + ": " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                     std::to_string(channels) + ", above " + std::to_string(options.window.above) + ", below " +
                     std::to_string(options.window.below) + ", " + std::string(name_of(border)) +
                     (beside.mask ? ", mask" : "") + (beside.weights ? ", weights" : ""));

        picture<double> mean(1, rows, cols, channels), streamed(1, rows, cols, channels, 2);
        picture<float> count(1, rows, cols, channels), streamed_count(1, rows, cols, channels);
        filter_inputs whole{.image = image.view()};
        if (beside.mask) whole.mask = mask.view();
        if (beside.weights) whole.weights = weights.view();
        box_filter(whole, {mean.view(), count.view()}, options);
        stream_through(
            image, options,
            [&](const filter_inputs& in, std::int64_t first, std::int64_t end) {
                box_filter(in, {rows_of(streamed.view(), first, end), rows_of(streamed_count.view(), first, end)},
                           options);
            },
            seed, beside);
        if (testing::Test::HasFatalFailure()) return;
        const auto differences = [](const auto& a, const auto& b) {
            return oracle::first_difference(a.view(), [&](auto... at) { return b.view()(at...); });
        };
        ASSERT_EQ(differences(streamed, mean), "");
        ASSERT_EQ(differences(streamed_count, count), "");
        ASSERT_TRUE(streamed.guards_intact());
    }
}

TEST(row_stream, allocates_once_and_filters_only_what_they_have_had_before) {
    struct counter {
        std::int64_t allocations = 0, freed = 0;
    } counted;
    const host_allocator counting{.name = "counting",
                                  .context = &counted,
                                  .allocate =
                                      [](void* context, std::size_t bytes) {
                                          ++static_cast<counter*>(context)->allocations;
                                          return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
                                      },
                                  .deallocate =
                                      [](void* context, void* data, std::size_t) noexcept {
                                          ++static_cast<counter*>(context)->freed;
                                          std::free(data);
                                      }};
    const filter_options options{.window = 9, .threads = 1};
    picture<std::uint16_t> lines(1, 12, 300, 1), result(1, 12, 300, 1), before(1, 12, 300, 1);
    picture<std::uint8_t> mask(1, 12, 300, 1);
    oracle::fill_random(lines, 5);
    oracle::fill_random(mask, 6);
    {
        row_stream rows({.type = dtype::u16, .cols = 300, .mask_channels = 1}, options, 12, counting);
        EXPECT_EQ(counted.allocations, 1);
        std::uint64_t fresh = 0;
        for (int pushes = 0; pushes < 300; ++pushes) {
            rows.push(lines.view(), mask.view());
            if (const std::int64_t n = rows.ready(); n > 0) {
                box_filter(rows.next(n), {rows_of(result.view(), 0, n)}, options);
                rows.drop(n);
            }
            // The same lines every time: the results come again, too, wherever the rows lie.
            const auto &now = result.view(), &then = before.view();
            if (pushes > 3) {
                ASSERT_EQ(oracle::first_difference(now, [&](auto... at) { return then(at...); }), "") << pushes;
            }
            before.fill([&](auto p, auto r, auto c, auto k) { return now(r, c, k, p); });
            if (pushes == 3) fresh = memory_pool::shared().usage().fresh;
        }
        EXPECT_EQ(counted.allocations, 1);
        EXPECT_EQ(memory_pool::shared().usage().fresh, fresh);
    }
    EXPECT_EQ(counted.freed, 1);
}

TEST(row_stream, is_ready_when_a_window_is_there) {
    picture<std::uint8_t> image(1, 30, 4, 1);
    oracle::fill_random(image, 1);
    const window w = window_extents{.above = 6, .below = 2};
    const auto after = [&](border_mode border, std::int64_t pushed) {
        row_stream rows({dtype::u8, 4}, {.window = w, .border = border}, 30);
        if (pushed > 0) rows.push(rows_of(image.view(), 0, pushed));
        return rows.ready();
    };
    for (const std::int64_t pushed : {0, 1, 2, 3, 6, 7, 8, 30}) {
        const std::int64_t latest = std::max<std::int64_t>(0, pushed - 2);
        EXPECT_EQ(after(border_mode::shrink, pushed), latest);
        EXPECT_EQ(after(border_mode::constant, pushed), latest);
        EXPECT_EQ(after(border_mode::reflect, pushed), pushed < 6 ? 0 : latest);
        EXPECT_EQ(after(border_mode::mirror, pushed), pushed < 7 ? 0 : latest);
    }
}

TEST(row_stream, says_what_is_wrong) {
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const error& e) {
            return e.what();
        }
        return "";
    };
    picture<std::uint8_t> image(1, 30, 4, 1);
    const filter_options options{.window = 3};
    EXPECT_EQ(message([&] { row_stream({dtype::u8, 4}, options, 0); }), "capacity: is 0, must be at least 1");
    EXPECT_EQ(message([&] { row_stream({dtype::u8, 0}, options, 1); }), "format: cols is 0, must be at least 1");
    EXPECT_EQ(message([&] {
                  row_stream({dtype::u64, 4}, options, 1);
              }),
              "image: type is 64u, filters take 8u, 16u, 16s, 32u, 32s, 16f, 32f and 64f");
    EXPECT_EQ(message([&] {
                  row_stream({dtype::u8, 4}, {.border = border_mode::wrap}, 1);
              }),
              "border: is wrap, whose first windows take the last rows of the image");
    row_stream rows({dtype::u8, 4}, options, 2);
    EXPECT_EQ(message([&] { rows.push(image.view()); }), "rows: are 30, but there is room for 6");
    EXPECT_EQ(message([&] { rows.push(image_view<const std::uint16_t>(nullptr, 1, 4)); }).substr(0, 5), "rows:");
    EXPECT_EQ(message([&] { rows.next(1); }), "next: n is 1, but 0 rows are ready");
    EXPECT_EQ(message([&] { rows.push(rows_of(image.view(), 0, 3), rows_of(image.view(), 0, 3)); }),
              "mask: given, but the stream was made without");
    row_stream masked({.type = dtype::u8, .cols = 4, .mask_channels = 1}, options, 2);
    EXPECT_EQ(message([&] { masked.push(rows_of(image.view(), 0, 3)); }),
              "mask: are not given, but the stream has some");
    EXPECT_EQ(message([&] { masked.push(rows_of(image.view(), 0, 3), rows_of(image.view(), 0, 2)); }),
              "mask: are 2, but rows are 3");
    EXPECT_EQ(
        message([&] { row_stream({.type = dtype::u8, .cols = 4, .channels = 3, .weight_channels = 2}, options, 2); }),
        "weights: channels is 2, must be 1 or the image's 3");
    EXPECT_EQ(masked.received(), 0);
    rows.push(rows_of(image.view(), 0, 3));
    EXPECT_EQ(message([&] { rows.drop(3); }), "drop: n is 3, but 2 rows are ready");
    const std::vector<std::byte> state = rows.state();
    EXPECT_EQ(message([&] {
                  row_stream({dtype::u8, 5}, options, 2, state);
              }),
              "state: is of another format, window or border, or none");
    EXPECT_EQ(message([&] {
                  row_stream({dtype::u8, 4}, options, 2, std::span(state).first(7));
              }),
              "state: has 7 bytes, too few for one");
    EXPECT_NE(message([&] { row_stream({dtype::u8, 4}, options, 2, std::span(state).first(state.size() - 1)); }), "");
    rows.finish();
    EXPECT_EQ(message([&] { rows.push(rows_of(image.view(), 0, 1)); }), "rows: come after finish()");
    EXPECT_EQ(rows.ready(), 3);
}

}  // namespace
}  // namespace boxsum::streams
