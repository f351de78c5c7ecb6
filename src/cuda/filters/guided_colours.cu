#include "core/visit_types.hpp"
#include "cuda/filters/guided_terms.cuh"
#include "cuda/filters/planned_filter.hpp"

#include <boxsum/cuda/memory.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

/// A guided filter whose guide has several channels: moments of pairs of channels, a plane of double each, for some
/// rows at a time; fits of every pixel from them; and the means of these.
namespace boxsum::cuda {
namespace {

// ---- channels -------------------------------------------------------------------------------------------------------

/// An image of several channels, and a plane for each of some.
struct channels_view {
    const char* from;
    char* to;
    std::int64_t from_stride, to_stride, to_plane;
    dtype from_type;
    int rows, cols, channels;
};

/// Planes of T. Rows begin where four pixels can be written together, also the last ones.
template <typename T>
__global__ __launch_bounds__(128) void split_kernel(const __grid_constant__ channels_view t) {
    const int col = 4 * (static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x));
    if (col >= t.cols) return;
    for (int row = static_cast<int>(blockIdx.y); row < t.rows; row += static_cast<int>(gridDim.y)) {
        const char* const from = t.from + row * t.from_stride;
        char* const to = t.to + row * t.to_stride + col * std::int64_t{sizeof(T)};
        for (int k = 0; k < t.channels; ++k) {
            vector_of<T, 4> x{};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (col + i >= t.cols) break;
                const std::int64_t element = std::int64_t{col + i} * t.channels + k;
                if constexpr (std::is_same_v<T, u16>)
                    x.x[i] = static_cast<u16>(load_pixel(from, t.from_type, element));
                else
                    x.x[i] = reinterpret_cast<const T*>(from)[element];
            }
            *reinterpret_cast<vector_of<T, 4>*>(to + k * t.to_plane) = x;
        }
    }
}

/// `to`: a plane for each of the channels, of their type, or of 16u where that is 8u.
void enqueue_split(const const_any_view& from, const any_view& to, stream_ref stream) {
    const channels_view t{static_cast<const char*>(from.data),
                          static_cast<char*>(to.data),
                          from.shape.row_stride,
                          to.shape.row_stride,
                          to.shape.plane_stride,
                          from.shape.type,
                          static_cast<int>(from.shape.rows),
                          static_cast<int>(from.shape.cols),
                          static_cast<int>(from.shape.channels)};
    const auto blocks = static_cast<unsigned>((from.shape.cols + 511) / 512);
    visit_type(type_list<u8, u16, f32, f64>{}, to.shape.type, [&]<typename T>() {
        launch(
            split_kernel<T>,
            {.grid = {blocks, static_cast<unsigned>(std::min<std::int64_t>(from.shape.rows, 65535)), 1}, .block = 128},
            stream, t);
    });
}

// ---- fits -----------------------------------------------------------------------------------------------------------

/// Moments of some rows, and where their fits go.
struct colour_view {
    filters::window_axis rows, cols;
    int first_row, end_row;
    char* moments;  ///< planes of double
    std::int64_t moment_stride, moment_plane;
    char* fits;
    std::int64_t fit_stride, fit_plane;
    bool is_double;
    double epsilon;
    guided_units units;

    /// Of plane k, of which the first row is the first of some rows.
    __device__ double moment(int k, int row, int col) const {
        const char* const at = moments + k * moment_plane + (row - first_row) * moment_stride;
        return reinterpret_cast<const double*>(at)[col];
    }
    __device__ void store(int k, int row, int col, double fit, double unit, double inverse) const {
        char* const at = fits + k * fit_plane + row * fit_stride;
        if (is_double)
            reinterpret_cast<double*>(at)[col] = fit;
        else
            reinterpret_cast<float*>(at)[col] = static_cast<float>(rint(fit * inverse) * unit);
    }
};

/// Of windows in which too little may count. The fits' last plane says which exist.
struct sampled_colour_view : colour_view {
    double least;
    run_output count;
    int count_channels, channel;
};
template <bool Sampled>
using colour_view_of = std::conditional_t<Sampled, sampled_colour_view, colour_view>;

/// Planes of moments of a guide of so many channels and of an image.
struct moment_planes {
    int guides;

    BOXSUM_HOST_DEVICE int pairs() const { return guides * (guides + 1) / 2; }
    /// Of channels i and j, i <= j: 0 with 0, 1, .., 1 with 1, ..
    BOXSUM_HOST_DEVICE int pair(int i, int j) const { return i * guides - i * (i - 1) / 2 + j - i; }
    BOXSUM_HOST_DEVICE int sum(int channel) const { return pairs() + channel; }
    BOXSUM_HOST_DEVICE int with_image(int channel) const { return pairs() + guides + channel; }
    BOXSUM_HOST_DEVICE int image_sum() const { return pairs() + 2 * guides; }
    BOXSUM_HOST_DEVICE int weight_sum() const { return image_sum() + 1; }
    BOXSUM_HOST_DEVICE int count(bool sampled) const { return image_sum() + (sampled ? 2 : 1); }
};

/// (covariances + epsilon E) a = those with the image, all times n^2, by L D L^T as on the CPU.
template <int Guides, bool Sampled>
__global__ __launch_bounds__(128) void colour_fit_kernel(const __grid_constant__ colour_view_of<Sampled> t) {
    constexpr moment_planes planes{Guides};
    const int col = static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x);
    if (col >= t.cols.extent) return;
    const auto width = static_cast<double>(t.cols.count(col));
    const double inverse_a = 1 / t.units.a, inverse_b = 1 / t.units.b;
    for (int row = t.first_row + static_cast<int>(blockIdx.y); row < t.end_row; row += static_cast<int>(gridDim.y)) {
        double n;
        if constexpr (Sampled) {
            n = t.moment(planes.weight_sum(), row, col);
            if (t.count.data != nullptr)
                store_element(t.count, row, std::int64_t{col} * t.count_channels + t.channel, n);
            const bool exists = n > 0 && n >= t.least;
            t.store(Guides + 1, row, col, exists ? 1 : 0, 1, 1);
            if (!exists) {
#pragma unroll
                for (int k = 0; k <= Guides; ++k) t.store(k, row, col, 0, 1, 1);
                continue;
            }
        } else {
            n = static_cast<double>(t.rows.count(row)) * width;
        }
        const double noise = n * n * t.epsilon;
        double m[Guides][Guides], a[Guides], inverse[Guides], sum[Guides];
#pragma unroll
        for (int j = 0; j < Guides; ++j) {
            a[j] = t.moment(planes.with_image(j), row, col);
            sum[j] = t.moment(planes.sum(j), row, col);
#pragma unroll
            for (int i = j; i < Guides; ++i) m[i][j] = t.moment(planes.pair(j, i), row, col);
            m[j][j] += noise;
        }
        double b = t.moment(planes.image_sum(), row, col);
#pragma unroll
        for (int j = 0; j < Guides; ++j) {
            inverse[j] = 1 / m[j][j];
#pragma unroll
            for (int i = j + 1; i < Guides; ++i) {
                const double l = m[i][j] * inverse[j];
#pragma unroll
                for (int k = j + 1; k <= i; ++k) m[i][k] -= l * m[k][j];
                a[i] -= l * a[j];
            }
        }
#pragma unroll
        for (int j = Guides - 1; j >= 0; --j) {
#pragma unroll
            for (int i = j + 1; i < Guides; ++i) a[j] -= m[i][j] * a[i];
            a[j] *= inverse[j];
            t.store(j, row, col, a[j], t.units.a, inverse_a);
        }
#pragma unroll
        for (int j = 0; j < Guides; ++j) b -= a[j] * sum[j];
        t.store(Guides, row, col, b / n, t.units.b, inverse_b);
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

/// All that a filter has in its space, each from a multiple of 256 bytes on.
class colour_space {
  public:
    explicit colour_space(const guided_colours& filter)
        : filter_(filter),
          planes_{static_cast<int>(filter.guide.shape.channels)},
          channels_(filter.image.shape.channels),
          rows_at_once_(filter.rows_at_once) {
        const view_shape &image = filter.image.shape, &guide = filter.guide.shape;
        const std::int64_t rows = image.rows, cols = image.cols;
        // Sums that slide are of two images of one type: of integers, 16u holds either.
        const bool widens = image.type != guide.type && !is_floating(image.type) && !is_floating(guide.type);
        guide_ = place(widens ? dtype::u16 : guide.type, rows, planes_.guides);
        if (channels_ > 1 || (widens && image.type != dtype::u16))
            image_ = place(widens ? dtype::u16 : image.type, rows, channels_);
        fits_ = place(filter.means->shape.type, rows, fits_of_channel() * channels_);
        moments_ = place(dtype::f64, std::min(rows_at_once_, rows), planes_.count(sampled()));
        if (sampled()) weights_ = place(dtype::f32, rows, 1);
        scratch_ = bytes_;
        std::size_t scratch = guided_means_bytes(means_of(0));
        for (const std::int64_t first : {std::int64_t{0}, (rows - 1) / rows_at_once_ * rows_at_once_}) {
            const filters::window_job job = rows_of_job(first);  // the last rows may be fewer, and want more
            scratch = std::max(scratch, guided_scratch_bytes(moments_of(job, guide_plane(0), guide_plane(0))));
        }
        bytes_ += scratch;
    }

    std::size_t bytes() const { return bytes_; }
    const moment_planes& planes() const { return planes_; }
    std::int64_t channels() const { return channels_; }
    std::int64_t rows_at_once() const { return rows_at_once_; }
    bool splits_image() const { return image_.shape.rows != 0; }
    bool sampled() const { return filter_.samples != nullptr; }
    any_view weights() const { return at(weights_); }

    any_view guide() const { return at(guide_); }
    any_view image() const { return at(image_); }
    const_any_view guide_plane(std::int64_t k) const { return plane(guide_, k); }
    const_any_view image_plane(std::int64_t k) const {
        return splits_image() ? const_any_view(plane(image_, k)) : filter_.image;
    }
    any_view moment(int k) const { return plane(moments_, k); }

    /// Windows of some rows from there on.
    filters::window_job rows_of_job(std::int64_t first) const {
        filters::window_job job = *filter_.fits;
        job.first_row = first;
        job.end_row = std::min(first + rows_at_once_, job.rows.extent);
        return job;
    }
    guided_moments moments_of(const filters::window_job& job, const const_any_view& guide,
                              const const_any_view& image) const {
        return {{&job, image, guide, filter_.epsilon, at(scratch_), sampled() ? weights() : any_view{}}};
    }
    guided_means means_of(std::int64_t channel) const {
        guided_means means{filter_.means, planes_.guides, {}, {}, filter_.units, at(scratch_)};
        for (int k = 0; k < planes_.guides; ++k) means.a[static_cast<std::size_t>(k)] = fit(channel, k);
        means.b = fit(channel, planes_.guides);
        if (sampled()) means.exists = fit(channel, planes_.guides + 1);
        return means;
    }
    sampled_colour_view sampled_view_of(const filters::window_job& job, std::int64_t channel) const {
        const filters::window_job& s = *filter_.samples;
        sampled_colour_view t{view_of(job, channel)};
        t.least = least_of(s);
        t.count.data = static_cast<char*>(filter_.count.data);
        t.count.row_stride = filter_.count.shape.row_stride;
        t.count.type = filter_.count.shape.type;
        t.count_channels = static_cast<int>(channels_);
        t.channel = static_cast<int>(channel);
        return t;
    }
    colour_view view_of(const filters::window_job& job, std::int64_t channel) const {
        const any_view moments = at(moments_), fits = fit(channel, 0);
        return {job.rows,
                job.cols,
                static_cast<int>(job.first_row),
                static_cast<int>(job.end_row),
                static_cast<char*>(moments.data),
                moments.shape.row_stride,
                moments.shape.plane_stride,
                static_cast<char*>(fits.data),
                fits.shape.row_stride,
                fits_.shape.plane_stride,
                fits_.shape.type == dtype::f64,
                filter_.epsilon,
                filter_.units};
    }

  private:
    struct part {
        std::size_t offset = 0;
        view_shape shape;  ///< no rows: there is none
    };

    part place(dtype type, std::int64_t rows, std::int64_t planes) {
        const part p{bytes_, device_shape(type, rows, filter_.image.shape.cols, 1, planes)};
        bytes_ += (span_bytes(p.shape) + 255) / 256 * 256;
        return p;
    }
    void* at(std::size_t offset) const { return static_cast<std::byte*>(filter_.space) + offset; }
    any_view at(const part& p) const { return {at(p.offset), p.shape}; }
    any_view plane(const part& p, std::int64_t k) const { return rows_of(at(p), k, 0, p.shape.rows); }
    std::int64_t fits_of_channel() const { return planes_.guides + (sampled() ? 2 : 1); }
    any_view fit(std::int64_t channel, int k) const { return plane(fits_, channel * fits_of_channel() + k); }

    const guided_colours& filter_;
    moment_planes planes_;
    std::int64_t channels_, rows_at_once_;
    part guide_, image_, fits_, moments_, weights_;
    std::size_t scratch_ = 0, bytes_ = 0;
};

/// Of every pair of the guide's channels, the second `apart` channels behind the first: so each is the first of one.
void enqueue_guide_moments(const colour_space& space, const filters::window_job& job, stream_ref stream) {
    const moment_planes& planes = space.planes();
    const int guides = planes.guides;
    for (int apart = 1; 2 * apart <= guides; ++apart)
        for (int i = 0; i < guides; ++i) {
            if (apart > 1 && 2 * apart == guides && i >= apart) break;  // turned round they were there
            const int j = (i + apart) % guides;
            guided_moments moments = space.moments_of(job, space.guide_plane(i), space.guide_plane(j));
            moments.covariance = space.moment(planes.pair(std::min(i, j), std::max(i, j)));
            if (apart == 1) {
                moments.variance = space.moment(planes.pair(i, i));
                moments.guide_sum = space.moment(planes.sum(i));
            }
            enqueue_guided_moments(moments, stream);
        }
}

void enqueue_image_moments(const colour_space& space, const filters::window_job& job, std::int64_t channel,
                           stream_ref stream) {
    const moment_planes& planes = space.planes();
    for (int i = 0; i < planes.guides; ++i) {
        guided_moments moments = space.moments_of(job, space.guide_plane(i), space.image_plane(channel));
        moments.covariance = space.moment(planes.with_image(i));
        if (i == 0) {
            moments.image_sum = space.moment(planes.image_sum());
            if (space.sampled()) moments.count = space.moment(planes.weight_sum());
        }
        enqueue_guided_moments(moments, stream);
    }
}

template <bool Sampled>
void enqueue_fits(const colour_view_of<Sampled>& t, int guides, stream_ref stream) {
    const auto fit = [&](auto kernel) {
        const auto blocks = static_cast<unsigned>((t.cols.extent + 127) / 128);
        launch(kernel,
               {.grid = {blocks, static_cast<unsigned>(std::min(t.end_row - t.first_row, 65535)), 1}, .block = 128},
               stream, t);
    };
    if (guides == 2)
        fit(colour_fit_kernel<2, Sampled>);
    else if (guides == 3)
        fit(colour_fit_kernel<3, Sampled>);
    else
        fit(colour_fit_kernel<4, Sampled>);
}

/// Fits of all channels, each by the guide's moments where its own pixels count.
void enqueue_sampled_channels(const guided_colours& filter, const colour_space& space, stream_ref stream) {
    const const_any_view guide = filter.gaps.omits_nan ? filter.guide : const_any_view{};
    for (std::int64_t channel = 0; channel < space.channels(); ++channel) {
        enqueue_guided_weights({filter.samples, filter.image, filter.mask, filter.weights, guide, space.weights(),
                                static_cast<int>(channel)},
                               stream);
        for (std::int64_t first = 0; first < filter.image.shape.rows; first += space.rows_at_once()) {
            const filters::window_job job = space.rows_of_job(first);
            enqueue_guide_moments(space, job, stream);
            enqueue_image_moments(space, job, channel, stream);
            enqueue_fits<true>(space.sampled_view_of(job, channel), space.planes().guides, stream);
        }
    }
}

}  // namespace

std::int64_t colour_rows_at_once(const view_shape& image) {
    constexpr std::int64_t pixels = std::int64_t{1} << 23, unit = 128, least = 2 * unit;
    return std::max(pixels / image.cols / unit * unit, least);
}

std::size_t guided_colour_bytes(const guided_colours& filter) {
    return colour_space(filter).bytes();
}

void enqueue_guided_colours(const guided_colours& filter, stream_ref stream) {
    const colour_space space(filter);
    enqueue_split(filter.guide, space.guide(), stream);
    if (space.splits_image()) enqueue_split(filter.image, space.image(), stream);
    if (space.sampled())
        enqueue_sampled_channels(filter, space, stream);
    else
        for (std::int64_t first = 0; first < filter.image.shape.rows; first += space.rows_at_once()) {
            const filters::window_job job = space.rows_of_job(first);
            enqueue_guide_moments(space, job, stream);
            for (std::int64_t channel = 0; channel < space.channels(); ++channel) {
                enqueue_image_moments(space, job, channel, stream);
                enqueue_fits<false>(space.view_of(job, channel), space.planes().guides, stream);
            }
        }
    for (std::int64_t channel = 0; channel < space.channels(); ++channel)
        enqueue_guided_result(space.means_of(channel), space.guide(), filter.result, static_cast<int>(channel),
                              filter.rounding, filter.gaps, stream);
}

}  // namespace boxsum::cuda
