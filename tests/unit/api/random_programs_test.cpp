// Random programs of the public API on the CPU.

#include "support/random_programs.hpp"

#include <exception>
#include <span>

namespace boxsum {
namespace {

struct host_functions {
    static constexpr std::int64_t most_extent = 300;

    template <typename T>
    static const test::block<T>& upload(const test::block<T>& b) {
        return b;
    }
    template <typename T>
    static void download(const test::block<T>&) {}

    static void sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) {
        boxsum::sat(inputs, outputs, options);
    }
    static void window_sums(const const_any_table_view& table, const any_view& sums,
                            const window_query_options& options) {
        boxsum::window_sums(table, sums, options);
    }

    template <typename T>
    static std::vector<T> box_sums(const table_view<const T>& table, const std::vector<box>& boxes,
                                   std::int64_t channel, std::int64_t plane) {
        std::vector<scalar> of_any(boxes.size());
        boxsum::box_sums(table, boxes, of_any, channel, plane);
        std::vector<T> sums;
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            sums.push_back(box_sum(table, boxes[i], channel, plane));
            EXPECT_EQ(of_any[i].to_double(), static_cast<double>(sums[i]));
        }
        return sums;
    }
    template <typename T>
    static std::vector<double> box_means(const table_view<const T>& table, const std::vector<box>& boxes,
                                         std::int64_t channel, std::int64_t plane) {
        std::vector<double> means(boxes.size());
        boxsum::box_means(table, boxes, std::span(means), channel, plane);
        for (std::size_t i = 0; i < boxes.size(); ++i) EXPECT_EQ(box_mean(table, boxes[i], channel, plane), means[i]);
        return means;
    }
    template <typename T>
    static void expect_no_answer(const table_view<const T>& table, const box& b) {
        EXPECT_THROW((void)box_sum(table, b), std::exception);
    }
};

template <typename Pixel, typename Entry, typename Square = void>
void run_programs() {
    host_functions host;
    test::run_programs<Pixel, Entry, Square>(host, 60);
}

TEST(random_programs_of_the_api, of_bytes) {
    run_programs<std::uint8_t, std::uint32_t, std::uint64_t>();
    run_programs<std::uint8_t, std::uint64_t>();
    run_programs<std::uint8_t, double>();
}

TEST(random_programs_of_the_api, of_words) {
    run_programs<std::uint16_t, std::uint64_t, std::uint64_t>();
    run_programs<std::int16_t, std::int64_t>();
    run_programs<std::uint32_t, std::uint32_t>();
}

TEST(random_programs_of_the_api, of_floats) {
    run_programs<float, float>();
    run_programs<float, double, double>();
    run_programs<double, double>();
}

}  // namespace
}  // namespace boxsum
