#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"
#include "support/device_oracle.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>
#include <optional>

namespace boxsum::bench {
namespace {

void special_case(const std::string& what, const view_shape& image, const view_shape& table,
                  const std::optional<view_shape>& squares, cuda::stream_ref stream) {
    const buffer_sets sets(image, table, squares, stream);
    const planned_table ours(sets, table_layout::inclusive, "auto", stream);
    std::vector<runner> runners = streaming_kernels(sets);
    runners.insert(runners.begin(), ours.as_runner());
    const std::vector<double> us = times_of(runners, 8, false, stream);
    const double reference = *std::min_element(us.begin() + 1, us.end());
    json_line()
        .text("section", "special")
        .text("case", what)
        .text("algorithm", runners[0].name)
        .number("us", us[0])
        .number("reference_us", reference)
        .number("x", us[0] / reference)
        .text("check", ours.verdict(stream))
        .print();
}

/// A pyramid from 1024 x 1024 down to 1 x 1, or many small images: as a list, and image by image.
void list_case(const std::string& name, const std::vector<view_shape>& shapes, cuda::stream_ref stream) {
    std::deque<cuda::device_buffer> memory;
    std::vector<sat_inputs> images;
    std::vector<sat_outputs> tables;
    for (const view_shape& image : shapes) {
        view_shape table = packed(dtype::u32, image.rows, image.cols);
        memory.emplace_back(cuda::span_bytes(image), stream);
        test::fill_exact({memory.back().data(), image}, 0, memory.size(), stream);
        images.push_back({{memory.back().data(), image}});
        memory.emplace_back(cuda::span_bytes(table), stream);
        tables.push_back({{{memory.back().data(), table}}});
    }
    const cuda::sat_list_plan list(images, tables);
    std::vector<cuda::sat_plan> alone;
    cuda::workspace workspace(list.workspace_bytes(), stream);
    for (std::size_t i = 0; i < images.size(); ++i)
        workspace.reserve(alone.emplace_back(images[i], tables[i]).workspace_bytes(), stream);
    const std::vector<runner> runners = {
        {"list", [&](int, cuda::stream_ref s) { list.run_async(images, tables, workspace, s); }},
        {"one by one", [&](int, cuda::stream_ref s) {
             for (std::size_t i = 0; i < alone.size(); ++i) alone[i].run_async(images[i], tables[i], workspace, s);
         }}};
    for (const bool graph : {false, true}) {
        const std::vector<double> us = times_of(runners, 16, graph, stream);
        std::string verdict = "equal";  // of the list, whose tables are cleared before
        for (const sat_outputs& table : tables) {
            const any_view& sums = table.sums.entries;
            BOXSUM_CUDA_TRY(cudaMemsetAsync(sums.data, 0, cuda::span_bytes(sums.shape), stream.get()));
        }
        runners[0].launch(0, stream);
        for (std::size_t i = 0; i < tables.size() && verdict == "equal"; ++i)
            verdict = verdict_on(images[i].image, tables[i].sums.entries, table_layout::inclusive, stream);
        json_line()
            .text("section", "special")
            .text("case", name)
            .text("launched", graph ? "graph" : "calls")
            .number("images", static_cast<double>(shapes.size()))
            .number("us", us[0])
            .number("one_by_one_us", us[1])
            .text("check", verdict)
            .print();
    }
}

}  // namespace

void special_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {2048, 4096, 8192, 16384})
        special_case("squares 8u32u64u " + std::to_string(n), packed(dtype::u8, n, n), packed(dtype::u32, n, n),
                     packed(dtype::u64, n, n), stream);
    special_case("1024 planes of 256 x 256 8u32u", packed(dtype::u8, 256, 256, 1, 1024),
                 packed(dtype::u32, 256, 256, 1, 1024), {}, stream);
    std::vector<view_shape> pyramid, icons;
    for (std::int64_t n = 1024; n > 0; n /= 2) pyramid.push_back(packed(dtype::u8, n, n));
    for (std::int64_t i = 0; i < 100; ++i) icons.push_back(packed(dtype::u8, 60 + i, 200 - i));
    list_case("pyramid 8u32u from 1024 x 1024", pyramid, stream);
    list_case("100 images 8u32u of about 110 x 150", icons, stream);
    for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}})
        for (const std::int64_t channels : {2, 3, 4})
            special_case(std::to_string(channels) + " channels " + name_of(types) + " 4096",
                         packed(types.input, 4096, 4096, channels), packed(types.table, 4096, 4096, channels), {},
                         stream);
}

}  // namespace boxsum::bench
