// The same mistake gives the same class of exception, wherever it is made (docs/concepts.md, Errors).

#include <boxsum/boxsum.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace boxsum {
namespace {

class error_classes : public testing::Test {
  protected:
    static constexpr std::int64_t rows = 6, cols = 8;

    /// A view of that type of enough memory.
    any_view of(dtype type, std::int64_t channels = 1) {
        const std::int64_t pixel = static_cast<std::int64_t>(size_of(type)) * channels;
        std::vector<double>& memory = memory_.emplace_back(static_cast<std::size_t>(rows * cols * channels), -1.0);
        return {memory.data(), {type, 1, rows, cols, channels, pixel * cols, pixel * cols * rows}};
    }

    static const_any_table_view table_of(const any_view& v) { return {v, table_layout::inclusive}; }

    static const_any_histogram_view histograms_of(dtype type, table_layout layout) {
        static const std::array<double, 9 * 12 * 4> zeros{};
        const std::int64_t row = 12 * static_cast<std::int64_t>(size_of(type));
        return {{zeros.data(), {type, 1, 4, 9, 12, row, 9 * row, 36 * row}}, layout};
    }

    bool nothing_written() const {
        for (const auto& memory : memory_)
            for (const double x : memory)
                if (x != -1.0) return false;
        return true;
    }

  private:
    std::vector<std::vector<double>> memory_;
};

constexpr std::array boxes{box{0, 0, 2, 2}};

TEST_F(error_classes, types_that_a_function_does_not_take_are_unsupported) {
    const any_view bytes = of(dtype::u8), narrow = of(dtype::u16), wide = of(dtype::u64), sums = of(dtype::u32);
    EXPECT_THROW(sat({bytes}, {.sums = {narrow}}), unsupported);
    EXPECT_THROW(box_filter({wide}, {bytes}), unsupported);
    EXPECT_THROW(box_filter({bytes}, {narrow}), unsupported);
    EXPECT_THROW(
        integral_histogram({wide}, binning::uniform(4, 0, 256), {histogram_table<std::uint32_t>(4, rows, cols)}),
        unsupported);
    std::array<double, 1> means{};
    std::array<scalar, 1> scalars{};
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16, dtype::f16}) {
        const any_view wrong = of(type);
        EXPECT_THROW(box_sums(table_of(wrong), boxes, scalars), unsupported) << name_of(type);
        EXPECT_THROW(box_means(table_of(wrong), boxes, means), unsupported) << name_of(type);
        EXPECT_THROW(box_variances({table_of(sums), table_of(wrong)}, boxes, means), unsupported) << name_of(type);
        EXPECT_THROW(window_sums(table_of(wrong), wrong), unsupported) << name_of(type);
        EXPECT_THROW(window_means(table_of(wrong), of(dtype::f32)), unsupported) << name_of(type);
        EXPECT_THROW(window_means(table_of(sums), wrong), unsupported) << name_of(type);
    }
    const std::array grids{window_grid{.rows = 2, .cols = 2}};
    const std::array target{1.0, 1.0, 1.0, 1.0};
    for (const auto& wrong :
         {histograms_of(dtype::f64, table_layout::padded), histograms_of(dtype::u32, table_layout::exclusive)}) {
        std::array<std::uint32_t, 4> counts{};
        EXPECT_THROW((box_histograms<std::uint32_t>(wrong, boxes, counts)), unsupported);
        EXPECT_THROW((void)best_windows(wrong, grids, target, histogram_distance::l1, 1), unsupported);
    }
    EXPECT_TRUE(nothing_written());
}

TEST_F(error_classes, arguments_that_do_not_go_together_are_invalid) {
    const any_view bytes = of(dtype::u8), sums = of(dtype::u32), other = of(dtype::s32);
    EXPECT_THROW(window_sums(table_of(sums), other), invalid_argument);
    EXPECT_THROW(window_means(table_of(sums), sums), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {bytes}), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {of(dtype::u8, 2)}), invalid_argument);
    EXPECT_THROW(sat({bytes}, {.sums = {of(dtype::u32, 2)}}), invalid_argument);
    std::array<float, 4> counts{};
    EXPECT_THROW((box_histograms<float>(histograms_of(dtype::u32, table_layout::padded), boxes, counts)),
                 invalid_argument);
    std::array<double, 2> two{};
    EXPECT_THROW(box_means(table_of(sums), boxes, two), invalid_argument);
    EXPECT_TRUE(nothing_written());
}

TEST_F(error_classes, values_that_are_no_enumerators_and_negative_numbers_are_invalid) {
    const any_view bytes = of(dtype::u8), result = of(dtype::u8), sums = of(dtype::u32);
    any_view typeless = of(dtype::u8);
    typeless.shape.type = static_cast<dtype>(77);
    EXPECT_THROW(box_filter({typeless}, {result}), invalid_argument);
    EXPECT_THROW(sat({typeless}, {.sums = {sums}}), invalid_argument);
    EXPECT_THROW(window_means(table_of(sums), typeless), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {result}, {.border = static_cast<border_mode>(9)}), invalid_argument);
    EXPECT_THROW(sat({bytes}, {.sums = {sums, static_cast<table_layout>(9)}}), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {result}, {.rounding = static_cast<rounding_mode>(9)}), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {result}, {.nan = static_cast<nan_mode>(9)}), invalid_argument);
    EXPECT_THROW(adaptive_threshold({bytes}, {result}, {.method = static_cast<threshold_method>(9)}), invalid_argument);
    EXPECT_THROW(adaptive_threshold({bytes}, {result}, {.output = static_cast<threshold_output>(9)}), invalid_argument);
    EXPECT_THROW(sat({bytes}, {.sums = {sums}}, {.store = static_cast<store_policy>(9)}), invalid_argument);
    EXPECT_THROW(verify(*find_algorithm(operation::sat, "simd"), static_cast<verification_cases>(9)), invalid_argument);
    EXPECT_THROW(blob_scales(1, 2, 3, static_cast<scale_steps>(9)), invalid_argument);
    EXPECT_THROW(box_filter({bytes}, {result}, {.threads = -1}), invalid_argument);
    EXPECT_THROW(sat({bytes}, {.sums = {sums}}, {.threads = -1}), invalid_argument);
    EXPECT_THROW(window_sums(table_of(sums), of(dtype::u32), {.threads = -1}), invalid_argument);
    EXPECT_TRUE(nothing_written());
}

}  // namespace
}  // namespace boxsum
