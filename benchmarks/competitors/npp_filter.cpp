#include "competitors/convolve_peers.hpp"

#include <boxsum/error.hpp>

#ifdef BOXSUM_BENCH_NPP_FILTER
#include "competitors/npp_context.hpp"

#include <nppi_filtering_functions.h>

#include <stdexcept>
#endif

namespace boxsum::bench {

#ifdef BOXSUM_BENCH_NPP_FILTER

std::string npp_filter_absent() {
    return {};
}

void npp_filter(const float* image, const float* kernel, float* result, std::int64_t n, int side,
                cuda::stream_ref stream) {
    const int width = static_cast<int>(n), before = side / 2, inside = width - side + 1, behind = side - 1 - before;
    const std::int64_t first = before * n + before;
    const NppStatus status =
        nppiFilter_32f_C1R_Ctx(image + first, width * 4, result + first, width * 4, {inside, inside}, kernel,
                               {side, side}, {behind, behind}, npp_context(stream));
    if (status != NPP_SUCCESS) throw std::runtime_error("nppiFilter_32f_C1R_Ctx: status " + std::to_string(status));
}

#else

std::string npp_filter_absent() {
    return "NPP's filters were not found when this was built";
}

void npp_filter(const float*, const float*, float*, std::int64_t, int, cuda::stream_ref) {
    throw unsupported(npp_filter_absent());
}

#endif

}  // namespace boxsum::bench
