// What detectors compute from tables, each beside its definition over pixels: Haar-like features with the variance of
// their window (Viola and Jones 2001), normalised cross-correlation (Lewis 1995), moments, and histograms of oriented
// gradients, dense ones (Dalal and Triggs 2005; Porikli 2005). Chen et al. 2018, section I, names them as uses.

#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::int64_t rows = 60, cols = 80, side = 12;

std::size_t at(std::int64_t r, std::int64_t c) {
    return static_cast<std::size_t>(r * cols + c);
}

/// The sum of value(row, column) over a box.
template <typename Value>
auto sum_over(const boxsum::box& b, const Value& value) {
    decltype(value(0, 0)) sum{};
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c) sum += value(r, c);
    return sum;
}

/// Calls f(box) for every window of side x side; the number of those for which it says that something is wrong.
template <typename F>
int wrong_windows(const F& is_wrong) {
    int wrong = 0;
    for (std::int64_t r = 0; r + side <= rows; ++r)
        for (std::int64_t c = 0; c + side <= cols; ++c) wrong += is_wrong(boxsum::box{r, c, side, side}) ? 1 : 0;
    return wrong;
}

bool differ(double a, double b) {
    return std::abs(a - b) > 1e-9 * (1 + std::abs(b));
}

}  // namespace

int main() {
    std::vector<std::uint8_t> pixels(rows * cols);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::uint8_t>((i * 7919 + i * i / 37) % 251);
    const boxsum::image_view<const std::uint8_t> image(pixels.data(), rows, cols);
    const auto pixel = [&](std::int64_t r, std::int64_t c) { return std::int64_t{pixels[at(r, c)]}; };

    // [haar]
    // Upper half less lower half, over the deviation of the window.
    const auto moments = boxsum::sat_squares<std::uint32_t, std::uint64_t>(image);
    const auto feature = [&](const boxsum::box& w) {
        const boxsum::box upper{w.row, w.col, w.rows / 2, w.cols}, lower{w.row + w.rows / 2, w.col, w.rows / 2, w.cols};
        const double difference = static_cast<double>(box_sum(moments.sums, upper)) - box_sum(moments.sums, lower);
        return difference / std::sqrt(boxsum::box_variance(moments, w));
    };
    // [haar]
    const int haar = wrong_windows([&](const boxsum::box& w) {
        const double n = side * side, mean = static_cast<double>(sum_over(w, pixel)) / n;
        const double variance =
            sum_over(w, [&](auto r, auto c) { return std::pow(double(pixel(r, c)) - mean, 2); }) / n;
        const auto difference =
            sum_over(w, [&](auto r, auto c) { return r < w.row + side / 2 ? pixel(r, c) : -pixel(r, c); });
        return differ(feature(w), static_cast<double>(difference) / std::sqrt(variance));
    });

    // [correlation]
    // Of a template: products pixel by pixel, all else from the two tables.
    const boxsum::box piece{20, 30, side, side};
    const double n = side * side, t_mean = boxsum::box_mean(moments.sums, piece);
    const double t_deviation = std::sqrt(boxsum::box_variance(moments, piece));
    const auto correlation = [&](const boxsum::box& w) {
        const auto products = sum_over(w, [&](std::int64_t r, std::int64_t c) {
            return pixel(r, c) * pixel(piece.row + r - w.row, piece.col + c - w.col);
        });
        const double covariance = static_cast<double>(products) / n - boxsum::box_mean(moments.sums, w) * t_mean;
        return covariance / (t_deviation * std::sqrt(boxsum::box_variance(moments, w)));
    };
    // [correlation]
    const int matching = wrong_windows([&](const boxsum::box& w) {
        const double mean = static_cast<double>(sum_over(w, pixel)) / n;
        double above = 0, left = 0, right = 0;
        for (std::int64_t r = 0; r < side; ++r)
            for (std::int64_t c = 0; c < side; ++c) {
                const double a = static_cast<double>(pixel(w.row + r, w.col + c)) - mean;
                const double b = static_cast<double>(pixel(piece.row + r, piece.col + c)) - t_mean;
                above += a * b;
                left += a * a;
                right += b * b;
            }
        return differ(correlation(w), above / std::sqrt(left * right));
    });

    // [moments]
    // Tables of r I and of c I: where the mass of a window is.
    std::vector<std::uint32_t> times_row(pixels.size()), times_col(pixels.size());
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            times_row[at(r, c)] = static_cast<std::uint32_t>(r * pixel(r, c));
            times_col[at(r, c)] = static_cast<std::uint32_t>(c * pixel(r, c));
        }
    using weighted = boxsum::image_view<const std::uint32_t>;
    const auto of_rows = boxsum::sat<std::uint64_t>(weighted(times_row.data(), rows, cols));
    const auto of_cols = boxsum::sat<std::uint64_t>(weighted(times_col.data(), rows, cols));
    // [moments]
    const int masses = wrong_windows([&](const boxsum::box& w) {
        const auto down = sum_over(w, [&](std::int64_t r, std::int64_t c) { return r * pixel(r, c); });
        const auto across = sum_over(w, [&](std::int64_t r, std::int64_t c) { return c * pixel(r, c); });
        return static_cast<std::int64_t>(box_sum(of_rows, w)) != down ||
               static_cast<std::int64_t>(box_sum(of_cols, w)) != across;
    });

    // [gradients]
    // Directions of gradients in 9 bins, each pixel with its gradient's size (here in whole numbers, so sums are
    // exact).
    std::vector<float> direction(pixels.size()), size(pixels.size());
    for (std::int64_t r = 1; r + 1 < rows; ++r)
        for (std::int64_t c = 1; c + 1 < cols; ++c) {
            const auto down = static_cast<double>(pixel(r + 1, c) - pixel(r - 1, c));
            const auto across = static_cast<double>(pixel(r, c + 1) - pixel(r, c - 1));
            const double angle = std::atan2(down, across) * 180 / 3.14159265358979323846;
            direction[at(r, c)] = static_cast<float>(angle < 0 ? angle + 180 : angle >= 180 ? 0 : angle);
            size[at(r, c)] = static_cast<float>(std::round(std::hypot(down, across)));
        }
    using plane = boxsum::image_view<const float>;
    const auto bins = boxsum::binning::uniform(9, 0, 180);
    const auto gradients = boxsum::integral_histogram<float>(
        boxsum::histogram_inputs{plane(direction.data(), rows, cols), plane(size.data(), rows, cols)}, bins);
    // [gradients]
    const int oriented = wrong_windows([&](const boxsum::box& w) {
        std::vector<float> expected(9);
        sum_over(w, [&](std::int64_t r, std::int64_t c) {
            expected[static_cast<std::size_t>(direction[at(r, c)] / 20)] += size[at(r, c)];
            return 0;
        });
        return boxsum::box_histogram(gradients, w) != expected;
    });

    std::printf("of %d windows wrong: Haar %d, correlation %d, moments %d, gradients %d\n",
                wrong_windows([](const boxsum::box&) { return true; }), haar, matching, masses, oriented);
    return haar + matching + masses + oriented == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
