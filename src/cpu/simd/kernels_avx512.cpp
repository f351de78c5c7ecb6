#define BOXSUM_VECTOR_WRAPPER "cpu/simd/vector_avx512.hpp"
#include "cpu/simd/scan_kernels.hpp"

namespace boxsum::cpu {
namespace {

constexpr kernel_set with_vnni(kernel_set set) {
    set.name = "avx512-vnni";
    const auto at = [&](kernel_id id) -> kernel_set::entry& { return set.kernels[static_cast<std::size_t>(id)]; };
    at(kernel_id::u8_u32).cached = vnni::scan_u8_u32;
    at(kernel_id::u8_f32).cached = vnni::scan_u8_f32;
    at(kernel_id::u8_u64).cached = vnni::scan_u8_u64;
    at(kernel_id::u8_f64).cached = vnni::scan_u8_f64;
    at(kernel_id::u8_u32).streaming = vnni::stream_u8_u32;
    at(kernel_id::u8_f32).streaming = vnni::stream_u8_f32;
    at(kernel_id::u8_u64).streaming = vnni::stream_u8_u64;
    at(kernel_id::u8_f64).streaming = vnni::stream_u8_f64;
    at(kernel_id::u8_u32).sum_rows = vnni::sum_rows_u8_u32;
    at(kernel_id::u8_u64).sum_rows = vnni::sum_rows_u8_u64;
    return set;
}

}  // namespace

constinit const kernel_set avx512_kernels = make_kernel_set("avx512");
constinit const kernel_set avx512_vnni_kernels = with_vnni(make_kernel_set("avx512"));

}  // namespace boxsum::cpu
