#include "filters/blob_job.hpp"

#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>

namespace boxsum {
namespace {

constexpr double largest_sigma = 1 << 30;

void check_sigma(const char* argument, double sigma) {
    if (!(sigma >= 1 && sigma <= largest_sigma))
        throw invalid_argument(std::string(argument) + ": is " + text_of(sigma) + ", must be 1 to 2^30");
}

void check_image(const view_shape& s) {
    checked_reach("image", s, access::read);
    if (s.type != dtype::u8 && s.type != dtype::u16 && s.type != dtype::f32 && s.type != dtype::f64)
        throw unsupported("image: type is " + std::string(name_of(s.type)) + ", must be 8u, 16u, 32f or 64f");
    if (s.channels != 1) throw unsupported("image: channels is " + std::to_string(s.channels) + ", must be 1");
    const double largest_pixel = s.type == dtype::u8 ? 255 : 65535;
    if (!is_floating(s.type) && static_cast<double>(s.rows) * static_cast<double>(s.cols) * largest_pixel >= 0x1p53)
        throw unsupported("image: rows x cols are " + std::to_string(s.rows) + " x " + std::to_string(s.cols) +
                          ", whose sums may exceed 2^53");
}

/// Which part of the smaller disk lies in the other. Of radii a and b, in units of the larger one, d apart.
double shared_part(double d, double a, double b) {
    if (d > a + b) return 0;
    if (d <= std::abs(a - b)) return 1;
    const double from_a = std::acos(std::clamp((d * d + a * a - b * b) / (2 * d * a), -1.0, 1.0));
    const double from_b = std::acos(std::clamp((d * d + b * b - a * a) / (2 * d * b), -1.0, 1.0));
    const double triangles = 0.5 * std::sqrt(std::abs((-d + b + a) * (d - b + a) * (d + b - a) * (d + b + a)));
    constexpr double pi = 3.14159265358979323846;
    const double least = std::min(a, b);
    return (a * a * from_a + b * b * from_b - triangles) / (pi * least * least);
}

double shared_part(const blob& a, const blob& b) {
    const double most = std::max(a.sigma, b.sigma), unit = most * std::sqrt(2.0);
    const double y = static_cast<double>(a.row - b.row) / unit, x = static_cast<double>(a.col - b.col) / unit;
    return shared_part(std::sqrt(y * y + x * x), a.sigma / most, b.sigma / most);
}

void prune(std::vector<blob>& blobs, double overlap) {
    if (overlap >= 1 || blobs.size() < 2) return;
    std::vector<std::size_t> by_row(blobs.size());
    for (std::size_t i = 0; i < by_row.size(); ++i) by_row[i] = i;
    std::sort(by_row.begin(), by_row.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(blobs[a].row, a) < std::pair(blobs[b].row, b); });
    double most = 0;
    for (const blob& b : blobs) most = std::max(most, b.sigma);
    constexpr double slightly_more = 1 + 1e-9;  // so that no rounding leaves out what overlaps
    const auto reach = [](double both) { return both * std::sqrt(2.0) * slightly_more; };
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < by_row.size(); ++i)
        for (std::size_t j = i + 1; j < by_row.size(); ++j) {
            const blob &a = blobs[by_row[i]], &b = blobs[by_row[j]];
            const auto y = static_cast<double>(b.row - a.row), x = static_cast<double>(b.col - a.col);
            if (y > reach(a.sigma + most)) break;
            const double far = reach(a.sigma + b.sigma);
            if (y * y + x * x <= far * far && shared_part(a, b) > overlap)
                pairs.emplace_back(std::minmax(by_row[i], by_row[j]));
        }
    std::sort(pairs.begin(), pairs.end());
    std::vector<bool> gone(blobs.size());
    for (const auto& [i, j] : pairs) {
        if (gone[i] || gone[j]) continue;
        gone[blobs[i].sigma > blobs[j].sigma ? j : i] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < blobs.size(); ++i)
        if (!gone[i]) blobs[kept++] = blobs[i];
    blobs.resize(kept);
}

}  // namespace

std::vector<double> blob_scales(double least, double most, int count, scale_steps steps) {
    check_sigma("least", least);
    check_sigma("most", most);
    if (most < least)
        throw invalid_argument("most: is " + text_of(most) + ", must not be below the least, " + text_of(least));
    if (count < 1) throw invalid_argument("count: is " + std::to_string(count) + ", must be at least 1");
    if (steps != scale_steps::linear && steps != scale_steps::logarithmic)
        throw invalid_argument("steps: is " + std::to_string(static_cast<int>(steps)) + ", not a scale_steps");
    std::vector<double> scales(static_cast<std::size_t>(count), least);
    const bool linear = steps == scale_steps::linear;
    const double from = linear ? least : std::log10(least), to = linear ? most : std::log10(most);
    for (int i = 1; i < count; ++i) {
        const double at = from + i * ((to - from) / (count - 1));
        scales[static_cast<std::size_t>(i)] = i == count - 1 ? most : linear ? at : std::pow(10.0, at);
    }
    return scales;
}

namespace filters {

void check_hessian(const view_shape& image, const view_shape& determinant, const hessian_options& options) {
    check_image(image);
    check_sigma("sigma", options.sigma);
    check_threads(options.threads);
    checked_reach("determinant", determinant, access::write);
    if (determinant.type != dtype::f32 && determinant.type != dtype::f64)
        throw unsupported("determinant: type is " + std::string(name_of(determinant.type)) + ", must be 32f or 64f");
    if (determinant.planes != image.planes || determinant.rows != image.rows || determinant.cols != image.cols ||
        determinant.channels != 1)
        throw invalid_argument("determinant: planes x rows x cols x channels are " +
                               std::to_string(determinant.planes) + " x " + std::to_string(determinant.rows) + " x " +
                               std::to_string(determinant.cols) + " x " + std::to_string(determinant.channels) +
                               ", must be the image's");
}

void check_blobs(const view_shape& image, const blob_options& options) {
    check_image(image);
    if (image.planes != 1) throw unsupported("image: planes is " + std::to_string(image.planes) + ", must be 1");
    if (options.sigmas.empty()) throw invalid_argument("sigmas: there are none");
    for (std::size_t i = 0; i < options.sigmas.size(); ++i) {
        check_sigma("sigmas", options.sigmas[i]);
        if (i > 0 && options.sigmas[i] < options.sigmas[i - 1])
            throw invalid_argument("sigmas: " + text_of(options.sigmas[i]) + " follows " +
                                   text_of(options.sigmas[i - 1]) + ", must ascend");
    }
    if (options.threshold && std::isnan(*options.threshold)) throw invalid_argument("threshold: is NaN");
    if (options.relative_threshold && !std::isfinite(*options.relative_threshold))
        throw invalid_argument("relative_threshold: is " + text_of(*options.relative_threshold) + ", must be finite");
    if (!(options.overlap >= 0 && options.overlap <= 1))
        throw invalid_argument("overlap: is " + text_of(options.overlap) + ", must be 0 to 1");
    check_threads(options.threads);
}

double blob_threshold(const blob_options& options) {
    return options.threshold.value_or(-std::numeric_limits<double>::infinity());
}

std::vector<blob> blobs_of(blob_maxima all, const blob_options& options) {
    if (!(all.least < all.most)) return {};
    double above = options.threshold.value_or(all.least);
    if (options.relative_threshold) above = std::max(above, *options.relative_threshold * all.most);
    std::erase_if(all.found, [&](const auto& m) { return !(m.first.determinant > above); });
    std::sort(all.found.begin(), all.found.end(), [](const auto& a, const auto& b) {
        if (a.first.determinant != b.first.determinant) return a.first.determinant > b.first.determinant;
        return std::tuple(a.first.row, a.first.col, a.second) < std::tuple(b.first.row, b.first.col, b.second);
    });
    std::vector<blob> blobs;
    blobs.reserve(all.found.size());
    for (const auto& m : all.found) blobs.push_back(m.first);
    prune(blobs, options.overlap);
    return blobs;
}

}  // namespace filters
}  // namespace boxsum
