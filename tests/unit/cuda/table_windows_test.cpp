// Windows of tables on the device: the bits of the host's, and sums over the pixels themselves.

#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"

#include <boxsum/cuda/window_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

__extension__ using wide = __int128;

class table_windows : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    table_windows() : random_blocks(41) {}

    window random_window() {
        switch (pick(6)) {
            case 0:
                return 1 + pick(9);
            case 1:
                return {1 + pick(60), 1 + pick(3)};
            case 2:
                return window_extents{.above = pick(5), .right = pick(40)};
            case 3:
                return window_extents{.below = pick(9), .left = INT64_MAX};
            case 4:
                return window_extents{INT64_MAX, INT64_MAX, pick(3), INT64_MAX};
            default:
                return window_radius(pick(7), pick(20));
        }
    }

    /// Any pixels whose sums of squares are exact in the type of squares; floats are integers, or any with `rounded`.
    template <typename T>
    void fill(const block<T>& image, bool rounded) {
        image.for_each([&](auto, auto, auto, auto, T& x) {
            if constexpr (std::is_floating_point_v<T>)
                x = static_cast<T>(rounded ? 1e4 * std::sin(static_cast<double>(pick(1000)))
                                           : static_cast<double>(pick(200)) - 100);
            else
                x = static_cast<T>(pick(3) == 0 ? std::int64_t{std::numeric_limits<T>::max()}
                                                : static_cast<std::int64_t>(random_()));
        });
    }

    /// In the type of sums, which wrap; 64f of small integers adds them exactly.
    template <typename T, typename Sum>
    static void expect_sums(const block<T>& image, const block<Sum>& sums, const window& w) {
        const std::int64_t rows = image.view().rows(), cols = image.view().cols();
        sums.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Sum& found) {
            using exact = std::conditional_t<std::is_integral_v<Sum>, wide, double>;
            exact sum = 0;
            for (std::int64_t y = 0; y < rows; ++y)
                for (std::int64_t x = 0; x < cols; ++x)
                    if (r - y <= w.above && y - r <= w.below && c - x <= w.left && x - c <= w.right)
                        sum += static_cast<exact>(image.view()(y, x, k, plane));
            ASSERT_EQ(found, static_cast<Sum>(sum)) << r << ", " << c;
        });
    }

    template <typename T, typename Sum, typename Square, typename Real>
    void compare(int calls, bool rounded = false) {
        for (int i = 0; i < calls && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(21), cols = 1 + (i % 7 == 3 ? 290 : pick(40)), channels = 1 + i % 4,
                               planes = 1 + pick(3);
            table_form form = i % 3 == 0 ? table_layout::inclusive : table_layout::padded;
            std::vector<double> offsets(static_cast<std::size_t>(channels * planes));
            for (double& x : offsets) x = static_cast<double>(pick(90));
            if (std::is_floating_point_v<Sum>) {  // exact tables take neither
                if (i % 5 == 1) form.offset = 7;
                if (i % 5 == 2) form.offsets = offsets.data();
                if (i % 3 != 0 && i % 2 == 0) form.origin = {pick(rows + 1), pick(cols + 1)};
            }
            const auto image = random_block<T>(rows, cols, channels, planes);
            fill(image, rounded);
            const std::int64_t table_rows = form.table_extent(rows), table_cols = form.table_extent(cols);
            const auto table = random_block<Sum>(table_rows, table_cols, channels, planes);
            const auto squares = random_block<Square>(table_rows, table_cols, channels, planes);
            sat({image.view()}, {.sums = {table.view(), form}, .squares = {squares.view(), form}});
            const auto sums = random_block<Sum>(rows, cols, channels, planes);
            const auto means = random_block<Real>(rows, cols, channels, planes);
            const auto variances = random_block<Real>(rows, cols, channels, planes);
            const device_block d_table(table, stream()), d_sums(sums, stream());
            const device_block d_squares(squares, stream());
            const device_block d_means(means, stream()), d_variances(variances, stream());
            const window_query_options how{.window = random_window()};
            SCOPED_TRACE("call " + std::to_string(i) + ": " + std::to_string(planes) + " x " + std::to_string(rows) +
                         " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", table with " +
                         test::text_of(table.view().shape()) + ", window " + std::to_string(how.window.above) + ", " +
                         std::to_string(how.window.below) + ", " + std::to_string(how.window.left) + ", " +
                         std::to_string(how.window.right));
            cuda::window_sums_async({d_table.view(), form}, d_sums.view(), stream(), how);
            cuda::window_means_async({d_table.view(), form}, d_means.view(), stream(), how);
            cuda::window_variances({{d_table.view(), form}, {d_squares.view(), form}}, d_variances.view(), stream(),
                                   how);
            window_sums({table.view(), form}, sums.view(), how);
            window_means({table.view(), form}, means.view(), how);
            window_variances({{table.view(), form}, {squares.view(), form}}, variances.view(), how);
            EXPECT_TRUE(d_sums.equals_host()) << "sums";
            EXPECT_TRUE(d_means.equals_host()) << "means";
            EXPECT_TRUE(d_variances.equals_host()) << "variances";
            EXPECT_TRUE(d_table.equals_host() && d_squares.equals_host()) << "a table was written";
            if (!rounded && cols < 100) expect_sums(image, sums, how.window);
        }
    }
};

TEST_F(table_windows, of_integers_are_the_hosts) {
    compare<std::uint8_t, std::uint32_t, std::uint64_t, float>(30);
    compare<std::uint8_t, std::uint32_t, std::uint32_t, double>(20);
    compare<std::uint8_t, std::uint64_t, std::uint64_t, double>(15);
    compare<std::uint16_t, std::uint32_t, std::uint64_t, float>(15);
    compare<std::uint16_t, std::uint64_t, std::uint64_t, float>(15);
}

TEST_F(table_windows, of_floats_are_the_hosts) {
    compare<std::uint8_t, std::int32_t, double, float>(15);
    compare<float, double, double, float>(20);
    compare<float, float, float, float>(20, true);
    compare<float, float, double, double>(20, true);
    compare<double, double, double, double>(20, true);
}

/// Tables of any bits are as good as those of images: sums that wrap, squares beyond what 128 bits of products hold.
TEST_F(table_windows, of_any_integers_are_the_hosts) {
    const auto check = [&]<typename Sum, typename Square>(Sum, Square) {
        for (int i = 0; i < 10; ++i) {
            const std::int64_t rows = 1 + pick(30), cols = 1 + pick(40), channels = 1 + pick(4), planes = 1 + pick(2);
            const auto table = random_block<Sum>(rows, cols, channels, planes);
            const auto squares = random_block<Square>(rows, cols, channels, planes);
            const table_form form(table_layout::inclusive, {}, std::is_signed_v<Sum> && i % 2 == 0 ? -12345.0 : 0);
            table.for_each([&](auto, auto, auto, auto, Sum& x) { x = static_cast<Sum>(random_()); });
            squares.for_each([&](auto, auto, auto, auto, Square& x) { x = static_cast<Square>(random_()); });
            const auto sums = random_block<Sum>(rows, cols, channels, planes);
            const auto means = random_block<float>(rows, cols, channels, planes);
            const auto variances = random_block<double>(rows, cols, channels, planes);
            const device_block d_table(table, stream()), d_sums(sums, stream());
            const device_block d_squares(squares, stream());
            const device_block d_means(means, stream());
            const device_block d_variances(variances, stream());
            const window_query_options how{.window = random_window()};
            cuda::window_sums({d_table.view(), form}, d_sums.view(), stream(), how);
            cuda::window_means({d_table.view(), form}, d_means.view(), stream(), how);
            cuda::window_variances_async({{d_table.view(), form}, {d_squares.view(), form}}, d_variances.view(),
                                         stream(), how);
            window_sums({table.view(), form}, sums.view(), how);
            window_means({table.view(), form}, means.view(), how);
            window_variances({{table.view(), form}, {squares.view(), form}}, variances.view(), how);
            EXPECT_TRUE(d_sums.equals_host() && d_means.equals_host() && d_variances.equals_host())
                << name_of(dtype_of<Sum>) << ", " << name_of(dtype_of<Square>);
        }
    };
    check(std::int32_t{}, std::uint64_t{});
    check(std::int64_t{}, std::int64_t{});
    check(std::uint64_t{}, std::uint32_t{});
    check(std::uint32_t{}, std::int32_t{});
}

/// More rows of blocks than a grid has.
TEST_F(table_windows, many_planes) {
    const std::int64_t planes = 70001;
    const block<std::uint32_t> table(2, 3, 1, planes, lying::row_major, random_);
    table.for_each([&](auto, auto, auto, auto, std::uint32_t& x) { x = static_cast<std::uint32_t>(random_()); });
    const block<std::uint32_t> sums(2, 3, 1, planes, lying::row_major, random_);
    const device_block d_table(table, stream()), d_sums(sums, stream());
    cuda::window_sums({d_table.view()}, d_sums.view(), stream(), {.window = 3});
    window_sums({table.view()}, sums.view(), {.window = 3});
    EXPECT_TRUE(d_sums.equals_host());
}

TEST_F(table_windows, wrong_arguments_are_named_and_nothing_is_written) {
    const block<std::uint32_t> table(9, 11, 1, 1, lying::row_major, random_);
    const block<float> means(9, 11, 1, 1, lying::row_major, random_);
    const device_block d_table(table, stream());
    const device_block d_means(means, stream());
    const auto averaged = [&](const const_any_table_view& t, const any_view& out,
                              const window_query_options& how = {}) {
        cuda::window_means_async(t, out, stream(), how);
    };
    EXPECT_COMPLAINT(averaged({table.view()}, d_means.view()), "table: is host memory");
    EXPECT_COMPLAINT(averaged({d_table.view()}, means.view()), "means: is host memory");
    EXPECT_COMPLAINT(averaged({d_table.view(), table_layout::padded}, d_means.view()), "means: rows is 9, but that");
    EXPECT_COMPLAINT(averaged({d_table.view()}, d_means.view(), {.window = window_extents{.below = -4}}),
                     "window: below is -4");
    EXPECT_COMPLAINT(averaged({d_table.view()}, d_means.view(), {.threads = -1}), "threads: is -1");
    EXPECT_COMPLAINT(cuda::window_sums_async({d_table.view()}, d_means.view(), stream()), "sums: type is 32f");
    EXPECT_COMPLAINT(cuda::window_sums_async({d_table.view()}, d_table.view(), stream()), "sums: overlaps table");
    EXPECT_COMPLAINT(cuda::window_variances_async({{d_table.view()}, {table.view()}}, d_means.view(), stream()),
                     "squares: is host memory");
    EXPECT_THROW(averaged({d_table.view(), table_layout::exclusive}, d_means.view()), unsupported);
    EXPECT_TRUE(d_means.equals_host() && d_table.equals_host());
}

}  // namespace
}  // namespace boxsum
