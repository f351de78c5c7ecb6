#pragma once

#include "cuda/filters/guided_kernels.hpp"
#include "cuda/filters/large_windows.cuh"
#include "cuda/filters/real_windows.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

/// Windows of one image or several of any types by additions only: of blocks (real_windows.cuh), and of any size
/// (large_windows.cuh).
namespace boxsum::cuda {

inline constexpr int most_adding_threads = 256;  // four sums with what they are rounded by fill shared memory

/// The same of the current device.
template <typename Kernel>
std::int64_t adding_threads() {
    return std::min<std::int64_t>(most_threads_of({Kernel::sums::values, Kernel::K, Kernel::G}), most_adding_threads);
}

template <int Images>
struct adding_view : real_view {
    real_view others[Images - 1];
};
template <>
struct adding_view<1> : real_view {};

/// `Terms` has `images`, how many there are, `sums`, of(their pixels) at a place, and which channel of the later ones
/// goes with one of the first. With `sampled` the first image has weights, and it is of(their pixels, its weight).
template <typename Terms, int Cols = layout_of(real_terms::moments, dtype::f64).cols>
struct adding_kernel {
    using Pixel = any_pixel;
    using place = adding_kernel<Terms, 1>;
    static constexpr terms_layout layout = layout_of(real_terms::moments, dtype::f64);
    static constexpr int K = Cols, G = layout.rows, images = Terms::images;
    using sums = typename Terms::sums;
    static constexpr bool sampled = Terms::sampled;
    using pixels = std::conditional_t<sampled, weighted_run<double, K>, real_run<double, K>>;
    using view = adding_view<images>;

    struct run {
        pixels of[images];
        __device__ void clear() {
#pragma unroll
            for (pixels& x : of) x.clear();
        }
    };

    class reader {
      public:
        __device__ reader(const real_view& t, int col, int channel, bool reads)
            : reader(static_cast<const view&>(t), col, channel, reads, std::make_index_sequence<images>()) {}
        __device__ void read(run& to, int row) const {
#pragma unroll
            for (int k = 0; k < images; ++k) of_[k].read(to.of[k], row);
        }
        template <int N>
        __device__ void read(run (&to)[N], int first) const {
#pragma unroll
            for (int j = 0; j < N; ++j) read(to[j], first + j);
        }
        template <int N>
        __device__ void settle(run (&)[N], int) const {}

      private:
        using one = real_reader<any_pixel, pixels, K, sampled>;
        template <std::size_t... k>
        __device__ reader(const view& t, int col, int channel, bool reads, std::index_sequence<k...>)
            : of_{one(image<k>(t), col, k == 0 ? channel : Terms::other_channel(channel), reads)...} {}
        template <std::size_t k>
        __device__ static const real_view& image(const view& t) {
            if constexpr (k == 0)
                return t;
            else
                return t.others[k - 1];
        }

        one of_[images];
    };

    struct columns {
        sums of[K];

        __device__ void clear() {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].clear();
        }
        __device__ void add(const columns& b) {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].add(b.of[i]);
        }
    };

    __device__ static sums term(const real_view&, const run& r, int i) {
        double x[images];
#pragma unroll
        for (int k = 0; k < images; ++k) x[k] = r.of[k].x[i];
        if constexpr (sampled)
            return Terms::of(x, r.of[0].weight(i));
        else
            return Terms::of(x);
    }

    /// Adds rows first .. end - 1.
    __device__ static void add_rows(columns& to, const real_view& t, const reader& from, int first, int end) {
#pragma unroll 1
        for (int y = first; y < end; ++y) {
            run row;
            from.read(row, y);
#pragma unroll
            for (int i = 0; i < K; ++i) to.of[i].add(term(t, row, i));
        }
    }
};

/// f(row, column, pixels of the window, sums) of all windows of a block with results.
template <typename Kernel, typename F>
__device__ void for_each_added_window(const real_view& t, F f) {
    const auto each = [&](const real_windows_of_thread<Kernel>& windows) {
#pragma unroll
        for (int j = 0; j < Kernel::G; ++j) {
            if (j < windows.first || j >= windows.end) continue;
            const int row = windows.row + j;
            const auto height = static_cast<double>(t.rows.count(row));
#pragma unroll
            for (int i = 0; i < Kernel::K; ++i) {
                if (i >= windows.cols) continue;
                const std::int64_t col = windows.col + i;
                f(row, col, height * static_cast<double>(t.cols.count(col)), windows.rows[j].of[i]);
            }
        }
    };
    if (t.large.suffixes != nullptr) return for_each_large_window<Kernel>(t, each);
    {  // mostly none of a chunk of bands is wanted
        const int strip = static_cast<int>(blockIdx.x) % t.strips, chunk = static_cast<int>(blockIdx.x) / t.strips;
        const int band = t.first_band + chunk * t.chunk_bands, bands = t.first_band + t.bands,
                  end = band + t.chunk_bands < bands ? band + t.chunk_bands : bands;
        if (!wanted(t, static_cast<int>(blockIdx.y), band * t.band_rows, end * t.band_rows, strip * t.strip_cols,
                    (strip + 1) * t.strip_cols))
            return;
    }
    for_each_real_window<Kernel>(t, each);
}

/// Whether blocks hold the windows of a job.
template <typename Kernel>
bool adds_in_blocks(const filters::window_job& job) {
    return real_supports(job, true) &&
           job.cols.before + job.cols.after + Kernel::K <= adding_threads<Kernel>() * Kernel::K * 3 / 4;
}

/// Device memory for windows by additions: none where blocks hold them.
template <typename Kernel>
std::size_t adding_bytes(const filters::window_job& job) {
    return adds_in_blocks<Kernel>(job) ? 0 : large_scratch_bytes(job, Kernel::sums::values, job.first_row, job.end_row);
}

/// Blocks at most so wide as shared memory allows.
template <typename Kernel>
real_shape adding_shape(const filters::window_job& job) {
    real_shape shape = real_shape_of(job, real_terms::moments, job.first_row, job.end_row);
    shape.prepared = false;
    const std::int64_t most = adding_threads<Kernel>();
    if (shape.threads <= most) return shape;
    constexpr std::int64_t columns = layout_of(real_terms::moments, dtype::f64).cols;
    const auto up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
    const std::int64_t width = job.cols.extent, beyond = job.cols.before + job.cols.after + columns;
    const std::int64_t fits = (most * columns - beyond) / columns * columns;
    const std::int64_t strip = up(up(width, up(width, fits)), columns) * columns;
    shape.threads = static_cast<int>(most);
    shape.strip_cols = static_cast<int>(strip);
    shape.strips = static_cast<int>(up(width, strip));
    return shape;
}

/// Launches `kernel`, whose first parameter is the view, with weights of the first image (guided_windows) or none, for
/// the windows that are refused by sums that slide; all where that has no words. `scratch`: adding_bytes().
template <typename Kernel, typename... Parameters, typename... Arguments>
void launch_adding(void (*kernel)(typename Kernel::view, Parameters...), const filters::window_job& job,
                   const const_any_view (&images)[Kernel::images], const const_any_view& weights,
                   const refused_blocks& refused, void* scratch, stream_ref stream, const Arguments&... arguments) {
    const auto windows = [&](const const_any_view& image, const const_any_view& weights_of_image) {
        real_windows w{&job, image, {}, {}, job.first_row, job.end_row, nullptr, refused};
        (weights_of_image.shape.type == dtype::u8 ? w.mask : w.weights) = weights_of_image;
        return w;
    };
    const auto view_of = [&](const auto& on) {
        typename Kernel::view t{};
        static_cast<real_view&>(t) = on(windows(images[0], weights));
        if constexpr (Kernel::images > 1)
            for (int k = 1; k < Kernel::images; ++k) t.others[k - 1] = on(windows(images[k], {}));
        return t;
    };
    if (!adds_in_blocks<Kernel>(job)) {
        const large_shape shape = large_shape_of(job, Kernel::sums::values, job.first_row, job.end_row);
        const auto on = [&](const real_windows& w) { return large_on_device<Kernel>(w, shape); };
        return launch_large<typename Kernel::place>(view_of(on), job, shape, scratch, Kernel::K, Kernel::G, stream,
                                                    [&](const typename Kernel::view& t, const launch_shape& grid) {
                                                        launch(kernel, grid, stream, t, arguments...);
                                                    });
    }
    const real_shape shape = adding_shape<Kernel>(job);
    const typename Kernel::view t = view_of([&](const real_windows& w) { return on_device<Kernel>(w, shape); });
    const int chunks = (shape.bands + shape.chunk_bands - 1) / shape.chunk_bands;
    launch(kernel,
           {.grid = {static_cast<unsigned>(shape.strips * chunks), static_cast<unsigned>(t.channels), 1},
            .block = static_cast<unsigned>(shape.threads),
            .shared_bytes = real_planes<Kernel>::bytes(shape.threads)},
           stream, t, arguments...);
}

}  // namespace boxsum::cuda
