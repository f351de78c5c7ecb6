#pragma once

#include <cstdint>
#include <type_traits>

/// Prefix sums of the 32 lanes of a warp, in registers. All lanes of the warp call, in one-dimensional blocks.
namespace boxsum::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned whole_warp = 0xffffffffu;

__device__ inline int lane_id() {
    return static_cast<int>(threadIdx.x) % warp_size;
}
__device__ inline int warp_id() {
    return static_cast<int>(threadIdx.x) / warp_size;
}

// What another lane has; all lanes call. sum_and_squares.cuh has the same for two numbers at once.

template <typename T>
__device__ inline T shuffle(T x, int lane) {
    return __shfl_sync(whole_warp, x, lane);
}
/// Of the lane that is `distance` lanes before; its own in the first ones.
template <typename T>
__device__ inline T shuffle_up(T x, int distance) {
    return __shfl_up_sync(whole_warp, x, distance);
}
template <typename T>
__device__ inline T shuffle_xor(T x, int distance) {
    return __shfl_xor_sync(whole_warp, x, distance);
}

/// The networks of Chen et al. 2018, figure 2. Both have 5 stages.
enum class scan_network {
    kogge_stone,     ///< algorithm 3: stage i adds the value i lanes to the left; 31 + 30 + 28 + 24 + 16 additions
    ladner_fischer,  ///< algorithm 4: stage i adds the last value of the left half of 2i lanes; 5 x 16 additions
};

/// Calls f.template operator()<Network>(): 0 is Kogge-Stone, 1 Ladner-Fischer.
template <typename F>
void visit_scan_network(int choice, F&& f) {
    if (choice == 0)
        f.template operator()<scan_network::kogge_stone>();
    else
        f.template operator()<scan_network::ladner_fischer>();
}

/// Inclusive. Two slips of the printed algorithms are corrected: Kogge-Stone adds where lane >= i (printed: >), and
/// both loops end before i = 32.
template <scan_network Network = scan_network::kogge_stone, typename T>
__device__ T warp_scan(T x) {
    const int lane = lane_id();
#pragma unroll
    for (int i = 1; i < warp_size; i *= 2) {
        if constexpr (Network == scan_network::kogge_stone) {
            const T left = shuffle_up(x, i);
            if (lane >= i) x = left + x;
        } else {
            const T left = __shfl_sync(whole_warp, x, i - 1, 2 * i);
            if ((lane & (2 * i - 1)) >= i) x = left + x;
        }
    }
    return x;
}

/// How the steps of a scan leave out lanes that have no left neighbour.
enum class scan_steps {
    selected,    ///< by a comparison and a selection
    predicated,  ///< by the exchange's own predicate, for 32f and 32u: two instructions a step instead of three
};

/// Step of a scan: adds what the lane `step` lanes before has, where there is one.
template <typename T>
__device__ inline void add_from_left(T& x, int step) {
    const T left = shuffle_up(x, step);
    if (lane_id() >= step) x = left + x;
}

/// The same for C values, of which x[k] gets what is at x[(k + turned) % C] there.
template <typename T, int C>
__device__ inline void add_from_left(T (&x)[C], int step, int turned) {
    T left[C];
#pragma unroll
    for (int k = 0; k < C; ++k) left[k] = shuffle_up(x[(k + turned) % C], step);
#pragma unroll
    for (int k = 0; k < C; ++k)
        if (lane_id() >= step) x[k] = left[k] + x[k];
}

#ifndef BOXSUM_EMULATED
__device__ inline void add_from_left(float& x, int step) {
    asm volatile(
        "{\n.reg .f32 left;\n.reg .pred exists;\n"
        "shfl.sync.up.b32 left|exists, %0, %1, 0, -1;\n"
        "@exists add.f32 %0, left, %0;\n}"
        : "+f"(x)
        : "r"(step));
}

__device__ inline void add_from_left(std::uint32_t& x, int step) {
    asm volatile(
        "{\n.reg .b32 left;\n.reg .pred exists;\n"
        "shfl.sync.up.b32 left|exists, %0, %1, 0, -1;\n"
        "@exists add.u32 %0, left, %0;\n}"
        : "+r"(x)
        : "r"(step));
}

/// All exchanges come before the first addition.
// H200, 13.0: 32f32f with three channels at 4096 0.94 of the time with selections
__device__ inline void add_from_left(float (&x)[3], int step, int turned) {
    asm volatile(
        "{\n.reg .f32 a, b, c;\n.reg .pred exists;\n"
        "shfl.sync.up.b32 a|exists, %4, %3, 0, -1;\n"
        "shfl.sync.up.b32 b|exists, %5, %3, 0, -1;\n"
        "shfl.sync.up.b32 c|exists, %6, %3, 0, -1;\n"
        "@exists add.f32 %0, a, %0;\n"
        "@exists add.f32 %1, b, %1;\n"
        "@exists add.f32 %2, c, %2;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2])
        : "r"(step), "f"(x[turned % 3]), "f"(x[(1 + turned) % 3]), "f"(x[(2 + turned) % 3]));
}
#endif

/// warp_scan() with predicated steps; the same bits.
template <typename T>
__device__ inline T predicated_warp_scan(T x) {
#pragma unroll
    for (int i = 1; i < warp_size; i *= 2) add_from_left(x, i);
    return x;
}

/// The sum of all lanes, the same bits in every lane.
template <typename T>
__device__ T warp_sum(T x) {
#pragma unroll
    for (int i = 1; i < warp_size; i *= 2) x = x + shuffle_xor(x, i);
    return x;
}

template <typename T>
__device__ T last_lane(T x) {
    return shuffle(x, warp_size - 1);
}

/// Sum of the lanes before this one, from that of the lanes up to this one: a shift, not a subtraction, which would
/// round and would carry infinities to where they do not belong.
template <typename T>
__device__ T exclusive_of(T inclusive) {
    const T left = shuffle_up(inclusive, 1);
    return lane_id() == 0 ? T{} : left;
}

/// The same where this lane's own summand `x` is at hand, which integers may subtract.
template <typename T>
__device__ T exclusive_of(T inclusive, T x) {
    if constexpr (std::is_integral_v<T>)
        return inclusive - x;
    else
        return exclusive_of(inclusive);
}

/// Replaces the N neighbouring values that each lane holds of a row of 32 * N by the inclusive prefix sums of the row.
template <scan_steps Steps = scan_steps::selected, typename T, int N>
__device__ void warp_scan_row(T (&x)[N]) {
#pragma unroll
    for (int i = 1; i < N; ++i) x[i] += x[i - 1];
    T up_to;
    if constexpr (Steps == scan_steps::predicated && (std::is_same_v<T, float> || std::is_same_v<T, std::uint32_t>))
        up_to = predicated_warp_scan(x[N - 1]);
    else
        up_to = warp_scan(x[N - 1]);
    const T before = exclusive_of(up_to, x[N - 1]);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] += before;
}

}  // namespace boxsum::cuda
