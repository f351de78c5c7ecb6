#pragma once

#include "cpu/filters/bands.hpp"
#include "cpu/filters/row_kernels.hpp"
#include "cpu/filters/widened_image.hpp"
#include "filters/window_job.hpp"

namespace boxsum::filters {

/// A window job with what it needs to be done on the CPU. Rows are numbered in the whole image. Images of types without
/// kernels are taken as copies: `shape.type` and `image` are those of the copy.
struct row_job : window_job {
    dtype image_type;  ///< as it was given
    widened_image widened;
    const_any_view image;
    const_any_view mask;     ///< null data without one
    const_any_view weights;  ///< null data without
    const row_kernels* kernels = nullptr;

    /// `threads` becomes the number that is used.
    row_job(const window_job& windows, const filter_inputs& inputs);

    template <typename T>
    const T* pixels(std::int64_t row, std::int64_t plane) const {
        return row_of<T>(image, row - part_row, plane);
    }

    /// Whether results of so many bytes an element are better stored past the caches.
    bool streams(std::int64_t result_bytes) const;

    template <typename T>
    T* row_to(const any_view& result, std::int64_t row, std::int64_t plane) const {
        return row_of<T>(result, row - first_row, plane);
    }
};

/// Asks for what will be read soon. Not inline: GCC 12 leaves out calls of functions that do nothing else.
void fetch_lines(const void* from, std::int64_t bytes);

/// Where means and spreads of a row, or of a piece of it, are written.
template <typename Out>
struct moment_rows {
    Out *mean, *spread;
};

/// Calls work(band, thread) over the rows that have results, on the job's threads.
void for_each_band(const row_job& job, band_work work);

/// Of rows alone, whatever planes there are: work(band of plane 0).
template <typename F>
void for_each_band_of_rows(const row_job& job, F&& work) {
    for_each_band(1, job.result_rows(), job.threads, [&](const band& b, int) {
        work(band{0, b.first + job.first_row, b.end + job.first_row});
    });
}

}  // namespace boxsum::filters
