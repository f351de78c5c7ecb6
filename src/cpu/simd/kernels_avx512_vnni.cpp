#define BOXSUM_VECTOR_WRAPPER "cpu/simd/vector_avx512.hpp"
#include "cpu/simd/scan_bytes.hpp"
#include "cpu/simd/sum_rows.hpp"

namespace boxsum::cpu::vnni {

void scan_u8_u32(const tile& t) {
    scan_bytes<std::uint32_t, stores::cached>(t);
}
void scan_u8_f32(const tile& t) {
    scan_bytes<float, stores::cached>(t);
}
void scan_u8_u64(const tile& t) {
    scan_bytes<std::uint64_t, stores::cached>(t);
}
void scan_u8_f64(const tile& t) {
    scan_bytes<double, stores::cached>(t);
}
void stream_u8_u32(const tile& t) {
    scan_bytes<std::uint32_t, stores::streaming>(t);
}
void stream_u8_f32(const tile& t) {
    scan_bytes<float, stores::streaming>(t);
}
void stream_u8_u64(const tile& t) {
    scan_bytes<std::uint64_t, stores::streaming>(t);
}
void stream_u8_f64(const tile& t) {
    scan_bytes<double, stores::streaming>(t);
}
void sum_rows_u8_u32(const tile& t) {
    sum_rows<std::uint8_t, std::uint32_t, false>(t);
}
void sum_rows_u8_u64(const tile& t) {
    sum_rows<std::uint8_t, std::uint64_t, false>(t);
}

}  // namespace boxsum::cpu::vnni
