#include "cuda/filters/real_launches.hpp"
#include "cuda/filters/real_results.cuh"

// Formulas have the CPU's bits: this file is compiled without contraction (-fmad=false).

namespace boxsum::cuda {

void launch_real_means(const real_windows& windows, const real_finish& to, stream_ref stream) {
    const dtype type = windows.image.shape.type;
    switch (real_terms_of(*windows.job, false)) {
        case real_terms::packed_squares:
            return launch_real_moments(windows, to, stream);
        case real_terms::value:
            return type == dtype::f32 ? launch_filter<f32, real_terms::value>(windows, to, stream)
                                      : launch_filter<f64, real_terms::value>(windows, to, stream);
        default:
            return type == dtype::f64 ? launch_filter<f64, real_terms::weighted>(windows, to, stream)
                                      : launch_filter<narrow_pixel, real_terms::weighted>(windows, to, stream);
    }
}

}  // namespace boxsum::cuda
