#include "measure/host_data.hpp"
#include "measure/rounds.hpp"
#include "measure/statistics.hpp"
#include "sat/host_tables.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace boxsum::bench {
namespace {

TEST(statistics, quartiles_are_interpolated) {
    const spread odd = spread_of({5, 1, 3});
    EXPECT_EQ(odd.median, 3);
    EXPECT_EQ(odd.low, 2);
    EXPECT_EQ(odd.high, 4);
    EXPECT_EQ(odd.samples, 3);
    const spread even = spread_of({4, 1, 2, 3});
    EXPECT_DOUBLE_EQ(even.median, 2.5);
    EXPECT_DOUBLE_EQ(even.low, 1.75);
    EXPECT_DOUBLE_EQ(even.high, 3.25);
    EXPECT_EQ(spread_of({7}).median, 7);
}

TEST(statistics, nothing_and_no_numbers_are_refused) {
    EXPECT_THROW((void)spread_of({}), invalid_argument);
    EXPECT_THROW((void)spread_of({1, std::numeric_limits<double>::quiet_NaN()}), invalid_argument);
}

TEST(rounds, contestants_take_turns_and_the_first_round_does_not_count) {
    std::string order;
    const std::vector<contestant> two{{"a", [&] { order += 'a'; }, 1}, {"b", [&] { order += 'b'; }, 4}};
    double clock = 1000;  // the round that is not counted
    const std::vector<spread> times = race(two, 3, [&](const std::function<void()>& run) {
        run();
        const double now = clock;
        if (order.size() == 2) clock = 8;
        return now;
    });
    EXPECT_EQ(order, "abababab");
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[0].median, 8);
    EXPECT_EQ(times[1].median, 2);  // four computations a call
    EXPECT_EQ(times[0].samples, 3);
    EXPECT_THROW((void)race(two, 0, host_us), invalid_argument);
}

TEST(rounds, times_keep_their_round) {
    const std::vector<contestant> two{{"a", [] {}, 1}, {"b", [] {}, 2}};
    double clock = -2;  // the round that is not counted
    const auto times = times_by_round(two, 3, [&](const std::function<void()>&) { return clock += 2; });
    EXPECT_EQ(times, (std::vector<std::vector<double>>{{4, 8, 12}, {3, 5, 7}}));
}

TEST(rounds, what_opens_a_turn_is_not_timed) {
    std::string order;
    const std::vector<contestant> one{{"a", [&] { order += 'a'; }, 1, [&] { order += 'b'; }}};
    (void)race(one, 2, [&](const std::function<void()>& run) {
        EXPECT_EQ(order.back(), 'b');
        run();
        return 1.0;
    });
    EXPECT_EQ(order, "bababa");
}

TEST(rounds, a_round_is_filled_with_computations) {
    EXPECT_EQ(computations_for(1000, 4), 4);
    EXPECT_EQ(computations_for(9000, 4), 1);
    EXPECT_EQ(computations_for(0, 4, 100), 100);
}

TEST(host_data, random_fill_reaches_the_last_byte_and_repeats) {
    std::vector<std::uint8_t> a(13, 0), b(13, 1), c(13, 0);
    fill_random(a.data(), dtype::u8, 13);
    fill_random(b.data(), dtype::u8, 13);
    fill_random(c.data(), dtype::u8, 13, 2);
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
    bool tail = false;
    for (std::uint64_t seed = 1; seed < 8 && !tail; ++seed) {
        fill_random(a.data(), dtype::u8, 13, seed);
        tail = a[12] != 0;
    }
    EXPECT_TRUE(tail);
}

TEST(host_data, tables_compare_by_type) {
    std::vector<float> a{1, 2, 3, 4}, b = a;
    const view_shape shape = aligned_shape(dtype::f32, 2, 2, 1);
    EXPECT_TRUE(same_table({a.data(), shape}, {b.data(), shape}));
    b[3] = std::nextafterf(4, 5);
    EXPECT_TRUE(same_table({a.data(), shape}, {b.data(), shape}));
    b[3] = 4.00001F;
    EXPECT_FALSE(same_table({a.data(), shape}, {b.data(), shape}));
    b[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(same_table({a.data(), shape}, {b.data(), shape}));
    EXPECT_FALSE(same_table({b.data(), shape}, {a.data(), shape}));
}

host_candidate candidate(const std::string& name, std::vector<std::uint32_t>& memory,
                         const std::vector<std::uint32_t>& right, std::function<void()> run) {
    table_row row;
    row.algorithm = name;
    const view_shape shape = aligned_shape(dtype::u32, 2, 2, 1);
    return {row, std::move(run), {memory.data(), shape}, {right.data(), shape}, {{memory.data(), 16}}};
}

TEST(check_and_race, wrong_results_get_no_time) {
    const std::vector<std::uint32_t> right{1, 2, 3, 4};
    std::vector<std::uint32_t> memory = right;  // poisoned before each: nobody inherits a right result
    std::vector<host_candidate> candidates{
        candidate("right", memory, right,
                  [&] {
                      memory = {1, 2, 3, 4};
                  }),
        candidate("off by one", memory, right,
                  [&] {
                      memory = {1, 2, 3, 5};
                  }),
        candidate("does nothing", memory, right, [] {}),
        candidate("throws", memory, right, [] { throw std::runtime_error("no"); }),
    };
    sat_bench_options options;
    options.rounds = 3;
    options.round_ms = 0.001;
    check_and_race(candidates, options);
    EXPECT_EQ(candidates[0].row.check, "equal");
    EXPECT_TRUE(candidates[0].row.us.has_value());
    EXPECT_EQ(candidates[0].row.rounds, 3);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
        EXPECT_TRUE(candidates[i].row.wrong()) << candidates[i].row.algorithm;
        EXPECT_FALSE(candidates[i].row.us.has_value()) << candidates[i].row.algorithm;
    }
}

TEST(measure_on_host, every_candidate_is_right_on_odd_shapes) {
    sat_bench_options options;
    options.rounds = 1;
    options.round_ms = 0.001;
    for (const type_pair types : {type_pair{dtype::u8, dtype::s32},
                                  {dtype::u8, dtype::u32},
                                  {dtype::f32, dtype::f32},
                                  {dtype::f64, dtype::f64}}) {
        sat_case c{types,
                   37,
                   53,
                   {{"simd", ""}, {"reference", ""}, {"fast", ""}},
                   {"opencv-cpu", "serial-cpu"},
                   true,
                   types.table == dtype::u32,
                   {}};
        int timed = 0;
        for (const table_row& row : measure_on_host(c, options, true)) {
            EXPECT_FALSE(row.wrong()) << row.algorithm << ": " << row.check;
            EXPECT_TRUE(row.algorithm != "fast" || !row.note.empty());
            timed += row.us.has_value();
        }
        EXPECT_GE(timed, 3) << name_of(types);
    }
}

}  // namespace
}  // namespace boxsum::bench
