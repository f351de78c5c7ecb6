#include <boxsum/error.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/verify.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

template <typename F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

template <typename T>
std::vector<T> random_pixels(std::int64_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<T> pixels(static_cast<std::size_t>(n));
    for (T& p : pixels) p = static_cast<T>(engine() % 256);
    return pixels;
}

/// The histogram of a box, counted pixel by pixel.
template <typename T>
std::vector<double> counted(const image_view<const T>& image, const binning& bins, const box& b,
                            std::int64_t plane = 0) {
    std::vector<double> h(static_cast<std::size_t>(bins.bins()));
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
            if (const auto k = bins.bin_of(static_cast<double>(image(r, c, 0, plane))); k >= 0)
                h[static_cast<std::size_t>(k)] += 1;
    return h;
}

TEST(integral_histogram, by_hand) {
    const std::vector<std::uint8_t> pixels{0, 1, 1,  //
                                           1, 0, 9};
    const auto h =
        integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 2, 3), binning::indices(2));
    const std::vector<std::uint32_t> zeros{1, 1, 1, 1, 2, 2}, ones{0, 1, 2, 1, 2, 3};
    for (std::int64_t r = 0; r < 2; ++r)
        for (std::int64_t c = 0; c < 3; ++c) {
            EXPECT_EQ(h.view().entries()(0, r, c), zeros[static_cast<std::size_t>(r * 3 + c)]);
            EXPECT_EQ(h.view().entries()(1, r, c), ones[static_cast<std::size_t>(r * 3 + c)]);
        }
    EXPECT_EQ(box_histogram(h, {.row = 0, .col = 1, .rows = 2, .cols = 2}), (std::vector<std::uint32_t>{1, 2}));
}

TEST(integral_histogram, boxes_agree_with_counting) {
    constexpr std::int64_t rows = 37, cols = 53, planes = 3;
    const auto pixels = random_pixels<std::uint8_t>(rows * cols * planes, 1);
    const image_view<const std::uint8_t> image(pixels.data(), rows, cols, 0, 1, planes);
    const binning bins = binning::uniform(13, 0, 256);
    std::mt19937 engine(2);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(engine() % static_cast<unsigned>(n)); };
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
        const auto h = integral_histogram<std::uint16_t>(image, bins, layout);
        std::vector<box> boxes{{0, 0, rows, cols}, {0, 0, 1, 1}, {rows - 1, cols - 1, 1, 1}};
        for (int i = 0; i < 200; ++i) {
            box b{below(rows), below(cols), 0, 0};
            b.rows = 1 + below(rows - b.row);
            b.cols = 1 + below(cols - b.col);
            boxes.push_back(b);
        }
        for (std::int64_t plane = 0; plane < planes; ++plane) {
            std::vector<std::uint16_t> all(boxes.size() * 13);
            box_histograms<std::uint16_t>(h, boxes, all, plane);
            for (std::size_t i = 0; i < boxes.size(); ++i) {
                const auto expected = counted(image, bins, boxes[i], plane);
                const auto one = box_histogram(h, boxes[i], plane);
                EXPECT_TRUE(std::equal(one.begin(), one.end(), expected.begin()));
                EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(i * 13)));
            }
        }
    }
}

/// Rows of any width that start anywhere, among bytes that are not theirs: written past the caches as by the ordinary
/// stores, which the conformance suite tests.
TEST(integral_histogram, streamed_rows_start_and_end_anywhere) {
    constexpr std::int64_t rows = 6, widest = 200, bins = 3;
    const auto pixels = random_pixels<std::uint8_t>(rows * widest, 8);
    const std::vector<float> ones(pixels.size(), 0.75F);
    const auto test = [&]<typename T>(const binning& rule) {
        constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
        constexpr std::size_t bytes = sizeof(T) * (widest + 3) * (rows + 1) * bins + 192;
        for (const std::int64_t cols : {1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 80, 96, 97, 128, 130, 191, 200})
            for (std::int64_t shift = 0; shift < lanes; ++shift)
                for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
                    const std::int64_t border = layout == table_layout::padded ? 1 : 0;
                    const std::int64_t gap = shift % 3, pitch = cols + border + gap;
                    const auto made = [&](store_policy store) {
                        std::vector<std::uint8_t> memory(bytes, 0xa5);
                        const auto start = (reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64;
                        T* const first = reinterpret_cast<T*>(start) + shift;
                        const std::int64_t row = pitch * static_cast<std::int64_t>(sizeof(T));
                        const any_histogram_view out{{first,
                                                      {dtype_of<T>, 1, bins, rows + border, cols + border, row,
                                                       row * (rows + border), row * (rows + border) * bins}},
                                                     layout};
                        histogram_inputs in{image_view<const std::uint8_t>(pixels.data(), rows, cols)};
                        if (std::is_floating_point_v<T>) in.weights = image_view<const float>(ones.data(), rows, cols);
                        integral_histogram(in, rule, {out}, {.threads = 1, .store = store});
                        const auto begin =
                            memory.begin() +
                            static_cast<std::ptrdiff_t>(start - reinterpret_cast<std::uintptr_t>(memory.data()));
                        return std::vector<std::uint8_t>(begin, begin + bytes - 64);
                    };
                    ASSERT_EQ(made(store_policy::streaming), made(store_policy::cached))
                        << cols << " columns, " << shift << " entries behind a line, " << name_of(layout);
                }
    };
    const binning uniform = binning::uniform(bins, 0, 256);
    test.operator()<std::uint32_t>(uniform);
    test.operator()<std::uint16_t>(uniform);
    test.operator()<float>(uniform);
}

TEST(integral_histogram, weights_are_summed_per_bin_and_do_not_depend_on_threads) {
    constexpr std::int64_t rows = 300, cols = 217;
    const auto pixels = random_pixels<float>(rows * cols, 3);
    std::vector<float> weights(pixels.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i));
    const image_view<const float> image(pixels.data(), rows, cols), w(weights.data(), rows, cols);
    const binning bins = binning::uniform(8, 0, 256);
    histogram_table<float> one(8, rows, cols), three(8, rows, cols);
    integral_histogram({image, w}, bins, {one}, {.threads = 1});
    integral_histogram({image, w}, bins, {three}, {.threads = 3});
    for (std::int64_t b = 0; b < 8; ++b)
        for (std::int64_t r = 0; r < rows; ++r)
            ASSERT_TRUE(std::equal(one.view().bin(b).entries().row(r), one.view().bin(b).entries().row(r) + cols,
                                   three.view().bin(b).entries().row(r)));
    double expected = 0;
    for (std::int64_t r = 10; r < 40; ++r)
        for (std::int64_t c = 20; c < 100; ++c)
            if (bins.bin_of(static_cast<double>(image(r, c))) == 5) expected += static_cast<double>(w(r, c));
    EXPECT_NEAR(static_cast<double>(box_histogram(one, {10, 20, 30, 80})[5]), expected, 1e-2);
}

TEST(integral_histogram, mistakes_are_named_and_write_nothing) {
    const std::vector<std::uint8_t> pixels(300 * 300, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 300, 300);
    const binning bins = binning::uniform(4, 0, 256);
    std::vector<std::uint32_t> entries(4 * 301 * 301, 77);
    const tensor_view<std::uint32_t> tensor(entries.data(), 4, 300, 300);
    const auto run = [&](const const_any_view& i, const binning& b, const any_histogram_view& h,
                         const histogram_options& o = {}) {
        return message_of([&] { integral_histogram({i}, b, {h}, o); });
    };
    const auto formed = [&](table_layout layout) { return histogram_view<std::uint32_t>(tensor, layout); };
    EXPECT_EQ(run(image, binning::uniform(5, 0, 256), formed(table_layout::inclusive)),
              "histograms: bins is 4, but the binning has 5");
    EXPECT_NE(run(image, bins, formed(table_layout::padded)).find("301 x 301"), std::string::npos);
    EXPECT_NE(run(image, bins, formed(table_layout::exclusive)).find("histograms: layout is exclusive"),
              std::string::npos);
    EXPECT_EQ(run(image, bins, formed(static_cast<table_layout>(7))), "histograms: layout is 7, not a table_layout");
    EXPECT_EQ(run(image, bins, formed(table_layout::inclusive), {.store = static_cast<store_policy>(7)}),
              "store: is 7, not a store_policy");
    EXPECT_NE(run(image, bins, formed(table_layout::inclusive), {.threads = -2}).find("threads: is -2"),
              std::string::npos);
    EXPECT_NE(run(image, bins, formed(table_layout::inclusive), {.algorithm = "no-such"}).find("no-such"),
              std::string::npos);
    EXPECT_NE(run(image, binning::lookup(4, std::vector<std::uint16_t>(65536)), formed(table_layout::inclusive))
                  .find("65536 entries, but the image is 8u"),
              std::string::npos);
    std::vector<std::uint16_t> narrow(4 * 300 * 300);
    EXPECT_NE(
        run(image, bins, histogram_view<std::uint16_t>({narrow.data(), 4, 300, 300})).find("more than 65535 pixels"),
        std::string::npos);
    const tensor_view<std::uint32_t> close(entries.data(), 4, 300, 300, 0, 300 * 300 * 4 - 4);
    EXPECT_NE(run(image, bins, histogram_view<std::uint32_t>(close))
                  .find("bin_stride is 359996, smaller than a table of 360000"),
              std::string::npos);
    const std::vector<double> doubles(4);
    EXPECT_NE(run(image_view<const double>(doubles.data(), 2, 2), bins,
                  histogram_view<std::uint32_t>({entries.data(), 4, 2, 2}))
                  .find("image: type is 64f"),
              std::string::npos);
    const std::vector<float> floats(4);
    EXPECT_NE(run(image_view<const float>(floats.data(), 2, 2), binning::indices(4),
                  histogram_view<std::uint32_t>({entries.data(), 4, 2, 2}))
                  .find("bin indices are integers"),
              std::string::npos);
    EXPECT_NE(run(image_view<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(entries.data()), 2, 2), bins,
                  histogram_view<std::uint32_t>({entries.data(), 4, 2, 2}))
                  .find("histograms: overlap image"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  histogram_table<std::uint32_t>(4, std::int64_t{1} << 40, std::int64_t{1} << 40);
              }).find("do not fit"),
              std::string::npos);
    EXPECT_EQ(message_of([] { histogram_table<std::uint32_t>(4, 0, 5, table_layout::padded); }),
              "image_rows: is 0, must be at least 1");
    // The image, not what would be allocated for it.
    const image_view<const std::uint8_t> hopeless(pixels.data(), std::int64_t{1} << 40, std::int64_t{1} << 40);
    EXPECT_NE(message_of([&] { integral_histogram<std::uint32_t>(hopeless, bins); }).find("image: 1 x 1099511627776"),
              std::string::npos);
    const image_view<const std::uint8_t> nothing(nullptr, 1 << 20, 1 << 20);
    EXPECT_EQ(message_of([&] { integral_histogram<std::uint32_t>(nothing, bins); }), "image: data is null");
    for (const std::uint32_t e : entries) ASSERT_EQ(e, 77u);
}

TEST(integral_histogram, queries_name_their_mistakes) {
    const std::vector<std::uint8_t> pixels(20, 1);
    const auto h =
        integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 4, 5), binning::indices(2));
    std::vector<std::uint32_t> out(2, 77);
    const std::vector<box> boxes{{0, 0, 1, 1}, {0, 0, 4, 6}};
    std::vector<std::uint32_t> two(4, 77);
    EXPECT_NE(message_of([&] { box_histograms<std::uint32_t>(h, boxes, two); }).find("boxes[1]"), std::string::npos);
    EXPECT_EQ(two, std::vector<std::uint32_t>(4, 77));
    EXPECT_NE(message_of([&] {
                  box_histogram<std::uint32_t>(h, {0, 0, 1, 1}, two);
              }).find("has 4 elements, must have 2"),
              std::string::npos);
    EXPECT_NE(message_of([&] { box_histogram(h, {0, 0, 1, 1}, 1); }).find("plane: is 1"), std::string::npos);
    std::vector<float> floats(2);
    EXPECT_NE(message_of([&] {
                  box_histogram<float>(h, {0, 0, 1, 1}, floats);
              }).find("type is 32f, but the histograms' is 32u"),
              std::string::npos);
}

TEST(integral_histogram, supports_answers_without_memory) {
    const view_shape image{dtype::u8, 1, 100000, 100000, 1, 100000, 0};
    const binning bins = binning::uniform(32, 0, 256);
    const algorithm_info& cpu = *find_algorithm(operation::histogram, "cpu");
    const algorithm_info& sequential = *find_algorithm(operation::histogram, "sequential");
    EXPECT_TRUE(supports(cpu, image, bins, dtype::u32, table_layout::padded));
    EXPECT_TRUE(supports(cpu, image, bins, dtype::f32, table_layout::padded));
    EXPECT_TRUE(supports(sequential, image, bins, dtype::u32, table_layout::padded));
    EXPECT_FALSE(supports(sequential, image, bins, dtype::f32, table_layout::padded));
    EXPECT_FALSE(supports(cpu, image, bins, dtype::u64, table_layout::padded));
    // The question about tables is not one about histograms, and the other way round.
    EXPECT_FALSE(supports(cpu, image, dtype::u32, table_layout::padded));
    algorithm_info of_tables = cpu;
    of_tables.what = operation::sat;
    EXPECT_FALSE(supports(of_tables, image, bins, dtype::u32, table_layout::padded));
    const view_shape wide{dtype::u8, 1, 1, INT64_MAX / 4, 1, INT64_MAX / 4, 0};
    EXPECT_THROW(supports(cpu, wide, bins, dtype::u32, table_layout::inclusive), invalid_argument);
    EXPECT_THROW(supports(cpu, wide, bins, dtype::f32, table_layout::inclusive), invalid_argument);
}

TEST(integral_histogram, verify_runs_every_record_of_this_machine) {
    for (const algorithm_info* info : algorithms(operation::histogram)) {
        if (info->where != backend::cpu) continue;
        const verification_summary summary = verify(*info);
        EXPECT_GT(summary.passed, 50) << info->name;
        EXPECT_EQ(summary.failed, 0) << info->name;
    }
}

// ---- Search --------------------------------------------------------------------------------------------------------

constexpr std::array all_distances{histogram_distance::l1, histogram_distance::l2, histogram_distance::chi_square,
                                   histogram_distance::intersection, histogram_distance::bhattacharyya};

TEST(histogram_distance, by_hand) {
    const std::vector<double> a{1, 1, 0, 0}, b{0, 1, 1, 0};  // shares 1/2 1/2 0 0 and 0 1/2 1/2 0
    EXPECT_DOUBLE_EQ(distance_between(histogram_distance::l1, a, b), 1);
    EXPECT_DOUBLE_EQ(distance_between(histogram_distance::l2, a, b), std::sqrt(0.5));
    EXPECT_DOUBLE_EQ(distance_between(histogram_distance::chi_square, a, b), 0.5);
    EXPECT_DOUBLE_EQ(distance_between(histogram_distance::intersection, a, b), 0.5);
    EXPECT_DOUBLE_EQ(distance_between(histogram_distance::bhattacharyya, a, b), std::sqrt(0.5));
}

TEST(histogram_distance, ends_of_the_scale) {
    const std::vector<double> a{3, 5, 0}, same{30, 50, 0}, apart{0, 0, 2}, empty{0, 0, 0};
    const std::array farthest{2.0, std::numbers::sqrt2, 1.0, 1.0, 1.0};
    for (std::size_t i = 0; i < all_distances.size(); ++i) {
        const histogram_distance d = all_distances[i];
        EXPECT_NEAR(distance_between(d, a, same), 0, 1e-7) << name_of(d);
        EXPECT_DOUBLE_EQ(distance_between(d, empty, empty), 0) << name_of(d);
        EXPECT_DOUBLE_EQ(distance_between(d, a, empty), farthest[i]) << name_of(d);
        EXPECT_LE(distance_between(d, a, apart), farthest[i]) << name_of(d);
        EXPECT_EQ(histogram_distance_from_name(name_of(d)), d);
    }
    EXPECT_FALSE(histogram_distance_from_name("l3"));
    EXPECT_THROW(distance_between(histogram_distance::l1, a, std::vector<double>(2)), invalid_argument);
}

/// Dividing by a total that overflows gave shares of 0, by one without a reciprocal infinite ones.
TEST(histogram_distance, totals_of_which_no_shares_can_be_made_are_refused) {
    const std::vector<double> usual{1, 3}, huge{1e308, 1e308}, tiny{1e-310, 1e-310}, small{1e-290, 3e-290};
    for (const histogram_distance d : all_distances) {
        EXPECT_EQ(message_of([&] { distance_between(d, usual, huge); }),
                  "b: its bins add up to inf, must be 0 or 1e-290 to 1.7976931348623157e+308 to be divided by");
        EXPECT_NE(message_of([&] { distance_between(d, tiny, usual); }).find("a: its bins add up to 2e-310"),
                  std::string::npos);
        EXPECT_NEAR(distance_between(d, usual, small), 0, 1e-7) << name_of(d);
        EXPECT_TRUE(std::isnan(distance_between(d, usual, std::vector<double>{HUGE_VAL, 1}))) << name_of(d);
    }
}

TEST(window_grid, counts_and_places) {
    const window_grid g{.rows = 3, .cols = 4, .row_step = 2, .col_step = 5};
    EXPECT_EQ(window_count(g, 10, 20), 4 * 4);
    EXPECT_EQ(window_at(g, 20, 5), (box{2, 5, 3, 4}));
    EXPECT_EQ(window_count({.rows = 11, .cols = 1}, 10, 20), 0);
    EXPECT_EQ(window_count({.rows = 1, .cols = 1}, std::int64_t{1} << 31, std::int64_t{1} << 31),
              std::int64_t{1} << 62);
    EXPECT_NE(message_of([] {
                  window_count({.rows = 1, .cols = 1}, std::int64_t{1} << 33, std::int64_t{1} << 33);
              }).find("grid: has 8589934592 x 8589934592 windows"),
              std::string::npos);
    const window_grid inside{.rows = 2, .cols = 2, .region = box{3, 4, 3, 5}};
    EXPECT_EQ(window_count(inside, 10, 20), 2 * 4);
    EXPECT_EQ(window_at(inside, 20, 4), (box{4, 4, 2, 2}));
    EXPECT_NE(message_of([] { window_count({.rows = 0, .cols = 1}, 4, 4); }).find("rows is 0"), std::string::npos);
    EXPECT_NE(message_of([] { window_count({.rows = 1, .cols = 1, .col_step = 0}, 4, 4); }).find("col_step is 0"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  window_count({.rows = 1, .cols = 1, .region = box{0, 0, 5, 1}}, 4, 4);
              }).find("region"),
              std::string::npos);
}

template <typename Entry>
void check_windows_and_search(table_layout layout) {
    constexpr std::int64_t rows = 31, cols = 45, bins_count = 7;
    const auto pixels = random_pixels<std::uint8_t>(rows * cols, 5);
    const image_view<const std::uint8_t> image(pixels.data(), rows, cols);
    const binning bins = binning::uniform(bins_count, 20, 250);
    const std::vector<float> ones(pixels.size(), 1.0f);
    histogram_inputs inputs{image};
    if (std::is_same_v<Entry, float>) inputs.weights = image_view<const float>(ones.data(), rows, cols);
    const histogram_table<Entry> h = integral_histogram<Entry>(inputs, bins, layout);
    const std::vector<window_grid> grids{{.rows = 6, .cols = 9},
                                         {.rows = 4, .cols = 6, .row_step = 3, .col_step = 2},
                                         {.rows = 8, .cols = 5, .region = box{10, 11, 15, 20}},
                                         {.rows = 40, .cols = 5}};
    const std::vector<double> target = counted(image, bins, {12, 17, 6, 9});

    std::vector<std::vector<histogram_match>> expected(all_distances.size());
    for (const window_grid& g : grids) {
        const std::int64_t n = window_count(g, rows, cols);
        std::vector<Entry> all(static_cast<std::size_t>(n * bins_count));
        window_histograms<Entry>(h, g, all);
        for (std::int64_t i = 0; i < n; ++i) {
            const box where = window_at(g, cols, i);
            const auto histogram = counted(image, bins, where);
            ASSERT_TRUE(std::equal(histogram.begin(), histogram.end(), all.begin() + i * bins_count));
            for (std::size_t d = 0; d < all_distances.size(); ++d)
                expected[d].push_back({where, distance_between(all_distances[d], histogram, target)});
        }
    }
    for (std::size_t d = 0; d < all_distances.size(); ++d) {
        auto& matches = expected[d];
        std::stable_sort(matches.begin(), matches.end(),
                         [](const auto& a, const auto& b) { return a.distance < b.distance; });
        const auto found = best_windows(h, grids, target, all_distances[d], 25);
        ASSERT_EQ(found.size(), 25u);
        EXPECT_NEAR(found[0].distance, 0, 1e-7);
        EXPECT_TRUE((found[0].where == box{12, 17, 6, 9}));
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_NEAR(found[i].distance, matches[i].distance, 1e-12) << name_of(all_distances[d]) << " match " << i;
            EXPECT_NEAR(distance_between(all_distances[d], counted(image, bins, found[i].where), target),
                        found[i].distance, 1e-12);
        }
        EXPECT_EQ(best_windows(h, grids, target, all_distances[d], 1'000'000).size(), matches.size());
    }
}

TEST(best_windows, agrees_with_brute_force) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
        check_windows_and_search<std::uint32_t>(layout);
        check_windows_and_search<std::uint16_t>(layout);
        check_windows_and_search<float>(layout);
    }
}

TEST(best_windows, ties_go_to_the_earlier_grid_then_up_and_left) {
    const std::vector<std::uint8_t> pixels(6 * 8, 1);
    const auto h =
        integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 6, 8), binning::indices(2));
    const std::vector<window_grid> grids{{.rows = 5, .cols = 7}, {.rows = 2, .cols = 2}};
    const std::vector<double> target{0, 1};
    const auto found = best_windows(h, grids, target, histogram_distance::l1, 5);
    const std::vector<box> expected{{0, 0, 5, 7}, {0, 1, 5, 7}, {1, 0, 5, 7}, {1, 1, 5, 7}, {0, 0, 2, 2}};
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].where, expected[i]) << i;
}

/// Neighbours are left out: the greedy choice among all windows in their order, by counting pixels.
TEST(best_windows, windows_that_overlap_too_much_are_passed_over) {
    constexpr std::int64_t rows = 20, cols = 25;
    std::vector<std::uint8_t> pixels(rows * cols);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i / 7 % 4);
    const auto h = integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), rows, cols),
                                                     binning::indices(4));
    const std::vector<window_grid> grids{{.rows = 6, .cols = 5}, {.rows = 3, .cols = 8, .row_step = 2}};
    const std::vector<double> target{1, 2, 3, 4};
    const auto all = best_windows(h, grids, target, histogram_distance::l1, 100'000);
    const auto inside = [](const box& b, std::int64_t r, std::int64_t c) {
        return r >= b.row && r < b.row + b.rows && c >= b.col && c < b.col + b.cols;
    };
    for (const double largest : {0.0, 0.25, 0.6, 1.0}) {
        std::vector<histogram_match> expected;
        for (const histogram_match& m : all) {
            bool taken = true;
            for (const histogram_match& before : expected) {
                int both = 0, either = 0;
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t c = 0; c < cols; ++c) {
                        const bool a = inside(before.where, r, c), b = inside(m.where, r, c);
                        both += a && b;
                        either += a || b;
                    }
                taken = taken && both <= largest * either;
            }
            if (taken && expected.size() < 9) expected.push_back(m);
        }
        EXPECT_EQ(best_windows(h, grids, target, histogram_distance::l1, 9, 0, largest), expected) << largest;
    }
    EXPECT_EQ(message_of([&] { best_windows(h, grids, target, histogram_distance::l1, 1, 0, 1.5); }),
              "largest_overlap: is 1.5, must be 0 to 1");
}

TEST(best_windows, mistakes_are_named) {
    const std::vector<std::uint8_t> pixels(6 * 8, 1);
    const auto h =
        integral_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 6, 8), binning::indices(2));
    const std::vector<window_grid> grids{{.rows = 2, .cols = 2}}, none, too_large{{.rows = 7, .cols = 2}};
    const auto search = [&](std::span<const window_grid> g, std::vector<double> target, std::int64_t count) {
        return message_of([&] { best_windows(h, g, target, histogram_distance::l1, count); });
    };
    EXPECT_NE(search(grids, {1, 1}, 0).find("count: is 0"), std::string::npos);
    EXPECT_NE(search(none, {1, 1}, 1).find("grids"), std::string::npos);
    EXPECT_NE(search(grids, {1}, 1).find("target: has 1 bins, but the histograms have 2"), std::string::npos);
    EXPECT_NE(search(grids, {1, -1e-9}, 1).find("target: bin 1 is -1e-09, must"), std::string::npos);
    EXPECT_NE(search(grids, {1e308, 1e308}, 1).find("target: its bins add up to inf"), std::string::npos);
    EXPECT_NE(search(grids, {0, 1e-310}, 1).find("target: its bins add up to 1e-310"), std::string::npos);
    const std::vector<double> target{1, 1};
    constexpr auto no_distance = static_cast<histogram_distance>(77);
    EXPECT_EQ(message_of([&] { best_windows(h, grids, target, no_distance, 1); }),
              "distance: is 77, not a histogram_distance");
    EXPECT_EQ(message_of([&] { distance_between(no_distance, target, target); }),
              "distance: is 77, not a histogram_distance");
    EXPECT_EQ(name_of(no_distance), "");
    EXPECT_TRUE(best_windows(h, too_large, target, histogram_distance::l1, 3).empty());
}

}  // namespace
}  // namespace boxsum
