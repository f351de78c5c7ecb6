#pragma once

#include "filters/window_job.hpp"

#include <boxsum/cuda/stream.hpp>
#include <boxsum/filters.hpp>

#include <cstdint>
#include <optional>

/// What the filters ask of the device: windows over padded tables.
namespace boxsum::cuda {

/// What counts in windows, as padded tables beside that of the pixels that do; all without data: every pixel counts.
struct sample_tables {
    const_any_view counts;   ///< 32u or 64u: of 1 where a pixel counts; of floats two planes more, of
                             ///< kept_images::positive and negative
    const_any_view weights;  ///< 64f; without data: 1
    const std::uint32_t* any_infinite = nullptr;  ///< 0: nothing in those two planes
    bool all_count = false;                       ///< the plane before those two is not there: every pixel counts
};

/// Windows around rows first_row .. end_row - 1 of one plane, from the table(s) of its rows table_row .. of which the
/// windows' rows are part.
struct window_task {
    filters::window_axis rows, cols;
    const_any_view image;    ///< the plane: the pixels that thresholds compare
    const_any_view table;    ///< padded
    const_any_view squares;  ///< padded; null data: not needed
    sample_tables samples;
    std::int64_t first_row = 0, end_row = 0;
    std::int64_t table_row = 0;  ///< row of the plane that the table's first pixel row is
    double border_value = 0;     ///< with border_mode::constant, as the pixels enter the table
    std::int64_t offset = 0;     ///< what was added to every pixel before it entered the table
    bool wide = false;           ///< the numerator of a variance may exceed 64 bits
};

/// Results of one plane; those without data are not written.
struct window_results {
    any_view mean, variance, deviation;
};

/// Wolf's terms of one plane, by channel, as the kernels keep them: bits of doubles in an order that atomics
/// understand.
struct window_extremes {
    unsigned long long largest_deviation[4];
    unsigned long long smallest_pixel[4];
};

/// These are of integers.
void enqueue_means(const window_task& task, const any_view& result, stream_ref stream);
void enqueue_statistics(const window_task& task, const window_results& results, stream_ref stream);

/// Adds the rows' pixels and deviations to *extremes (device memory, begun by enqueue_clear_extremes).
void enqueue_clear_extremes(window_extremes* extremes, stream_ref stream);
void enqueue_extremes(const window_task& task, window_extremes* extremes, stream_ref stream);

/// `extremes` is read with Wolf's method only. Bradley's needs no squares.
void enqueue_threshold(const window_task& task, const any_view& result, threshold_method method, double k, double range,
                       const window_extremes* extremes, stream_ref stream);

/// (pixel - mean) / max(deviation, epsilon), 32f.
void enqueue_contrast(const window_task& task, const any_view& result, double epsilon, stream_ref stream);

/// Means of windows with a radius per pixel; one below 0 counts as 0, one above `most` as `most`.
void enqueue_variable_means(const window_task& task, const const_any_view& radius, std::int64_t most,
                            const any_view& result, stream_ref stream);

/// The same of any windows of the job: where pixels may not count, rounded down, and their counts, which may have no
/// data.
void enqueue_sampled_variable_means(const window_task& task, const filters::window_job& job,
                                    const const_any_view& radius, std::int64_t most, const any_view& result,
                                    const any_view& count, stream_ref stream);

/// What a radius map holds.
struct radius_range {
    unsigned long long largest;
    unsigned long long first_refused;  ///< index over planes, rows, cols; all ones: none
};
/// To *range (device memory). Radii that are negative or above `most` are refused.
void enqueue_radius_range(const const_any_view& radius, std::int64_t most, radius_range* range, stream_ref stream);

/// 16s as 16u, 32768 higher: unsigned sums and squares then serve both.
void enqueue_raise(const const_any_view& image, const any_view& raised, stream_ref stream);

}  // namespace boxsum::cuda
