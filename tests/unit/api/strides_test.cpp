// Views of any strides: what the checks take and refuse, and that filters, histograms, windows of tables, streams of
// rows and pipelines compute the same whatever way their memory lies. Tables of such images are in
// random_programs_test.cpp.

#include "core/view_checks.hpp"
#include "support/complaint.hpp"
#include "support/strided_block.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/row_stream.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::lying;

std::int64_t pick(std::mt19937_64& random, std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

// ---- checks ---------------------------------------------------------------------------------------------------------

/// Bytes of a shape's elements, relative to its first one; empty where two elements share some.
std::set<std::int64_t> bytes_of(const view_shape& s) {
    const auto size = static_cast<std::int64_t>(size_of(s.type));
    std::set<std::int64_t> bytes;
    bool twice = false;
    for (std::int64_t p = 0; p < s.planes; ++p)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c)
                for (std::int64_t b = 0; b < s.channels * size; ++b)
                    twice |= !bytes.insert(p * s.plane_stride + r * s.row_stride + c * s.pixel_stride() + b).second;
    return twice ? std::set<std::int64_t>() : bytes;
}

view_shape random_shape(std::mt19937_64& random) {
    view_shape s{dtype::u16, 1 + pick(random, 3), 1 + pick(random, 4), 1 + pick(random, 4), 1 + pick(random, 2)};
    const auto stride = [&] { return 2 * (pick(random, 33) - 16); };
    s.row_stride = stride();
    s.plane_stride = stride();
    if (pick(random, 3) != 0) s.col_stride = stride();
    return s;
}

/// Against the sets of bytes themselves: what may be written has no byte twice, the reach is what the bytes reach, and
/// views that are told apart share none.
TEST(strides, checks_agree_with_the_bytes_of_random_shapes) {
    std::mt19937_64 random(11);
    std::vector<view_shape> good;
    for (int i = 0; i < 20000; ++i) {
        const view_shape s = random_shape(random);
        const std::set<std::int64_t> bytes = bytes_of(s);
        try {
            const byte_reach reach = checked_reach("image", s, access::write);
            ASSERT_FALSE(bytes.empty()) << test::text_of(s);
            ASSERT_EQ(reach.first, *bytes.begin());
            ASSERT_EQ(reach.end, *bytes.rbegin() + 1);
            ASSERT_NO_THROW((void)checked_reach("image", s, access::read));
            if (is_plain(s)) {
                ASSERT_EQ(checked_span_bytes("image", s), reach.end);
            }
            good.push_back(s);
        } catch (const invalid_argument&) {
            ASSERT_THROW((void)checked_span_bytes("image", s), invalid_argument);
        }
    }
    EXPECT_GT(good.size(), 500U);

    std::vector<std::uint16_t> memory(1000);
    int apart = 0, within_each_other = 0;
    for (int i = 0; i < 20000; ++i) {
        const view_shape &s = good[random() % good.size()], &t = good[random() % good.size()];
        const std::int64_t first = 400 + pick(random, 60), second = 400 + pick(random, 60);
        const auto a = bytes_of(s), b = bytes_of(t);
        bool meet = false;
        for (const std::int64_t byte : a) meet = meet || b.count(byte + 2 * (first - second)) != 0;
        const bool told = overlap({memory.data() + first, s}, {memory.data() + second, t});
        ASSERT_TRUE(told || !meet) << test::text_of(s) << " and " << test::text_of(t);
        apart += told ? 0 : 1;
        within_each_other += !told && *a.begin() + 2 * first < *b.rbegin() + 2 * second &&
                                     *b.begin() + 2 * second < *a.rbegin() + 2 * first
                                 ? 1
                                 : 0;
    }
    EXPECT_GT(apart, 1000);
    EXPECT_GT(within_each_other, 100);
}

TEST(strides, messages_name_the_stride) {
    std::vector<std::uint8_t> pixels(1000);
    std::vector<std::uint32_t> sums(1000);
    const auto complaint_of = [&](const view_strides& image, const view_strides& table) {
        return test::complaint([&] {
            sat({image_view<const std::uint8_t>{&pixels[500], 4, 5, image}},
                {.sums = {image_view<std::uint32_t>{&sums[500], 4, 5, table}}});
        });
    };
    EXPECT_EQ(complaint_of({5}, {20}), "");
    EXPECT_EQ(complaint_of({0, 0}, {-20, -4}), "");
    EXPECT_EQ(complaint_of({1, 4}, {4, 16}), "");
    EXPECT_EQ(complaint_of({3}, {20}), "image: row_stride is 3, smaller than a row of 5 bytes");
    EXPECT_EQ(complaint_of({-4}, {20}), "image: row_stride is -4, smaller than a row of 5 bytes");
    EXPECT_EQ(complaint_of({5}, {0}), "sums: row_stride is 0, smaller than a row of 20 bytes");
    EXPECT_EQ(complaint_of({5}, {20, 0}), "sums: col_stride is 0, smaller than a pixel of 4 bytes");
    EXPECT_EQ(complaint_of({5}, {20, 6}), "sums: col_stride is 6, must be a multiple of the element size, 4");
    EXPECT_EQ(complaint_of({INT64_MIN, 1}, {20}), "image: 1 x 4 x 5 x 1 elements do not fit a 64-bit address space");
    EXPECT_EQ(complaint_of({INT64_MAX, -INT64_MAX}, {20}),
              "image: 1 x 4 x 5 x 1 elements do not fit a 64-bit address space");
    EXPECT_NE(complaint_of({5}, {-(std::int64_t{1} << 61)}), "");  // below the first address

    // A table that lies in its image's memory, turned over.
    const auto words = [&](std::size_t first, const view_strides& s) {
        return image_view<std::uint32_t>{&sums[first], 4, 5, s};
    };
    EXPECT_EQ(test::complaint([&] { sat({words(100, {20})}, {.sums = {words(100, {-20})}}); }),
              "sums: overlaps image (in place needs the same pointer, element size and strides, and layout inclusive)");
    EXPECT_EQ(test::complaint([&] { sat({words(100, {20})}, {.sums = {words(95, {-20})}}); }), "");
    EXPECT_EQ(test::complaint([&] {
                  sat({words(100, {40, 8})}, {.sums = {words(101, {40, 8})}});
              }),
              "");  // a channel each
    EXPECT_EQ(test::complaint([&] {
                  sat({words(119, {-20, -4})}, {.sums = {words(119, {-20, -4})}});
              }),
              "");  // in place
}

TEST(strides, decisions_say_what_is_copied) {
    std::vector<std::uint8_t> pixels(3000);
    table<std::uint32_t> sums(20, 20);
    const image_view<const std::uint8_t> turned_over{&pixels[1900], 20, 20, {.row = -100}};
    EXPECT_EQ(decide_sat({turned_over}, {sums}).packed_bytes, 0U);
    const image_view<const std::uint8_t> one_channel{pixels.data(), 20, 20, {.row = 100, .col = 3}};
    EXPECT_GE(decide_sat({one_channel}, {sums}).packed_bytes, 400U);
}

// ---- filters and histograms -----------------------------------------------------------------------------------------

/// The same pixels twice: in some order, and without gaps.
template <typename T>
struct twins {
    block<T> strided, plain;

    twins(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes, std::mt19937_64& random,
          std::int64_t largest)
        : strided(rows, cols, channels, planes, pick(random, 3) == 0 ? lying::repeated : lying::anyhow, random),
          plain(rows, cols, channels, planes, lying::row_major, random) {
        strided.for_each([&](auto, auto, auto, auto, T& x) { x = static_cast<T>(pick(random, largest + 1)); });
        plain.for_each([&](auto p, auto r, auto c, auto k, T& x) { x = strided.view()(r, c, k, p); });
    }
};

template <typename T>
void expect_same(const block<T>& got, const block<T>& expected, const char* what) {
    bool same = true;
    expected.for_each([&](auto p, auto r, auto c, auto k, T& x) {
        same = same && std::memcmp(&x, &got.view()(r, c, k, p), sizeof x) == 0;
    });
    EXPECT_TRUE(same) << what << " with " << test::text_of(got.view().shape());
    EXPECT_TRUE(got.is_untouched_between()) << what;
}

template <typename Pixel>
void filter_all(std::mt19937_64& random) {
    const std::int64_t rows = 1 + pick(random, 40), cols = 1 + pick(random, 40), channels = 1 + pick(random, 3),
                       planes = 1 + pick(random, 2);
    const twins<Pixel> image(rows, cols, channels, planes, random, 200);
    const twins<std::uint8_t> radius(rows, cols, 1, planes, random, 5);
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + ", image with " +
                 test::text_of(image.strided.view().shape()));
    const auto expect = [&]<typename Result>(const char* what, Result, auto&& filter) {
        const block<Result> result(rows, cols, channels, planes, lying::anyhow, random);
        const block<Result> expected(rows, cols, channels, planes, lying::row_major, random);
        filter(image.strided.view(), radius.strided.view(), any_view(result.view()));
        filter(image.plain.view(), radius.plain.view(), any_view(expected.view()));
        expect_same(result, expected, what);
    };
    using map = image_view<const std::uint8_t>;
    using pixels = image_view<const Pixel>;
    const filter_options options{.window = 5};
    expect("box_filter", Pixel{}, [&](pixels in, map, any_view out) { box_filter({in}, {out}, options); });
    expect("mean", float{}, [&](pixels in, map, any_view out) { local_statistics({in}, {.mean = out}, options); });
    expect("deviation", float{},
           [&](pixels in, map, any_view out) { local_statistics({in}, {.deviation = out}, options); });
    expect("adaptive_threshold", std::uint8_t{},
           [&](pixels in, map, any_view out) { adaptive_threshold({in}, {out}, {}, options); });
    expect("local_contrast", float{},
           [&](pixels in, map, any_view out) { local_contrast({in}, {out}, {.epsilon = 1}, options); });
    expect("variable_box_filter", Pixel{}, [&](pixels in, map radii, any_view out) {
        variable_box_filter({in, radii}, {out});
    });
}

/// How often maps and counts lay backwards, and all of some rows, columns or planes of them in one place.
struct ways_to_lie {
    int backwards = 0, forwards = 0, repeated = 0;

    void add(const view_shape& s) {
        const std::int64_t strides[] = {s.row_stride, s.pixel_stride(), s.planes > 1 ? s.plane_stride : 1};
        const auto [least, most] = std::minmax_element(std::begin(strides), std::end(strides));
        backwards += *least < 0;
        forwards += *least > 0;
        repeated += std::count(std::begin(strides), std::end(strides), 0) > 0;
    }
};

/// With masks, weights and counts, of one channel or plane or as many as the image has.
template <typename Pixel>
void sample_all(std::mt19937_64& random, ways_to_lie& of_weights, ways_to_lie& of_counts) {
    const std::int64_t rows = 1 + pick(random, 40), cols = 1 + pick(random, 40), channels = 1 + pick(random, 3),
                       planes = 1 + pick(random, 2);
    const auto some = [&](std::int64_t all) { return pick(random, 2) == 0 ? 1 : all; };
    const twins<Pixel> image(rows, cols, channels, planes, random, 200);
    const twins<std::uint8_t> radius(rows, cols, 1, planes, random, 5);
    const twins<std::uint8_t> mask(rows, cols, some(channels), some(planes), random, 3);
    const twins<float> weights(rows, cols, some(channels), some(planes), random, 9);
    of_weights.add(weights.strided.view().shape());
    const auto expect = [&]<typename Result, typename Count>(const char* what, Result, Count, auto&& filter) {
        const block<Result> result(rows, cols, channels, planes, lying::anyhow, random);
        const block<Count> count(rows, cols, channels, planes, lying::anyhow, random);
        const block<Result> expected(rows, cols, channels, planes, lying::row_major, random);
        const block<Count> expected_count(rows, cols, channels, planes, lying::row_major, random);
        of_counts.add(count.view().shape());
        SCOPED_TRACE("image with " + test::text_of(image.strided.view().shape()) + ", mask with " +
                     test::text_of(mask.strided.view().shape()) + ", weights with " +
                     test::text_of(weights.strided.view().shape()) + ", count with " +
                     test::text_of(count.view().shape()));
        const auto run = [&](const auto& of, const block<Result>& to, const block<Count>& number) {
            filter_inputs in{.image = of(image)};
            if (pick(random, 3) != 0 || !std::is_floating_point_v<Count>) in.mask = of(mask);
            if (std::is_floating_point_v<Count>) in.weights = of(weights);
            filter(in, any_view(to.view()), any_view(number.view()), of(radius));
        };
        const std::mt19937_64 before = random;  // both or none have a mask
        run([](const auto& both) -> const_any_view { return both.strided.view(); }, result, count);
        random = before;
        run([](const auto& both) -> const_any_view { return both.plain.view(); }, expected, expected_count);
        expect_same(result, expected, what);
        expect_same(count, expected_count, "count");
    };
    const filter_options options{.window = 5, .nodata = 7, .fill = 3};
    const auto of_every_filter = [&](auto count) {
        using view = const any_view&;
        expect("box_filter", Pixel{}, count, [&](const filter_inputs& in, view to, view number, const_any_view) {
            box_filter(in, {to, number}, options);
        });
        expect("sum", double{}, count, [&](const filter_inputs& in, view to, view number, const_any_view) {
            local_statistics(in, {.sum = to, .count = number}, options);
        });
        expect("variance", double{}, count, [&](const filter_inputs& in, view to, view number, const_any_view) {
            local_statistics(in, {.variance = to, .count = number}, options);
        });
        expect("adaptive_threshold", std::uint8_t{}, count,
               [&](const filter_inputs& in, view to, view number, const_any_view) {
                   adaptive_threshold(in, {to, number}, {}, options);
               });
        expect("local_contrast", float{}, count, [&](const filter_inputs& in, view to, view number, const_any_view) {
            local_contrast(in, {to, number}, {.epsilon = 1}, options);
        });
        expect("variable_box_filter", Pixel{}, count,
               [&](const filter_inputs& in, view to, view number, const const_any_view& radii) {
                   const variable_inputs varied{
                       .image = in.image, .radius = radii, .mask = in.mask, .weights = in.weights};
                   variable_box_filter(varied, {to, number}, {.nodata = 7, .fill = 3});
               });
    };
    of_every_filter(std::uint32_t{});
    of_every_filter(float{});
    of_every_filter(double{});
}

TEST(strides, filters_see_the_same_weights_and_counts) {
    std::mt19937_64 random(12);
    ways_to_lie of_weights, of_counts;
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
        sample_all<std::uint8_t>(random, of_weights, of_counts);
        sample_all<float>(random, of_weights, of_counts);
    }
    EXPECT_GT(std::min({of_weights.backwards, of_weights.forwards, of_weights.repeated}), 2);
    EXPECT_GT(std::min(of_counts.backwards, of_counts.forwards), 20);
}

TEST(strides, filters_see_the_same_image) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
        filter_all<std::uint8_t>(random);
        filter_all<float>(random);
    }
}

TEST(strides, histograms_see_the_same_image) {
    std::mt19937_64 random(6);
    for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(random, 40), cols = 1 + pick(random, 40), planes = 1 + pick(random, 2);
        const twins<std::uint8_t> image(rows, cols, 1, planes, random, 255);
        const binning bins = binning::uniform(7, 0, 256);
        const twins<float> weights(rows, cols, 1, planes, random, 9);
        const auto expect = [&]<typename T>(T, const histogram_inputs& strided, const histogram_inputs& plain) {
            const auto got = integral_histogram<T>(strided, bins), expected = integral_histogram<T>(plain, bins);
            for (std::int64_t p = 0; p < planes; ++p)
                for (std::int64_t b = 0; b < 7; ++b)
                    for (std::int64_t r = 0; r < rows; ++r)
                        for (std::int64_t c = 0; c < cols; ++c)
                            ASSERT_EQ(got.view().bin(b, p)(r, c), expected.view().bin(b, p)(r, c))
                                << test::text_of(strided.image.shape);
        };
        expect(std::uint32_t{}, {image.strided.view()}, {image.plain.view()});
        expect(float{}, {image.strided.view(), weights.strided.view()}, {image.plain.view(), weights.plain.view()});
    }
}

/// Tables of any numbers: windows are differences of their entries, whatever those are the sums of.
TEST(strides, windows_see_the_same_tables) {
    std::mt19937_64 random(8);
    for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i) {
        const table_form form = pick(random, 2) == 0 ? table_layout::inclusive : table_layout::padded;
        const std::int64_t rows = 1 + pick(random, 40), cols = 1 + pick(random, 40), channels = 1 + pick(random, 3),
                           planes = 1 + pick(random, 2);
        const auto table = [&]<typename T>(T) {
            return twins<T>(form.table_extent(rows), form.table_extent(cols), channels, planes, random, 100000);
        };
        const auto sums = table(std::uint32_t{});
        const auto squares = table(double{});
        SCOPED_TRACE("tables with " + test::text_of(sums.strided.view().shape()) + " and " +
                     test::text_of(squares.strided.view().shape()));
        const window_query_options options{.window = 7, .threads = 1 + static_cast<int>(pick(random, 2))};
        const auto expect = [&]<typename Result>(const char* what, Result, auto&& query) {
            const block<Result> result(rows, cols, channels, planes, lying::anyhow, random);
            const block<Result> expected(rows, cols, channels, planes, lying::row_major, random);
            const auto of = [&](const auto& t) { return const_any_table_view{t.view(), form}; };
            query(of(sums.strided), of(squares.strided), any_view(result.view()));
            query(of(sums.plain), of(squares.plain), any_view(expected.view()));
            expect_same(result, expected, what);
        };
        using table_in = const const_any_table_view&;
        expect("sums", std::uint32_t{}, [&](table_in s, table_in, any_view out) { window_sums(s, out, options); });
        expect("means", float{}, [&](table_in s, table_in, any_view out) { window_means(s, out, options); });
        expect("variances", double{}, [&](table_in s, table_in q, any_view out) {
            window_variances({s, q}, out, options);
        });
    }
}

TEST(strides, streams_see_the_same_rows) {
    std::mt19937_64 random(9);
    for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(random, 20), cols = 1 + pick(random, 30), channels = 1 + pick(random, 3);
        const twins<float> image(rows, cols, channels, 1, random, 200);
        SCOPED_TRACE("image with " + test::text_of(image.strided.view().shape()));
        row_stream stream({dtype::f32, cols, channels}, {.window = 1}, rows);
        stream.push(image.strided.view());
        stream.finish();
        const block<float> result(rows, cols, channels, 1, lying::anyhow, random);
        box_filter(stream.next(rows), {result.view()}, {.window = 1});
        expect_same(result, image.plain, "pixels of the stream");
    }
}

TEST(strides, pipelines_see_the_same_frames) {
    std::mt19937_64 random(10);
    const binning bins = binning::uniform(5, 0, 256);
    for (int i = 0; i < 10 && !testing::Test::HasFailure(); ++i) {
        const std::int64_t rows = 1 + pick(random, 20), cols = 1 + pick(random, 30), planes = 1 + pick(random, 3);
        const twins<std::uint8_t> frames(rows, cols, 1, planes, random, 255);
        const twins<float> weights(rows, cols, 1, planes, random, 9);
        frame_request whole;
        whole.boxes = {{0, 0, rows, cols}};
        const auto histograms = [&](const histogram_inputs& batch) {
            pipeline_options options;
            options.entries = dtype::f32;
            options.histogram.threads = 1;
            histogram_pipeline pipeline({dtype::u8, rows, cols}, bins, {whole}, frames_of(batch), options);
            std::vector<float> all;
            while (const frame_result* r = pipeline.next())
                all.insert(all.end(), r->histograms.sums.begin(), r->histograms.sums.end());
            return all;
        };
        const auto expected = histograms({frames.plain.view(), weights.plain.view()});
        EXPECT_EQ(expected.size(), static_cast<std::size_t>(5 * planes));
        EXPECT_EQ(histograms({frames.strided.view(), weights.strided.view()}), expected)
            << test::text_of(frames.strided.view().shape());
    }
}

}  // namespace
}  // namespace boxsum
