#include "api/registry.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

namespace boxsum::bench {
namespace {

void compare_square(const char* section, type_pair types, std::int64_t n, bool graph, cuda::stream_ref stream,
                    std::string_view algorithm = "auto") {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
    const planned_table ours(sets, table_layout::inclusive, algorithm, stream);
    std::vector<runner> runners = references(sets);
    runners.insert(runners.begin(), ours.as_runner());
    const std::int64_t bytes = n * n * static_cast<std::int64_t>(size_of(types.input) + size_of(types.table));
    const std::vector<double> us = times_of(runners, launches_for(bytes), graph, stream);
    const reference_time reference = best_reference(types, runners, us, 1);
    json_line()
        .text("section", section)
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .text("launched", graph ? "graph" : "stream")
        .text("algorithm", runners[0].name)
        .number("us", us[0])
        .text("reference", reference.name)
        .number("reference_us", reference.us)
        .number("x", us[0] / reference.us)
        .number("workspace_share", static_cast<double>(ours.plan().workspace_bytes()) /
                                       static_cast<double>(n * n * static_cast<std::int64_t>(size_of(types.table))))
        .text("check", ours.verdict(stream))
        .print();
}

}  // namespace

void table_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384, 32768})
        compare_square("table", {dtype::f32, dtype::f32}, n, false, stream);
    for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384})
        compare_square("table", {dtype::u8, dtype::u32}, n, false, stream);
    for (const type_pair types : {type_pair{dtype::f32, dtype::f64}, {dtype::f64, dtype::f64}, {dtype::u8, dtype::u64}})
        for (const std::int64_t n : {4096, 8192, 16384}) compare_square("table", types, n, false, stream);
}

void small_section(cuda::stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const std::int64_t n : {64, 256, 512, 1024, 2048}) compare_square("small", types, n, true, stream);
}

void algorithms_section(cuda::stream_ref stream) {
    for (const algorithm_record* record : registry(operation::sat)) {
        if (record->info.where != backend::cuda || !record->info.built) continue;
        for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
            for (const std::int64_t n : {1024, 4096, 16384})
                compare_square("algorithms", types, n, false, stream, record->info.name);
    }
}

}  // namespace boxsum::bench
