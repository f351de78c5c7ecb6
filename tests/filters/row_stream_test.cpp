// Rows pushed one after the other: every filter gives the bits of the whole image, as early as its windows allow.

#include "filters/oracle.hpp"

#include <boxsum/error.hpp>
#include <boxsum/row_stream.hpp>

#include <gtest/gtest.h>

#include <cstdint>
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

/// Pushes an image in random pieces, takes results in random pieces, goes on from a state now and then.
template <typename T, typename Filter>
void stream_through(const picture<T>& image, const filter_options& options, Filter&& filter, unsigned seed) {
    const auto& v = image.view();
    std::mt19937 numbers(seed);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(numbers() % static_cast<std::uint32_t>(n));
    };
    const row_format format{dtype_of<T>, v.cols(), v.channels()};
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
        const T* const from = v.row(rows.received());
        rows.push(image_view<const T>(from, n, v.cols(), v.row_stride(), v.channels()));
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
