#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {
namespace {

real_finish finish_of(const real_windows& windows, real_task task, const real_results& results) {
    const filters::window_job& job = *windows.job;
    real_finish to;
    to.task = task;
    to.mean = run_output(results.mean, job);
    to.variance = run_output(results.variance, job);
    to.deviation = run_output(results.deviation, job);
    to.sum = run_output(results.sum, job);
    to.count = run_output(results.count, job);
    to.least = job.weighted ? job.min_weight : static_cast<double>(job.min_count);
    to.half = job.rounding == rounding_mode::half_up ? 1 : 0;
    const bool held_higher = windows.image.shape.type == dtype::s16 && !job.weighted;  // by packed sums
    to.offset = held_higher ? 32768 : 0;
    return to;
}

/// By sums that slide, or by additions.
void launch_windows(const real_windows& windows, bool squares, const real_finish& to, stream_ref stream) {
    const filters::window_job& job = *windows.job;
    const bool means = !squares && to.task == real_task::statistics;
    if (real_slides(job, squares)) {
        if (means) return launch_sliding_means(windows, to, stream);
        if (job.shape.type == dtype::u8 && !job.weighted) return launch_counted_moments(windows, squares, to, stream);
        if (to.task == real_task::statistics) return launch_sliding_moments(windows, to, stream);
    }
    if (!real_supports(job, squares)) return launch_large_windows(windows, to, stream);
    squares ? launch_real_moments(windows, to, stream) : launch_real_means(windows, to, stream);
}

}  // namespace

void launch_real_moments(const real_windows& windows, const real_finish& to, stream_ref stream) {
    const dtype type = windows.image.shape.type;
    switch (real_terms_of(*windows.job, true)) {
        case real_terms::moments:
            return type == dtype::f32 ? launch_filter<f32, real_terms::moments>(windows, to, stream)
                                      : launch_filter<f64, real_terms::moments>(windows, to, stream);
        case real_terms::packed_squares:
            return type == dtype::u8 ? launch_filter<u8, real_terms::packed_squares>(windows, to, stream)
                                     : launch_filter<u16, real_terms::packed_squares>(windows, to, stream);
        default:
            return launch_filter<any_pixel, real_terms::weighted_moments>(windows, to, stream);
    }
}

void enqueue_real_statistics(const real_windows& windows, const real_results& results, stream_ref stream) {
    const real_finish to = finish_of(windows, real_task::statistics, results);
    const bool squares = results.variance.data != nullptr || results.deviation.data != nullptr;
    launch_windows(windows, squares, to, stream);
}

void enqueue_real_contrast(const real_windows& windows, const real_results& results, double epsilon,
                           stream_ref stream) {
    real_finish to = finish_of(windows, real_task::contrast, results);
    to.epsilon = epsilon;
    launch_windows(windows, true, to, stream);
}

void enqueue_real_extremes(const real_windows& windows, window_extremes* extremes, stream_ref stream) {
    real_finish to = finish_of(windows, real_task::extremes, {});
    to.extremes = extremes;
    launch_windows(windows, true, to, stream);
}

void enqueue_real_threshold(const real_windows& windows, const real_results& results,
                            const filters::threshold_job& formula, window_extremes* extremes, stream_ref stream) {
    const bool limit = formula.output == threshold_output::threshold;
    real_finish to = finish_of(windows, limit ? real_task::limit : real_task::threshold, results);
    to.terms = {formula.method, formula.k, formula.range, formula.p, formula.q, 0, 0};
    to.yes = formula.output == threshold_output::zero_one ? 1 : 255;
    to.extremes = extremes;
    // Kernels of the means of all pixels of floats know no thresholds.
    const bool means = formula.of_means() && real_terms_of(*windows.job, false) != real_terms::value;
    launch_windows(windows, !means, to, stream);
}

}  // namespace boxsum::cuda
