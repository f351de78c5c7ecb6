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

void npp_box_mean(dtype type, const void* image, void* result, std::int64_t n, int radius, cuda::stream_ref stream) {
    const int width = static_cast<int>(n), side = 2 * radius + 1;
    const NppStreamContext context = npp_context(stream);
    const auto run = [&](auto call, auto pixel) {
        using value = decltype(pixel);
        const int step = width * static_cast<int>(sizeof(value));
        const NppStatus status = call(static_cast<const value*>(image), step, NppiSize{width, width}, NppiPoint{0, 0},
                                      static_cast<value*>(result), step, NppiSize{width, width}, NppiSize{side, side},
                                      NppiPoint{radius, radius}, NPP_BORDER_REPLICATE, context);
        if (status != NPP_SUCCESS) throw std::runtime_error("nppiFilterBoxBorder: status " + std::to_string(status));
    };
    if (type == dtype::u8)
        run(nppiFilterBoxBorder_8u_C1R_Ctx, Npp8u{});
    else if (type == dtype::u16)
        run(nppiFilterBoxBorder_16u_C1R_Ctx, Npp16u{});
    else
        run(nppiFilterBoxBorder_32f_C1R_Ctx, Npp32f{});
}

#else

std::string npp_filter_absent() {
    return "NPP's filters were not found when this was built";
}

void npp_filter(const float*, const float*, float*, std::int64_t, int, cuda::stream_ref) {
    throw unsupported(npp_filter_absent());
}

void npp_box_mean(dtype, const void*, void*, std::int64_t, int, cuda::stream_ref) {
    throw unsupported(npp_filter_absent());
}

#endif

}  // namespace boxsum::bench
