#include "competitors/device_kernels.hpp"
#include "competitors/npp_context.hpp"

#include <boxsum/error.hpp>

#include <nppi_statistics_functions.h>

#include <stdexcept>

namespace boxsum::bench {

bool npp_available() {
    return true;
}

void npp_integral(dtype out, const void* image, void* table, std::int64_t n, cuda::stream_ref stream) {
    const NppStreamContext context = npp_context(stream);
    const int side = static_cast<int>(n);
    const auto* const pixels = static_cast<const Npp8u*>(image);
    const NppiSize size{side, side};
    const NppStatus status =
        out == dtype::f32
            ? nppiIntegral_8u32f_C1R_Ctx(pixels, side, static_cast<Npp32f*>(table), (side + 1) * 4, size, 0, context)
            : nppiIntegral_8u32s_C1R_Ctx(pixels, side, static_cast<Npp32s*>(table), (side + 1) * 4, size, 0, context);
    if (status != NPP_SUCCESS) throw std::runtime_error("nppiIntegral_8u32*_C1R_Ctx: status " + std::to_string(status));
}

}  // namespace boxsum::bench
