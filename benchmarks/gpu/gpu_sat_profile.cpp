// Launches for a profiler: the tables of gpu_sat_bench and kernels with their traffic, once each between
// cudaProfilerStart() and cudaProfilerStop(). Prints one JSON object for each of them, in the order of the launches;
// scripts/profile_gpu runs it under ncu. Times of it mean nothing, and nothing is compared: gpu_sat_bench does that.

#include "../../tools/boxsum/cuda_device.hpp"
#include "competitors/device_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <optional>
#include <string>

namespace boxsum::bench {
namespace {

struct profiled_table {
    std::string name;
    type_pair types;
    std::int64_t n, channels = 1;
    table_layout layout = table_layout::inclusive;
    bool squares = false;
};

/// `bytes`: what the launches read and write at least. `kernels`: launches in a row that belong to the name.
void print(const std::string& name, type_pair types, std::int64_t n, std::int64_t bytes, int kernels) {
    json_line()
        .text("case", name)
        .text("types", name_of(types))
        .integer("n", n)
        .integer("bytes", bytes)
        .integer("kernels", kernels)
        .print();
}

template <typename F>
void profiled(cuda::stream_ref stream, F&& f) {
    stream.synchronize();
    BOXSUM_CUDA_TRY(cudaProfilerStart());
    f();
    stream.synchronize();
    BOXSUM_CUDA_TRY(cudaProfilerStop());
}

void profile_table(const profiled_table& t, cuda::stream_ref stream) {
    const view_shape image = packed(t.types.input, t.n, t.n, t.channels);
    const view_shape table = packed(t.types.table, table_form(t.layout).table_extent(t.n),
                                    table_form(t.layout).table_extent(t.n), t.channels);
    std::optional<view_shape> squares;
    if (t.squares) squares = packed(dtype::u64, t.n, t.n);
    const buffer_sets sets(image, table, squares, stream);
    const planned_table planned(sets, t.layout, "auto", stream);
    planned.run(0, stream);
    profiled(stream, [&] { planned.run(1, stream); });
    print(t.name, t.types, t.n,
          static_cast<std::int64_t>(cuda::span_bytes(image) + cuda::span_bytes(table) +
                                    (squares ? cuda::span_bytes(*squares) : 0)),
          1);
}

/// A kernel that reads and writes as much and does nothing else.
void profile_streaming(type_pair types, std::int64_t n, cuda::stream_ref stream) {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
    const auto run = [&](int set) {
        streaming_convert(types.input, types.table, sets.image(set).data, sets.table(set).data, n * n, 1, stream);
    };
    run(0);
    profiled(stream, [&] { run(1); });
    print("streaming kernel", types, n, n * n * static_cast<std::int64_t>(size_of(types.input) + size_of(types.table)),
          1);
}

void run(cuda::stream_ref stream) {
    constexpr type_pair u8u32{dtype::u8, dtype::u32}, f32f32{dtype::f32, dtype::f32}, f32f64{dtype::f32, dtype::f64},
        f64f64{dtype::f64, dtype::f64}, u8u64{dtype::u8, dtype::u64};
    for (const type_pair types : {f32f32, u8u32, f32f64, f64f64, u8u64}) profile_streaming(types, 8192, stream);
    for (const type_pair types : {f32f32, u8u32})
        for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384}) profile_table({"table", types, n}, stream);
    for (const type_pair types : {f32f64, f64f64, u8u64})
        for (const std::int64_t n : {4096, 8192}) profile_table({"table", types, n}, stream);
    for (const type_pair types : {f32f32, u8u32}) {
        profile_table({"exclusive", types, 4096, 1, table_layout::exclusive}, stream);
        profile_table({"padded, rows anywhere", types, 8192, 1, table_layout::padded}, stream);
        profile_table({"prime", types, 8191}, stream);
        for (const std::int64_t channels : {2, 3, 4})
            profile_table({std::to_string(channels) + " channels", types, 4096, channels}, stream);
    }
    profile_table({"sums, and squares in 64u", u8u32, 8192, 1, table_layout::inclusive, true}, stream);
}

}  // namespace
}  // namespace boxsum::bench

int main() {
    try {
        boxsum::cuda::set_device(boxsum::cli::device_from_text("cuda"));
        const boxsum::cuda::stream stream;
        boxsum::bench::run(stream);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "boxsum: error: %s\n", e.what());
        return 1;
    }
}
