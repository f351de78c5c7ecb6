// Errors of tables that store 4 or 8 bytes a pixel, after the table of Hensley et al. 2005, section 4: over sizes of
// the image and of boxes, for what their paper proposes (pixels less an offset, an origin in the middle) and for what
// others do: tables of tiles, two floats for an entry, a value in two channels (Lauritzen, GPU Gems 3, section 8.5.1),
// integers.

#include "precision/run_precision.hpp"

#include <boxsum/box.hpp>
#include <boxsum/sat.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>

namespace boxsum::bench {
namespace {

constexpr const char* footer =
    R"(Prints the largest error of the mean of 2000 boxes at random places, and the ratio of signal to noise, for each kind of
table. What the figures mean, and which kind to take: docs/decisions/precision.md.

Example:
  boxsum bench precision --sizes 512,2k,8k)";

using pixels = std::vector<float>;
using box_mean_of = std::function<double(const box&)>;

// Values are multiples of this, so that sums in 64 bits are exact.
constexpr double unit = 0x1p-20;
constexpr std::int64_t tile = 64;

const sat_options plain_loops{.algorithm = "simd", .parameters = "isa=scalar", .threads = 1};

std::uint32_t next(std::uint32_t& state) {
    return (state = state * 1664525 + 1013904223) >> 8;
}

/// Values of 0 to 1: noise, or a diagonal ramp with 5 % of it.
pixels make_image(bool gradient, std::int64_t n) {
    pixels image(static_cast<std::size_t>(n * n));
    std::uint32_t state = 1;
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            const auto noise = static_cast<std::int64_t>(next(state) % (1 << 20));
            const std::int64_t value = gradient ? (r + c) * 996147 / (2 * n) + noise / 20 : noise;
            image[static_cast<std::size_t>(r * n + c)] = static_cast<float>(static_cast<double>(value) * unit);
        }
    return image;
}

double area(const box& b) {
    return static_cast<double>(b.rows) * static_cast<double>(b.cols);
}

/// A table of the library's in some form.
template <typename T>
box_mean_of library_table(const image_view<const float>& image, const table_form& form) {
    const auto made = std::make_shared<const table<T>>(sat<T>(image, form, plain_loops));
    return [made](const box& b) { return box_mean(*made, b); };
}

/// A mean from four values of a table without a border.
template <typename At>
double mean_from(const box& b, const At& at) {
    const std::int64_t r = b.row + b.rows - 1, c = b.col + b.cols - 1;
    const auto value = [&](std::int64_t row, std::int64_t col) { return row < 0 || col < 0 ? 0 : at(row, col); };
    return (value(r, c) - value(b.row - 1, c) - value(r, b.col - 1) + value(b.row - 1, b.col - 1)) / area(b);
}

/// A table of 32f for every tile, and in 64f the sums above and left of it: 4 + 2 * 8 / tile bytes a pixel.
box_mean_of tiles(const image_view<const float>& image) {
    const std::int64_t n = image.rows(), across = (n + tile - 1) / tile;
    struct tables {
        std::vector<float> local;
        std::vector<double> above, left;  ///< of each row of tiles, of each column of tiles
    };
    const auto made = std::make_shared<tables>();
    made->local.resize(static_cast<std::size_t>(n * n));
    for (std::int64_t r = 0; r < n; r += tile)
        for (std::int64_t c = 0; c < n; c += tile) {
            const std::int64_t rows = std::min(tile, n - r), cols = std::min(tile, n - c);
            const auto stride = static_cast<std::int64_t>(n * 4);
            const image_view<const float> part(&image(r, c), rows, cols, stride);
            const image_view<float> local(&made->local[static_cast<std::size_t>(r * n + c)], rows, cols, stride);
            sat({part}, {table_view<float>(local)}, plain_loops);
        }
    const auto exact = sat<double>(image, table_form{}, plain_loops);
    made->above.resize(static_cast<std::size_t>(across * n));
    made->left.resize(static_cast<std::size_t>(across * n));
    for (std::int64_t k = 1; k < across; ++k)
        for (std::int64_t i = 0; i < n; ++i) {
            made->above[static_cast<std::size_t>(k * n + i)] = exact(k * tile - 1, i);
            made->left[static_cast<std::size_t>(k * n + i)] = exact(i, k * tile - 1);
        }
    return [made, n](const box& b) {
        return mean_from(b, [&](std::int64_t r, std::int64_t c) {
            const std::int64_t i = r / tile, j = c / tile;
            const double corner = j > 0 ? made->above[static_cast<std::size_t>(i * n + j * tile - 1)] : 0;
            return made->above[static_cast<std::size_t>(i * n + c)] +
                   (made->left[static_cast<std::size_t>(j * n + r)] - corner) +
                   static_cast<double>(made->local[static_cast<std::size_t>(r * n + c)]);
        });
    };
}

/// Sums in 64f, stored as a float and the float that is nearest to what it leaves.
box_mean_of two_floats(const image_view<const float>& image) {
    const std::int64_t n = image.rows();
    const auto exact = sat<double>(image, table_form{}, plain_loops);
    const auto made = std::make_shared<std::vector<std::array<float, 2>>>(static_cast<std::size_t>(n * n));
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            const auto high = static_cast<float>(exact(r, c));
            (*made)[static_cast<std::size_t>(r * n + c)] = {
                high, static_cast<float>(exact(r, c) - static_cast<double>(high))};
        }
    return [made, n](const box& b) {
        return mean_from(b, [&](std::int64_t r, std::int64_t c) {
            const auto& [high, low] = (*made)[static_cast<std::size_t>(r * n + c)];
            return static_cast<double>(high) + static_cast<double>(low);
        });
    };
}

/// Every value split into 8 bits and the rest, 256 times as large, and a 32f table of each.
box_mean_of two_channels(const image_view<const float>& image) {
    const std::int64_t n = image.rows();
    pixels split(static_cast<std::size_t>(2 * n * n));
    for (std::int64_t i = 0; i < n * n; ++i) {
        const float scaled = image.data()[i] * 256, whole = std::floor(scaled);
        split[static_cast<std::size_t>(2 * i)] = whole / 256;
        split[static_cast<std::size_t>(2 * i + 1)] = scaled - whole;
    }
    const auto made = std::make_shared<const table<float>>(
        sat<float>(image_view<const float>(split.data(), n, n, 0, 2), table_form{}, plain_loops));
    return [made](const box& b) { return box_mean(*made, b, 0) + box_mean(*made, b, 1) / 256; };
}

/// Integers of 16 bits of fraction in 32 bits that wrap.
box_mean_of fixed_point(const image_view<const float>& image) {
    const std::int64_t n = image.rows();
    std::vector<std::uint32_t> rounded(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n * n; ++i)
        rounded[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(image.data()[i] * 65536 + 0.5F);
    const auto made = std::make_shared<const table<std::uint32_t>>(
        sat<std::uint32_t>(image_view<const std::uint32_t>(rounded.data(), n, n), table_form{}, plain_loops));
    return [made](const box& b) { return box_mean(*made, b) / 65536; };
}

struct kind {
    const char *name, *bytes;
    std::function<box_mean_of(const image_view<const float>&)> make;
};

const std::vector<kind>& kinds() {
    using view = image_view<const float>;
    const auto middle = [](const view& v) { return table_origin{v.rows() / 2, v.cols() / 2}; };
    const auto mean = [](const view& v) { return image_means(v)[0]; };
    constexpr auto padded = table_layout::padded;
    static const std::vector<kind> all{
        {"32f", "4", [](const view& v) { return library_table<float>(v, padded); }},
        {"32f, offset 0.5", "4",
         [](const view& v) {
             return library_table<float>(v, {padded, {}, 0.5});
         }},
        {"32f, offset the mean", "4",
         [=](const view& v) {
             return library_table<float>(v, {padded, {}, mean(v)});
         }},
        {"32f, origin in the middle", "4",
         [=](const view& v) {
             return library_table<float>(v, {padded, middle(v)});
         }},
        {"32f, both", "4",
         [=](const view& v) {
             return library_table<float>(v, {padded, middle(v), mean(v)});
         }},
        {"32f of tiles of 64, edges of 64f", "4.25", tiles},
        {"32u, 16 bits of fraction, wraps", "4", fixed_point},
        {"two 32f tables, values split", "8", two_channels},
        {"two 32f, sums split", "8", two_floats},
        {"64f", "8", [](const view& v) { return library_table<double>(v, padded); }},
    };
    return all;
}

/// Of the means of boxes at random places: the largest error, and signal to noise.
std::string error_of(const box_mean_of& mean, const table<double>& exact, std::int64_t side) {
    double largest = 0, signal = 0, noise = 0;
    std::uint32_t state = 7;
    const std::int64_t places = exact.image_rows() - side + 1;
    for (int i = 0; i < 2000; ++i) {
        const box b{static_cast<std::int64_t>(next(state)) % places, static_cast<std::int64_t>(next(state)) % places,
                    side, side};
        const double right = box_mean(exact, b), wrong = mean(b) - right;
        largest = std::max(largest, std::fabs(wrong));
        signal += right * right;
        noise += wrong * wrong;
    }
    if (noise == 0) return "exact";
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.0e, %.0f dB", largest, 10 * std::log10(signal / noise));
    return text.data();
}

std::int64_t parse_size(const std::string& text) {
    std::size_t used = 0;
    std::int64_t n = 0;
    try {
        n = std::stoll(text, &used);
    } catch (const std::exception&) {
    }
    if (used + 1 == text.size() && (text.back() == 'k' || text.back() == 'K')) {
        n *= 1024;
        ++used;
    }
    if (used != text.size() || n < 128 || n > 16384)
        throw cli::usage_error("--sizes: '" + text + "' is no edge length of 128 to 16k");
    return n;
}

}  // namespace

const CLI::App* add_precision_command(CLI::App& app, precision_options& options) {
    CLI::App* const command = app.add_subcommand("precision", "Errors of floating tables and of what keeps them small");
    command->footer(footer);
    command->add_option("--sizes", options.sizes, "edge lengths of the image, e.g. 512,2k")
        ->delimiter(',')
        ->capture_default_str();
    return command;
}

cli::exit_code run_precision(const precision_options& options) {
    std::vector<std::int64_t> sizes;
    for (const std::string& text : options.sizes) sizes.push_back(parse_size(text));
    for (const bool gradient : {false, true})
        for (const std::int64_t n : sizes) {
            const pixels values = make_image(gradient, n);
            const image_view<const float> image(values.data(), n, n);
            const auto exact = sat<double>(image, table_layout::padded, plain_loops);
            std::printf(
                "%s of %lld x %lld:\n\n| table | bytes a pixel | 1 x 1 | 3 x 3 | 15 x 15 | 101 x 101 |\n"
                "|---|--:|--:|--:|--:|--:|\n",
                gradient ? "A diagonal gradient with 5 % of noise" : "Noise", static_cast<long long>(n),
                static_cast<long long>(n));
            for (const kind& k : kinds()) {
                const box_mean_of mean = k.make(image);
                std::printf("| %s | %s |", k.name, k.bytes);
                for (const std::int64_t side : {1, 3, 15, 101})
                    std::printf(" %s |", error_of(mean, exact, side).c_str());
                std::printf("\n");
            }
            std::printf("\n");
        }
    return cli::exit_code::done;
}

}  // namespace boxsum::bench
