#include "core/rounding.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/sampled_windows.hpp"
#include "cpu/filters/widened_image.hpp"
#include "filters/radius_map.hpp"
#include "filters/sample_row.hpp"

#include <boxsum/sat.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace boxsum::filters {
namespace {

// What is done for a pixel has several callers, for all pixels and for those that may not count: inlined in each of
// them.
#define BOXSUM_INLINE __attribute__((always_inline))

/// The prefix sum over `position` samples of an extended axis (which may lie beyond the image) as at most four prefix
/// sums of the image itself: sum of weight * P(index). Beyond the border the extended image repeats the image (wrap),
/// the image mirrored (reflect, mirror) or its edge sample (replicate), so its prefix sums are these; elsewhere there
/// is nothing to add.
struct prefix_terms {
    std::array<std::int64_t, 4> index;
    std::array<std::int64_t, 4> weight;
    int count;
};

prefix_terms terms_of(std::int64_t position, std::int64_t extent, border_mode border) {
    if (position >= 0 && position <= extent) return {{position, 0}, {1, 0}, 1};
    if (border == border_mode::replicate) {
        if (position < 0) return {{1, 0}, {position, 0}, 1};
        const std::int64_t more = position - extent;
        return {{extent, extent - 1}, {1 + more, -more}, 2};
    }
    if (border == border_mode::reflect) {
        const std::int64_t period = 2 * extent;
        const std::int64_t phase = ((position % period) + period) % period;
        const std::int64_t wholes = 2 * ((position - phase) / period);
        if (phase <= extent) return {{extent, phase}, {wholes, 1}, 2};
        return {{extent, period - phase}, {wholes + 2, -1}, 2};
    }
    if (border == border_mode::wrap) {
        const std::int64_t phase = ((position % extent) + extent) % extent;
        return {{extent, phase}, {(position - phase) / extent, 1}, 2};
    }
    if (border == border_mode::mirror) {
        // The period: every sample, and once more those between the edges.
        const std::int64_t period = 2 * extent - 2;
        const std::int64_t phase = ((position % period) + period) % period;
        const std::int64_t wholes = (position - phase) / period;
        if (phase <= extent) return {{extent, extent - 1, 1, phase}, {wholes, wholes, -wholes, 1}, 4};
        return {{extent, extent - 1, 1, 2 * extent - 1 - phase}, {wholes + 1, wholes + 1, -wholes, -1}, 4};
    }
    return {{std::clamp<std::int64_t>(position, 0, extent), 0}, {1, 0}, 1};
}

using variable_results = type_list<u8, u16, s16, u32, s32, f16, f32, f64>;

/// A window as positions on the extended axes: rows top .. bottom - 1, columns left .. right - 1.
struct window_box {
    std::int64_t top, bottom, left, right;
};

/// The padded table of a part of a plane.
template <typename Table>
struct part_table {
    image_view<const Table> sums;
    std::int64_t first;  ///< row of the plane that the part's first row is

    template <typename A>
    A at(std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return static_cast<A>(sums(row - first, col, channel));
    }
};

/// Sum over a window of the extended image. Integers wrap, so a sum that fits A is exact whatever the weights.
template <typename A, typename Table>
A window_sum(const part_table<Table>& table, const window_box& w, const window_job& job, std::int64_t channel) {
    const std::int64_t rows = job.rows.extent, cols = job.cols.extent;
    const auto at = [&](std::int64_t r, std::int64_t c) { return table.template at<A>(r, c, channel); };
    if (w.top >= 0 && w.left >= 0 && w.bottom <= rows && w.right <= cols)
        return static_cast<A>((at(w.bottom, w.right) - at(w.top, w.right)) -
                              (at(w.bottom, w.left) - at(w.top, w.left)));
    const border_mode down = job.rows.border, across = job.cols.border;
    const std::array<prefix_terms, 2> vertical = {terms_of(w.bottom, rows, down), terms_of(w.top, rows, down)};
    const std::array<prefix_terms, 2> horizontal = {terms_of(w.right, cols, across), terms_of(w.left, cols, across)};
    const auto corner = [&](const prefix_terms& r, const prefix_terms& c) {
        A sum = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(r.count); ++i) {
            if (r.weight[i] == 0) continue;  // of a row that the part may lack
            for (std::size_t j = 0; j < static_cast<std::size_t>(c.count); ++j)
                sum = static_cast<A>(sum + static_cast<A>(r.weight[i]) * static_cast<A>(c.weight[j]) *
                                               at(r.index[i], c.index[j]));
        }
        return sum;
    };
    return static_cast<A>((corner(vertical[0], horizontal[0]) - corner(vertical[1], horizontal[0])) -
                          (corner(vertical[0], horizontal[1]) - corner(vertical[1], horizontal[1])));
}

/// The window of a pixel, its pixels that lie in the image, and what its mean divides by.
struct window_extent {
    window_box box;
    std::int64_t inside, count;
};

BOXSUM_INLINE inline window_extent window_around(std::int64_t row, std::int64_t col, std::int64_t radius,
                                                 const window_job& job) {
    window_extent w{{row - radius, row + radius + 1, col - radius, col + radius + 1}, 0, 0};
    const std::int64_t rows = std::min(w.box.bottom, job.rows.extent) - std::max<std::int64_t>(w.box.top, 0);
    const std::int64_t cols = std::min(w.box.right, job.cols.extent) - std::max<std::int64_t>(w.box.left, 0);
    w.inside = rows * cols;
    w.count = job.rows.border == border_mode::shrink ? w.inside : (2 * radius + 1) * (2 * radius + 1);
    return w;
}

/// One plane of a view.
const_any_view plane_of(const const_any_view& view, std::int64_t plane) {
    const_any_view one = view;
    one.data = row_of<std::byte>(view, 0, plane);
    one.shape.planes = 1;
    return one;
}

template <typename Table>
table<Table> padded_table(const const_any_view& plane, int threads) {
    table<Table> t(plane.shape.rows, plane.shape.cols, table_layout::padded, plane.shape.channels);
    sat({.image = plane}, {.sums = t}, {.threads = threads});
    return t;
}

/// What counts in the windows of a plane.
class plane_counts {
  public:
    /// Of elements that are 1 or 0, and of weights or none, as views of one plane.
    plane_counts(const window_job& job, const const_any_view& counts, const const_any_view& weights, int threads)
        : job_(job), pixels_(padded_table<u64>(counts, threads)) {
        if (weights.data != nullptr) weights_ = padded_table<f64>(weights, threads);
        const f64 beyond = job.border_value;
        beyond_ = job.rows.border == border_mode::constant && !is_nodata(beyond, job.nan, job.nodata);
    }

    /// The window's pixels that count.
    window_extent counted(window_extent w, std::int64_t channel) const {
        const std::int64_t beyond = beyond_ ? w.count - w.inside : 0;
        w.count = static_cast<std::int64_t>(sum(pixels_, w, channel)) + beyond;
        w.inside = w.count - beyond;
        return w;
    }
    /// The sum of their weights.
    f64 weight(const window_extent& counted, std::int64_t channel) const {
        if (!weights_ || counted.count == 0) return static_cast<f64>(counted.count);
        return sum(*weights_, counted, channel) + static_cast<f64>(counted.count - counted.inside);
    }
    bool suffices(const window_extent& counted, std::int64_t channel) const {
        if (!weights_) return counted.count >= job_.min_count;
        const f64 w = weight(counted, channel);
        return w > 0 && w >= job_.min_weight;
    }

  private:
    template <typename T>
    T sum(const table<T>& of, const window_extent& w, std::int64_t channel) const {
        return window_sum<T>(part_table<T>{of.view().entries(), job_.part_row}, w.box, job_, channel);
    }

    const window_job& job_;
    table<u64> pixels_;
    std::optional<table<f64>> weights_;
    bool beyond_ = false;
};

/// What a plane's filter needs besides its tables.
struct plane_job {
    const window_job& windows;
    const_any_view image;   ///< one plane
    const_any_view radius;  ///< all planes
    std::int64_t radius_plane;
    any_view result;  ///< all planes
    any_view count;   ///< all planes; null data for none
    std::int64_t plane;
    int threads;
    const plane_counts* counts = nullptr;  ///< null where every pixel counts
};

/// Calls pixel(row, col, channel, window) for every result.
template <typename Pixel>
void for_each_window(const plane_job& job, Pixel&& pixel) {
    const window_job& windows = job.windows;
    for_each_band(1, windows.result_rows(), job.threads, [&](const band& b, int) {
        for (std::int64_t r = b.first; r < b.end; ++r)
            for (std::int64_t c = 0; c < windows.shape.cols; ++c) {
                const window_extent w =
                    window_around(r + windows.first_row, c, radius_at(job.radius, r, c, job.radius_plane), windows);
                for (std::int64_t k = 0; k < windows.shape.channels; ++k) pixel(r, c, k, w);
            }
    });
}

/// An element of `to`.
template <typename T>
void put(const plane_job& job, const any_view& to, std::int64_t row, std::int64_t col, std::int64_t channel, T value) {
    row_of<T>(to, row, job.plane)[col * job.windows.shape.channels + channel] = value;
}

template <typename T>
void put(const plane_job& job, std::int64_t row, std::int64_t col, std::int64_t channel, T value) {
    put(job, job.result, row, col, channel, value);
}

template <typename T>
T fill_as(std::optional<double> fill) {
    if constexpr (std::is_same_v<T, f16>)
        return nearest_float16(fill.value_or(std::numeric_limits<f64>::quiet_NaN()));
    else
        return static_cast<T>(fill.value_or(std::is_integral_v<T> ? 0 : std::numeric_limits<f64>::quiet_NaN()));
}

/// pixel(row, col, channel, window) for every result whose window has enough that counts; others are filled.
template <typename Pixel>
void for_each_result(const plane_job& job, Pixel&& pixel) {
    if (job.counts == nullptr) return for_each_window(job, pixel);
    for_each_window(job, [&](std::int64_t r, std::int64_t c, std::int64_t k, const window_extent& w) {
        const window_extent counted = job.counts->counted(w, k);
        if (job.counts->suffices(counted, k)) return pixel(r, c, k, counted);
        visit_type(variable_results{}, job.result.shape.type,
                   [&]<typename T>() { put(job, r, c, k, fill_as<T>(job.windows.fill)); });
    });
}

void write_counts(const plane_job& job) {
    for_each_window(job, [&](std::int64_t r, std::int64_t c, std::int64_t k, const window_extent& w) {
        const auto count = [&](auto number) {
            switch (job.count.shape.type) {
                case dtype::u32:
                    return put(job, job.count, r, c, k, static_cast<u32>(number));
                case dtype::f32:
                    return put(job, job.count, r, c, k, static_cast<f32>(number));
                default:
                    return put(job, job.count, r, c, k, static_cast<f64>(number));
            }
        };
        if (job.counts == nullptr) return count(w.count);
        const window_extent counted = job.counts->counted(w, k);
        job.windows.weighted ? count(job.counts->weight(counted, k)) : count(counted.count);
    });
}

template <typename Pixel, typename Table>
void integer_plane(const plane_job& job) {
    using A = std::make_unsigned_t<Table>;
    const table<Table> sums = padded_table<Table>(job.image, job.threads);
    const part_table<Table> view{sums.view().entries(), job.windows.part_row};
    constexpr s64 offset = stored_as<Pixel>::offset;
    const u64 half = job.windows.rounding == rounding_mode::half_up ? 1 : 0;
    const bool has_constant = job.windows.rows.border == border_mode::constant;
    const s64 constant = has_constant ? static_cast<s64>(job.windows.border_value) : 0;
    for_each_result(job, [&](std::int64_t r, std::int64_t c, std::int64_t k, const window_extent& w) BOXSUM_INLINE {
        // As for signed pixels everywhere: 32768 higher, so that the sum is not negative.
        const A sum = static_cast<A>(window_sum<A>(view, w.box, job.windows, k) +
                                     static_cast<A>(constant) * static_cast<A>(w.count - w.inside) +
                                     static_cast<A>(offset) * static_cast<A>(w.count));
        const u64 n = static_cast<u64>(w.count);
        const auto mean = [&] {
            return static_cast<f64>(static_cast<s64>(sum) - offset * w.count) / static_cast<f64>(w.count);
        };
        switch (job.result.shape.type) {
            case dtype::f32:
                return put(job, r, c, k, static_cast<f32>(mean()));
            case dtype::f64:
                return put(job, r, c, k, mean());
            default:
                return put(job, r, c, k, static_cast<Pixel>(static_cast<s64>((sum + half * (n / 2)) / n) - offset));
        }
    });
}

/// Which pixels of a plane are not finite, as tables of counts; a table sums 0 for them. Classes that do not occur have
/// none.
template <typename Pixel>
struct non_finite {
    work_buffer<Pixel> finite;  ///< the plane with 0 in their place
    std::optional<table<u64>> nan, positive, negative;
};

template <typename Pixel>
std::optional<non_finite<Pixel>> find_non_finite(const const_any_view& plane, int threads) {
    const view_shape& s = plane.shape;
    const std::int64_t n = s.cols * s.channels;
    const auto any = [&](auto&& is) {
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const Pixel* x = row_of<Pixel>(plane, r, 0);
            for (std::int64_t i = 0; i < n; ++i)
                if (is(x[i])) return true;
        }
        return false;
    };
    if (!any([](Pixel x) { return !std::isfinite(x); })) return {};
    non_finite<Pixel> found;
    const auto counted = [&](auto&& is) -> std::optional<table<u64>> {
        if (!any(is)) return {};
        work_buffer<u8> mask(s.rows * n);
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const Pixel* x = row_of<Pixel>(plane, r, 0);
            for (std::int64_t i = 0; i < n; ++i) mask[r * n + i] = is(x[i]) ? 1 : 0;
        }
        return padded_table<u64>(image_view<const u8>(mask.data(), s.rows, s.cols, 0, s.channels), threads);
    };
    constexpr Pixel infinity = std::numeric_limits<Pixel>::infinity();
    found.nan = counted([](Pixel x) { return std::isnan(x); });
    found.positive = counted([](Pixel x) { return x == infinity; });
    found.negative = counted([](Pixel x) { return x == -infinity; });
    found.finite = work_buffer<Pixel>(s.rows * n);
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const Pixel* x = row_of<Pixel>(plane, r, 0);
        for (std::int64_t i = 0; i < n; ++i) found.finite[r * n + i] = std::isfinite(x[i]) ? x[i] : Pixel{0};
    }
    return found;
}

/// Sums over windows of a plane of floats.
template <typename Pixel>
class floating_sums {
  public:
    explicit floating_sums(const plane_job& job)
        : job_(job.windows),
          wrong_(find_non_finite<Pixel>(job.image, job.threads)),
          sums_(padded_table<f64>(finite(job.image), job.threads)),
          view_{sums_.view().entries(), job_.part_row},
          constant_(job_.rows.border == border_mode::constant) {}

    BOXSUM_INLINE f64 operator()(const window_extent& w, std::int64_t k) const {
        f64 sum = window_sum<f64>(view_, w.box, job_, k);
        if (constant_ && w.count > w.inside) sum += job_.border_value * static_cast<f64>(w.count - w.inside);
        if (wrong_) {
            const auto holds = [&](const std::optional<table<u64>>& counts) {
                return counts &&
                       window_sum<u64>(part_table<u64>{counts->view().entries(), job_.part_row}, w.box, job_, k) != 0;
            };
            constexpr f64 infinity = std::numeric_limits<f64>::infinity();
            if (holds(wrong_->nan)) sum = std::numeric_limits<f64>::quiet_NaN();
            if (holds(wrong_->positive)) sum += infinity;
            if (holds(wrong_->negative)) sum -= infinity;
        }
        return sum;
    }

  private:
    const_any_view finite(const const_any_view& image) const {
        const view_shape& s = image.shape;
        return wrong_ ? image_view<const Pixel>(wrong_->finite.data(), s.rows, s.cols, 0, s.channels) : image;
    }

    const window_job& job_;
    std::optional<non_finite<Pixel>> wrong_;
    table<f64> sums_;
    part_table<f64> view_;
    bool constant_;
};

template <typename Pixel>
void floating_plane(const plane_job& job) {
    const floating_sums<Pixel> sums(job);
    for_each_result(job, [&](std::int64_t r, std::int64_t c, std::int64_t k, const window_extent& w) BOXSUM_INLINE {
        const f64 mean = sums(w, k) / static_cast<f64>(w.count);
        if (job.result.shape.type == dtype::f32)
            put(job, r, c, k, static_cast<f32>(mean));
        else if (job.result.shape.type == dtype::f16)
            put(job, r, c, k, nearest_float16(mean));
        else
            put(job, r, c, k, mean);
    });
}

/// Of an image of pixels times weights.
void weighted_plane(const plane_job& job) {
    const floating_sums<f64> sums(job);
    for_each_result(job, [&](std::int64_t r, std::int64_t c, std::int64_t k, const window_extent& w) BOXSUM_INLINE {
        const f64 mean = sums(w, k) / job.counts->weight(w, k);
        visit_type(variable_results{}, job.result.shape.type, [&]<typename T>() {
            if constexpr (std::is_same_v<T, f16>) {
                put(job, r, c, k, nearest_float16(mean));
            } else if constexpr (std::is_floating_point_v<T>) {
                put(job, r, c, k, static_cast<T>(mean));
            } else {
                // Differences of a table may be off by a little where pixels are as small or large as can be.
                constexpr auto least = static_cast<f64>(std::numeric_limits<T>::min()),
                               most = static_cast<f64>(std::numeric_limits<T>::max());
                put(job, r, c, k, static_cast<T>(rounded_mean(std::clamp(mean, least, most), job.windows.rounding)));
            }
        });
    });
}

/// A plane whose pixels may not count: what is summed, 0 for them, and what counts.
class sampled_plane {
  public:
    sampled_plane(const window_job& job, const sampled_image& from, std::int64_t plane, int threads)
        : shape_(packed_plane(from.image.shape, job.weighted)),
          weighted_(job.weighted),
          pixels_(shape_.plane_stride),
          counts_(shape_.rows * elements()),
          weights_(weighted_ ? shape_.rows * elements() : 0) {
        visit_type(variable_results{}, from.image.shape.type, [&]<typename T>() {
            for_each_band(1, shape_.rows, threads, [&](const band& b, int) {
                for (std::int64_t r = b.first; r < b.end; ++r) {
                    const sample_row<T> row(from, r, plane);
                    u8* const counts = counts_.data() + r * elements();
                    row.find(counts);
                    std::byte* const to = pixels_.data() + r * shape_.row_stride;
                    if (weighted_)
                        row.weigh(reinterpret_cast<f64*>(to), nullptr, weights_.data() + r * elements(), counts);
                    else
                        row.keep(reinterpret_cast<T*>(to), counts);
                }
            });
        });
    }

    const_any_view pixels() const { return {pixels_.data(), shape_}; }
    const_any_view counts() const { return view_of(counts_); }
    const_any_view weights() const { return weighted_ ? view_of(weights_) : const_any_view{}; }

  private:
    static view_shape packed_plane(const view_shape& s, bool weighted) {
        return packed_shape(weighted ? dtype::f64 : s.type, 1, s.rows, s.cols, s.channels);
    }
    std::int64_t elements() const { return shape_.cols * shape_.channels; }
    template <typename T>
    const_any_view view_of(const work_buffer<T>& memory) const {
        return image_view<const T>(memory.data(), shape_.rows, shape_.cols, 0, shape_.channels);
    }

    view_shape shape_;
    bool weighted_;
    work_buffer<std::byte> pixels_;
    work_buffer<u8> counts_;
    work_buffer<f64> weights_;
};

void filter_plane(const plane_job& job) {
    if (job.count.data != nullptr) write_counts(job);
    if (job.windows.weighted) return weighted_plane(job);
    const std::int64_t largest = job.windows.largest_window;
    // As in integer_windows.hpp, the sum and half a window on top of it have to fit.
    const bool small = largest <= 65535;
    switch (job.image.shape.type) {
        case dtype::u8:
            return largest <= (std::int64_t{1} << 23) ? integer_plane<u8, u32>(job) : integer_plane<u8, u64>(job);
        case dtype::u16:
            return small ? integer_plane<u16, u32>(job) : integer_plane<u16, u64>(job);
        case dtype::s16:
            return small ? integer_plane<s16, s32>(job) : integer_plane<s16, s64>(job);
        case dtype::u32:
            return integer_plane<u32, u64>(job);
        case dtype::s32:
            return integer_plane<s32, s64>(job);
        case dtype::f32:
            return floating_plane<f32>(job);
        default:
            return floating_plane<f64>(job);
    }
}

#undef BOXSUM_INLINE

}  // namespace

void variable_box_filter(const window_job& job, const variable_inputs& inputs, const filter_outputs& outputs) {
    const int threads = used_threads(job.threads, job.result_rows() * job.n());
    const dtype type = inputs.image.shape.type;
    const widened_image taken(inputs.image, type == dtype::f16 ? dtype::f32 : type, threads);
    for (std::int64_t plane = 0; plane < job.shape.planes; ++plane) {
        plane_job one{job,
                      plane_of(taken.view(), plane),
                      inputs.radius,
                      inputs.radius.shape.planes == 1 ? 0 : plane,
                      outputs.result,
                      outputs.count,
                      plane,
                      threads};
        if (!job.sampled()) {
            filter_plane(one);
            continue;
        }
        const sampled_plane some(job, {taken.view(), inputs.mask, inputs.weights, job.nan, job.nodata}, plane, threads);
        const plane_counts counts(job, some.counts(), some.weights(), threads);
        one.image = some.pixels();
        one.counts = &counts;
        filter_plane(one);
    }
}

}  // namespace boxsum::filters
