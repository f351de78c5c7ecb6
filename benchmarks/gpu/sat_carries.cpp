#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

template <typename T>
std::vector<T> downloaded(const void* data, std::int64_t count, cuda::stream_ref stream) {
    std::vector<T> values(static_cast<std::size_t>(count));
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(values.data(), data, values.size() * sizeof(T), cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    return values;
}

/// A carry's row or column of integers so small that every sum is exact.
template <typename T>
std::vector<T> carry_of(std::int64_t count, std::uint32_t seed) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<T>((seed += 0x9e3779b9u * static_cast<std::uint32_t>(i + 1)) >> 22));
    return values;
}

/// A table that is a part of a larger one beside the same table by itself.
template <typename T>
void seeded_table(type_pair types, std::int64_t n, cuda::stream_ref stream) {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
    const planned_table whole(sets, table_layout::inclusive, "auto", stream);

    const std::vector<T> above = carry_of<T>(n + 1, 1), left = carry_of<T>(n, 2);  // the corner first
    cuda::device_buffer above_memory((above.size()) * sizeof(T), stream), left_memory(left.size() * sizeof(T), stream);
    const auto upload = [&](const cuda::device_buffer& to, const std::vector<T>& from) {
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream.get()));
    };
    upload(above_memory, above);
    upload(left_memory, left);
    const table_carries carries{{above_memory.data(), packed(types.table, 1, n + 1)},
                                {left_memory.data(), packed(types.table, n, 1)}};
    const auto outputs_of = [&](int i) { return sat_outputs{{sets.table(i), table_layout::inclusive}}; };
    const cuda::sat_plan plan({sets.image(0), carries}, outputs_of(0));
    cuda::workspace workspace(plan.workspace_bytes(), stream);
    const runner seeded{"seeded", [&](int i, cuda::stream_ref s) {
                            plan.run_async({sets.image(i), carries}, outputs_of(i), workspace, s);
                        }};
    const std::vector<double> us = times_of({whole.as_runner(), seeded}, launches_for(n * n * 8), false, stream);

    std::string verdict = whole.verdict(stream);
    const std::vector<T> expected = downloaded<T>(sets.table(0).data, n * n, stream);
    seeded.launch(0, stream);
    const std::vector<T> got = downloaded<T>(sets.table(0).data, n * n, stream);
    for (std::size_t r = 0, i = 0; r < left.size() && verdict == "equal"; ++r)
        for (std::size_t c = 0; c < left.size(); ++c, ++i) {
            const T more = static_cast<T>(above[c + 1] + (left[r] - above[0]));
            if (got[i] == static_cast<T>(expected[i] + more)) continue;
            verdict = "WRONG: row " + std::to_string(r) + ", column " + std::to_string(c);
            break;
        }
    json_line()
        .text("section", "carries")
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .number("us", us[1])
        .number("unseeded_us", us[0])
        .number("x_of_unseeded", us[1] / us[0])
        .text("check", verdict)
        .print();
}

}  // namespace

void carries_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {1024, 2048, 4096, 16384}) {
        seeded_table<std::uint32_t>({dtype::u8, dtype::u32}, n, stream);
        seeded_table<float>({dtype::f32, dtype::f32}, n, stream);
    }
}

}  // namespace boxsum::bench
