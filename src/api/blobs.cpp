#include "core/exhausted_memory.hpp"
#include "core/view_checks.hpp"
#include "cpu/filters/bands.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace boxsum {
namespace {

constexpr double largest_sigma = 1 << 30;

std::string text(double value) {
    return std::to_string(value);
}

void check_sigma(const char* argument, double sigma) {
    if (!(sigma >= 1 && sigma <= largest_sigma))
        throw invalid_argument(std::string(argument) + ": is " + text(sigma) + ", must be 1 to 2^30");
}

void check_image(const const_any_view& image) {
    check_read("image", image);
    const view_shape& s = image.shape;
    if (s.type != dtype::u8 && s.type != dtype::u16 && s.type != dtype::f32 && s.type != dtype::f64)
        throw unsupported("image: type is " + std::string(name_of(s.type)) + ", must be 8u, 16u, 32f or 64f");
    if (s.channels != 1) throw unsupported("image: channels is " + std::to_string(s.channels) + ", must be 1");
    const double largest_pixel = s.type == dtype::u8 ? 255 : 65535;
    if (!is_floating(s.type) && static_cast<double>(s.rows) * static_cast<double>(s.cols) * largest_pixel >= 0x1p53)
        throw unsupported("image: rows x cols are " + std::to_string(s.rows) + " x " + std::to_string(s.cols) +
                          ", whose sums may exceed 2^53");
}

/// An inclusive table of one plane.
class plane_table {
  public:
    plane_table(const const_any_view& image, std::int64_t plane, int threads)
        : sums_(image.shape.rows * image.shape.cols), view_(sums_.data(), image.shape.rows, image.shape.cols) {
        const_any_view one = image;
        one.shape.planes = 1;
        if (image.shape.planes > 1)
            one.data = static_cast<const std::byte*>(image.data) + plane * image.shape.plane_stride;
        sat({one}, {table_view<double>(view_)}, {.threads = threads});
    }
    std::int64_t rows() const { return view_.rows(); }
    std::int64_t cols() const { return view_.cols(); }
    const double* row(std::int64_t r) const { return view_.row(r); }

  private:
    filters::work_buffer<double> sums_;
    image_view<double> view_;
};

/// What a pixel's box is, in rows and columns: of `count` behind the one `from` away.
struct reach {
    std::int64_t from, count;
};

/// Determinants of rows of one scale.
class scale {
  public:
    scale(double sigma, dtype image) {
        const auto n = static_cast<std::int64_t>(3 * sigma);
        const std::int64_t l = n / 3, h = (n - 1) / 2, twice = 2 * l - 1;
        boxes_ = {{{{-l, l}, {-l, l}},
                   {{1, l}, {1, l}},
                   {{1, l}, {-l, l}},
                   {{-l, l}, {1, l}},
                   {{1 - l, twice}, {-h, n}},
                   {{1 - l, twice}, {-(l / 2), l}},
                   {{-h, n}, {1 - l, twice}},
                   {{-(l / 2), l}, {1 - l, twice}}}};
        const auto size = static_cast<double>(n);
        weight_ = 1.0 / size / size;
        const double unit = image == dtype::u8 ? 255 : image == dtype::u16 ? 65535 : 1;
        unit_ = unit * unit;
    }

    /// `work`: eight rows.
    void determinants(double* to, const plane_table& table, std::int64_t r, double* work) const {
        const std::int64_t cols = table.cols();
        std::array<const double*, 8> rows;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            double* const sums = work + static_cast<std::int64_t>(i) * cols;
            sum_row(sums, table, r, boxes_[i]);
            rows[i] = sums;
        }
        const auto [tl, br, bl, tr, x_middle, x_side, y_middle, y_side] = rows;
        const double weight = weight_, unit = unit_;
        for (std::int64_t c = 0; c < cols; ++c) {
            const double dxy = -(bl[c] + tr[c] - tl[c] - br[c]) * weight;
            const double dxx = -(x_middle[c] - 3 * x_side[c]) * weight;
            const double dyy = -(y_middle[c] - 3 * y_side[c]) * weight;
            to[c] = (dxx * dyy - 0.81 * (dxy * dxy)) / unit;
        }
    }

  private:
    struct box {
        reach rows, cols;
    };

    static void sum_row(double* to, const plane_table& table, std::int64_t r, const box& b) {
        const std::int64_t rows = table.rows(), cols = table.cols();
        const std::int64_t first = std::clamp<std::int64_t>(r + b.rows.from, 0, rows - 1);
        const double *const above = table.row(first), *const last = table.row(std::min(first + b.rows.count, rows - 1));
        const auto clamped = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) {
                const std::int64_t left = std::clamp<std::int64_t>(c + b.cols.from, 0, cols - 1);
                const std::int64_t right = std::min(left + b.cols.count, cols - 1);
                to[c] = std::max(0.0, above[left] + last[right] - above[right] - last[left]);
            }
        };
        // Columns whose boxes need no clamping.
        const std::int64_t begin = std::clamp<std::int64_t>(-b.cols.from, 0, cols);
        const std::int64_t end = std::clamp(cols - b.cols.from - b.cols.count, begin, cols);
        clamped(0, begin);
        const std::int64_t from = b.cols.from, up_to = from + b.cols.count;
        for (std::int64_t c = begin; c < end; ++c) {
            const double sum = above[c + from] + last[c + up_to] - above[c + up_to] - last[c + from];
            to[c] = sum > 0 ? sum : 0.0;
        }
        clamped(end, cols);
    }

    std::array<box, 8> boxes_;
    double weight_, unit_;
};

/// What a thread finds, and what all do.
struct findings {
    std::vector<std::pair<blob, std::size_t>> maxima;  ///< with their scales' numbers
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
};

/// Goes down the rows of a band with three rows of every scale, and a column beyond both ends that exceeds nothing.
class maxima_finder {
  public:
    maxima_finder(const plane_table& table, const std::vector<double>& sigmas, dtype image, double threshold)
        : table_(table),
          sigmas_(sigmas),
          threshold_(threshold),
          pitch_(table.cols() + 2),
          values_(3 * static_cast<std::int64_t>(sigmas.size()) * pitch_),
          work_(8 * table.cols()) {
        for (const double sigma : sigmas) scales_.emplace_back(sigma, image);
    }

    void find(std::int64_t first, std::int64_t end, findings& found) {
        compute(first - 1);
        compute(first);
        for (std::int64_t r = first; r < end; ++r) {
            compute(r + 1);
            for (std::size_t s = 0; s < scales_.size(); ++s) compare(r, s, found);
        }
    }

  private:
    double* row(std::int64_t r, std::size_t s) const {
        return values_.data() +
               ((r + 3) % 3 * static_cast<std::int64_t>(scales_.size()) + static_cast<std::int64_t>(s)) * pitch_ + 1;
    }

    void compute(std::int64_t r) {
        constexpr double nothing = -std::numeric_limits<double>::infinity();
        for (std::size_t s = 0; s < scales_.size(); ++s) {
            double* const to = row(r, s);
            if (r < 0 || r >= table_.rows()) {
                std::fill_n(to - 1, pitch_, nothing);
                continue;
            }
            to[-1] = to[table_.cols()] = nothing;
            scales_[s].determinants(to, table_, r, work_.data());
        }
    }

    void compare(std::int64_t r, std::size_t s, findings& found) const {
        const double* const x = row(r, s);
        for (std::int64_t c = 0; c < table_.cols(); ++c) {
            found.least = std::min(found.least, x[c]);
            found.most = std::max(found.most, x[c]);
            if (x[c] > threshold_ && x[c] >= x[c - 1] && x[c] >= x[c + 1] && is_maximum(r, s, c))
                found.maxima.push_back({{r, c, sigmas_[s], x[c]}, s});
        }
    }

    bool is_maximum(std::int64_t r, std::size_t s, std::int64_t c) const {
        const double value = row(r, s)[c];
        for (std::size_t k = s - (s > 0 ? 1 : 0); k <= std::min(s + 1, scales_.size() - 1); ++k)
            for (std::int64_t y = r - 1; y <= r + 1; ++y) {
                const double* const x = row(y, k) + c;
                if (!(value >= x[-1] && value >= x[0] && value >= x[1])) return false;
            }
        return true;
    }

    const plane_table& table_;
    const std::vector<double>& sigmas_;
    double threshold_;
    std::int64_t pitch_;
    filters::work_buffer<double> values_, work_;
    std::vector<scale> scales_;
};

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

template <typename Out>
void store_determinants(const any_view& result, std::int64_t plane, std::int64_t r, const double* x) {
    const image_view<Out> to(static_cast<Out*>(result.data), result.shape);
    for (std::int64_t c = 0; c < result.shape.cols; ++c) to(r, c, 0, plane) = static_cast<Out>(x[c]);
}

}  // namespace

std::vector<double> blob_scales(double least, double most, int count, scale_steps steps) {
    check_sigma("least", least);
    check_sigma("most", most);
    if (most < least)
        throw invalid_argument("most: is " + text(most) + ", must not be below the least, " + text(least));
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

void box_hessian(const blob_inputs& inputs, const hessian_outputs& outputs, const hessian_options& options) try {
    const const_any_view& image = inputs.image;
    const any_view& result = outputs.determinant;
    check_image(image);
    check_sigma("sigma", options.sigma);
    check_threads(options.threads);
    check_written("determinant", result);
    const view_shape &from = image.shape, &to = result.shape;
    if (to.type != dtype::f32 && to.type != dtype::f64)
        throw unsupported("determinant: type is " + std::string(name_of(to.type)) + ", must be 32f or 64f");
    if (to.planes != from.planes || to.rows != from.rows || to.cols != from.cols || to.channels != 1)
        throw invalid_argument("determinant: planes x rows x cols x channels are " + std::to_string(to.planes) + " x " +
                               std::to_string(to.rows) + " x " + std::to_string(to.cols) + " x " +
                               std::to_string(to.channels) + ", must be the image's");
    if (overlap(result, image)) throw invalid_argument("determinant: overlaps image");
    const scale one(options.sigma, from.type);
    const int used = filters::used_threads(options.threads, from.rows * from.cols * 16);
    for (std::int64_t plane = 0; plane < from.planes; ++plane) {
        const plane_table table(image, plane, options.threads);
        filters::for_each_band(1, from.rows, used, [&](const filters::band& b, int) {
            const filters::work_buffer<double> work(9 * from.cols);
            double* const x = work.data() + 8 * from.cols;
            for (std::int64_t r = b.first; r < b.end; ++r) {
                one.determinants(x, table, r, work.data());
                to.type == dtype::f32 ? store_determinants<float>(result, plane, r, x)
                                      : store_determinants<double>(result, plane, r, x);
            }
        });
    }
} catch (...) {
    rethrow_as_ours();
}

std::vector<blob> find_blobs(const blob_inputs& inputs, const blob_options& options) try {
    const const_any_view& image = inputs.image;
    check_image(image);
    if (image.shape.planes != 1)
        throw unsupported("image: planes is " + std::to_string(image.shape.planes) + ", must be 1");
    if (options.sigmas.empty()) throw invalid_argument("sigmas: there are none");
    for (std::size_t i = 0; i < options.sigmas.size(); ++i) {
        check_sigma("sigmas", options.sigmas[i]);
        if (i > 0 && options.sigmas[i] < options.sigmas[i - 1])
            throw invalid_argument("sigmas: " + text(options.sigmas[i]) + " follows " + text(options.sigmas[i - 1]) +
                                   ", must ascend");
    }
    if (options.threshold && std::isnan(*options.threshold)) throw invalid_argument("threshold: is NaN");
    if (options.relative_threshold && !std::isfinite(*options.relative_threshold))
        throw invalid_argument("relative_threshold: is " + text(*options.relative_threshold) + ", must be finite");
    if (!(options.overlap >= 0 && options.overlap <= 1))
        throw invalid_argument("overlap: is " + text(options.overlap) + ", must be 0 to 1");
    check_threads(options.threads);

    const plane_table table(image, 0, options.threads);
    const double threshold = options.threshold.value_or(-std::numeric_limits<double>::infinity());
    const auto scales = static_cast<std::int64_t>(options.sigmas.size());
    const int used = filters::used_threads(options.threads, table.rows() * table.cols() * 16 * scales);
    findings all;
    std::mutex mutex;
    filters::for_each_band(1, table.rows(), used, [&](const filters::band& b, int) {
        findings found;
        maxima_finder(table, options.sigmas, image.shape.type, threshold).find(b.first, b.end, found);
        const std::lock_guard lock(mutex);
        all.maxima.insert(all.maxima.end(), found.maxima.begin(), found.maxima.end());
        all.least = std::min(all.least, found.least);
        all.most = std::max(all.most, found.most);
    });
    if (!(all.least < all.most)) return {};
    double above = options.threshold.value_or(all.least);
    if (options.relative_threshold) above = std::max(above, *options.relative_threshold * all.most);
    std::erase_if(all.maxima, [&](const auto& m) { return !(m.first.determinant > above); });
    std::sort(all.maxima.begin(), all.maxima.end(), [](const auto& a, const auto& b) {
        if (a.first.determinant != b.first.determinant) return a.first.determinant > b.first.determinant;
        return std::tuple(a.first.row, a.first.col, a.second) < std::tuple(b.first.row, b.first.col, b.second);
    });
    std::vector<blob> blobs;
    blobs.reserve(all.maxima.size());
    for (const auto& m : all.maxima) blobs.push_back(m.first);
    prune(blobs, options.overlap);
    return blobs;
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
