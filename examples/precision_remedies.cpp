// What makes 32f tables of large images more precise, after Hensley et al. 2005: pixels less a constant or their mean,
// tables that grow outwards from the middle of the image, and both; and tables of tiles with sums of 64f at their
// edges. Prints how far means of boxes are from the exact ones: the table of docs/concepts.md.

#include <boxsum/box.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t n = 2048, tile = 64;
using pixels = std::vector<float>;
using box_sum = std::function<double(const boxsum::box&)>;

// Plain loops, so that the digits below are those of every machine.
const boxsum::sat_options plain{.algorithm = "simd", .parameters = "isa=scalar"};

template <typename T>
boxsum::table<T> table_of(const float* image, std::int64_t rows, std::int64_t cols) {
    boxsum::table<T> made(rows, cols, boxsum::table_layout::inclusive);
    boxsum::sat({boxsum::image_view<const float>(image, rows, cols)}, {made}, plain);
    return made;
}

std::uint32_t next(std::uint32_t& state) {
    return (state = state * 1664525 + 1013904223) >> 8;
}

/// Values of 0 to 1 in steps of 2^-16, so that sums in 64f are exact.
pixels make_image(bool gradient) {
    pixels image(n * n);
    std::uint32_t state = 1;
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            const auto noise = static_cast<std::int64_t>(next(state) % 65536);
            const std::int64_t value = gradient ? (r + c) * 15 + noise / 20 : noise;
            image[static_cast<std::size_t>(r * n + c)] = static_cast<float>(value) / 65536;
        }
    return image;
}

/// Reads of one table of pixels less `offset`, which comes back with the box's area.
template <typename T>
box_sum whole(pixels image, double offset) {
    for (float& x : image) x = static_cast<float>(x - offset);
    const auto table = std::make_shared<const boxsum::table<T>>(table_of<T>(image.data(), n, n));
    return [table, offset](const boxsum::box& b) {
        return static_cast<double>(boxsum::box_sum(*table, b)) + offset * static_cast<double>(b.rows * b.cols);
    };
}

/// Four tables, each from the middle of the image to a corner: a box is cut into what each of them has.
box_sum centred(pixels image, double offset) {
    for (float& x : image) x = static_cast<float>(x - offset);
    constexpr std::int64_t half = n / 2;
    std::vector<std::shared_ptr<const boxsum::table<float>>> quarters;
    for (const bool below : {false, true})
        for (const bool right : {false, true}) {
            pixels quarter;
            for (std::int64_t r = 0; r < half; ++r)
                for (std::int64_t c = 0; c < half; ++c)
                    quarter.push_back(image[static_cast<std::size_t>((below ? half + r : half - 1 - r) * n +
                                                                     (right ? half + c : half - 1 - c))]);
            quarters.push_back(
                std::make_shared<const boxsum::table<float>>(table_of<float>(quarter.data(), half, half)));
        }
    return [quarters, offset](const boxsum::box& b) {
        double sum = offset * static_cast<double>(b.rows * b.cols);
        const auto part = [](bool behind, std::int64_t first, std::int64_t count) {  // of an axis, from the middle
            const std::int64_t low =
                behind ? std::max(first - n / 2, std::int64_t{0}) : std::max(n / 2 - first - count, std::int64_t{0});
            const std::int64_t high = behind ? first + count - n / 2 : n / 2 - first;
            return std::pair{low, high - low};
        };
        for (std::size_t k = 0; k < 4; ++k) {
            const auto [row, rows] = part(k / 2 == 1, b.row, b.rows);
            const auto [col, cols] = part(k % 2 == 1, b.col, b.cols);
            if (rows > 0 && cols > 0)
                sum += static_cast<double>(
                    boxsum::box_sum(*quarters[k], {.row = row, .col = col, .rows = rows, .cols = cols}));
        }
        return sum;
    };
}

/// A table of 32f for every tile, and of 64f what lies above and to the left of it: 4 + 2 * 8 / tile bytes a pixel.
box_sum tiles(const pixels& image) {
    constexpr std::int64_t across = n / tile;
    std::vector<float> local(n * n);
    std::vector<double> above(across * n), left(n * across);  // sums of whole columns over a tile, of rows before it
    for (std::int64_t I = 0; I < across; ++I)
        for (std::int64_t J = 0; J < across; ++J) {
            pixels own;
            for (std::int64_t r = 0; r < tile; ++r)
                for (std::int64_t c = 0; c < tile; ++c)
                    own.push_back(image[static_cast<std::size_t>((I * tile + r) * n + J * tile + c)]);
            const auto table = table_of<float>(own.data(), tile, tile);
            for (std::int64_t r = 0; r < tile; ++r)
                for (std::int64_t c = 0; c < tile; ++c)
                    local[static_cast<std::size_t>((I * tile + r) * n + J * tile + c)] = table.view()(r, c);
        }
    const boxsum::table<double> exact = table_of<double>(image.data(), n, n);
    for (std::int64_t I = 0; I < across; ++I)
        for (std::int64_t i = 0; i < n; ++i) {
            above[static_cast<std::size_t>(I * n + i)] = I > 0 ? exact.view()(I * tile - 1, i) : 0;
            left[static_cast<std::size_t>(i * across + I)] = I > 0 ? exact.view()(i, I * tile - 1) : 0;
        }
    return [=](const boxsum::box& b) {
        const auto at = [&](std::int64_t r, std::int64_t c) {
            if (r < 0 || c < 0) return 0.0;
            const std::int64_t I = r / tile, J = c / tile;
            const double corner = I > 0 && J > 0 ? above[static_cast<std::size_t>(I * n + J * tile - 1)] : 0;
            return above[static_cast<std::size_t>(I * n + c)] + left[static_cast<std::size_t>(r * across + J)] -
                   corner + static_cast<double>(local[static_cast<std::size_t>(r * n + c)]);
        };
        const std::int64_t r = b.row + b.rows - 1, c = b.col + b.cols - 1;
        return at(r, c) - at(b.row - 1, c) - at(r, b.col - 1) + at(b.row - 1, b.col - 1);
    };
}

struct error {
    double largest = 0, signal = 0, noise = 0;
};

/// Of the means of boxes at random places.
error error_of(const box_sum& sum, const box_sum& exact, std::int64_t side) {
    error e;
    std::uint32_t state = 7;
    for (int i = 0; i < 2000; ++i) {
        const boxsum::box b{.row = static_cast<std::int64_t>(next(state)) % (n - side + 1),
                            .col = static_cast<std::int64_t>(next(state)) % (n - side + 1),
                            .rows = side,
                            .cols = side};
        const auto area = static_cast<double>(side * side);
        const double right = exact(b) / area, wrong = sum(b) / area - right;
        e.largest = std::max(e.largest, std::fabs(wrong));
        e.signal += right * right;
        e.noise += wrong * wrong;
    }
    return e;
}

}  // namespace

int main() {
    for (const bool gradient : {false, true}) {
        const pixels image = make_image(gradient);
        const double mean = std::accumulate(image.begin(), image.end(), 0.0) / static_cast<double>(n * n);
        const box_sum exact = whole<double>(image, 0);
        std::printf(
            "%s of 2048 x 2048:\n\n| table | bytes a pixel | 1 x 1 | 3 x 3 | 15 x 15 | 101 x 101 | SNR of 3 x 3 |\n"
            "|---|--:|--:|--:|--:|--:|--:|\n",
            gradient ? "A diagonal gradient with 5 % of noise" : "Noise");
        const struct {
            const char *name, *bytes;
            box_sum sum;
        } remedies[] = {{"32f", "4", whole<float>(image, 0)},
                        {"32f, pixels less 0.5", "4", whole<float>(image, 0.5)},
                        {"32f, pixels less their mean", "4", whole<float>(image, mean)},
                        {"32f from the middle", "4", centred(image, 0)},
                        {"32f from the middle, less the mean", "4", centred(image, mean)},
                        {"32f of tiles of 64, edges of 64f", "4.25", tiles(image)},
                        {"64f", "8", exact}};
        for (const auto& [name, bytes, sum] : remedies) {
            std::printf("| %s | %s |", name, bytes);
            for (const std::int64_t side : {1, 3, 15, 101}) std::printf(" %.1e |", error_of(sum, exact, side).largest);
            const error e = error_of(sum, exact, 3);
            if (e.noise > 0)
                std::printf(" %.0f dB |\n", 10 * std::log10(e.signal / e.noise));
            else
                std::printf(" exact |\n");
        }
        std::printf("\n");
    }
}
