#include "competitors/device_kernels.hpp"
#include "cuda/runtime/launch.cuh"

#include <cstring>
#include <type_traits>

namespace boxsum::bench {
namespace {

constexpr int threads = 256;

/// N elements of T moved at once, at most 16 bytes.
template <typename T, int N>
struct alignas(sizeof(T) * N) pack {
    T x[N];
};

template <typename T, int N>
__device__ pack<T, N> load(const T* from) {
    using word =
        std::conditional_t<sizeof(T) * N == 16, uint4,
                           std::conditional_t<sizeof(T) * N == 8, uint2,
                                              std::conditional_t<sizeof(T) * N == 4, unsigned, unsigned short>>>;
    const word bits = __ldcs(reinterpret_cast<const word*>(from));
    pack<T, N> p;
    memcpy(&p, &bits, sizeof p);
    return p;
}

template <typename T, int N>
__device__ void store(T* to, const pack<T, N>& p) {
    using word =
        std::conditional_t<sizeof(T) * N == 16, uint4, std::conditional_t<sizeof(T) * N == 8, uint2, unsigned>>;
    word bits;
    memcpy(&bits, &p, sizeof bits);
    __stcs(reinterpret_cast<word*>(to), bits);
}

/// A block owns Together runs of threads * N elements; N fills a store of 16 bytes of the widest output.
template <int Together, int N, typename In, typename... Outs>
__global__ void convert_kernel(const In* from, std::int64_t elements, Outs*... to) {
    const std::int64_t first = (std::int64_t{blockIdx.x} * Together * threads + threadIdx.x) * N;
    pack<In, N> in[Together];
#pragma unroll
    for (int i = 0; i < Together; ++i)
        if (first + i * threads * N < elements) in[i] = load<In, N>(from + first + i * threads * N);
#pragma unroll
    for (int i = 0; i < Together; ++i) {
        if (first + i * threads * N >= elements) continue;
        const auto write = [&]<typename Out>(Out* out) {
            pack<Out, N> p;
#pragma unroll
            for (int k = 0; k < N; ++k) p.x[k] = static_cast<Out>(in[i].x[k]);
            store<Out, N>(out + first + i * threads * N, p);
        };
        (write(to), ...);
    }
}

template <int N, typename In, typename... Outs>
void run(const void* from, std::int64_t elements, int variant, cuda::stream_ref stream, Outs*... to) {
    const auto go = [&]<int Together>(std::integral_constant<int, Together>) {
        const std::int64_t block = std::int64_t{threads} * N * Together;
        cuda::launch(convert_kernel<Together, N, In, Outs...>,
                     {.grid = static_cast<unsigned>((elements + block - 1) / block), .block = threads}, stream,
                     static_cast<const In*>(from), elements, to...);
    };
    if (variant == 0) go(std::integral_constant<int, 1>{});
    if (variant == 1) go(std::integral_constant<int, 2>{});
    if (variant == 2) go(std::integral_constant<int, 4>{});
}

}  // namespace

bool has_streaming_convert(dtype in, dtype out) {
    if (in == dtype::u8) return out == dtype::u32 || out == dtype::s32 || out == dtype::u64;
    return (in == dtype::f32 && (out == dtype::f32 || out == dtype::f64)) || (in == dtype::f64 && out == dtype::f64);
}

void streaming_convert(dtype in, dtype out, const void* from, void* to, std::int64_t elements, int variant,
                       cuda::stream_ref stream) {
    using u8 = std::uint8_t;
    if (in == dtype::u8 && (out == dtype::u32 || out == dtype::s32))
        run<4, u8>(from, elements, variant, stream, static_cast<std::uint32_t*>(to));
    else if (in == dtype::u8 && out == dtype::u64)
        run<2, u8>(from, elements, variant, stream, static_cast<std::uint64_t*>(to));
    else if (in == dtype::f32 && out == dtype::f32)
        run<4, float>(from, elements, variant, stream, static_cast<float*>(to));
    else if (in == dtype::f32 && out == dtype::f64)
        run<2, float>(from, elements, variant, stream, static_cast<double*>(to));
    else
        run<2, double>(from, elements, variant, stream, static_cast<double*>(to));
}

void streaming_convert_twice(const void* from, void* to, void* also_to, std::int64_t elements, int variant,
                             cuda::stream_ref stream) {
    // Two elements fill a store of the squares; those of the sums are then 8 bytes wide.
    run<2, std::uint8_t>(from, elements, variant, stream, static_cast<std::uint32_t*>(to),
                         static_cast<std::uint64_t*>(also_to));
}

}  // namespace boxsum::bench
