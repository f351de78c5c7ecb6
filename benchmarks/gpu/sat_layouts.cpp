#include "cuda/runtime/runtime.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <deque>
#include <utility>

namespace boxsum::bench {
namespace {

void layouts_of(type_pair types, std::int64_t n, cuda::stream_ref stream) {
    std::deque<buffer_sets> sets;
    std::deque<planned_table> plans;
    std::vector<runner> runners;
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        sets.emplace_back(packed(types.input, n, n),
                          packed(types.table, table_form(layout).table_extent(n), table_form(layout).table_extent(n)),
                          std::nullopt, stream);
        plans.emplace_back(sets.back(), layout, "auto", stream);
        runners.push_back(plans.back().as_runner());
    }
    // Rows of the padded table start anywhere; with the rows of a cuda::table they start on 256 bytes.
    const view_shape pitched = cuda::device_shape(types.table, n + 1, n + 1);
    sets.emplace_back(packed(types.input, n, n), pitched, std::nullopt, stream);
    plans.emplace_back(sets.back(), table_layout::padded, "auto", stream);
    runners.push_back(plans.back().as_runner());
    const std::vector<double> us = times_of(runners, 8, false, stream);
    const char* const names[] = {"inclusive", "exclusive", "padded", "padded, rows on 256 bytes"};
    for (std::size_t i = 0; i < us.size(); ++i)
        json_line()
            .text("section", "layouts")
            .text("types", name_of(types))
            .number("n", static_cast<double>(n))
            .text("layout", names[i])
            .number("us", us[i])
            .number("x_of_inclusive", us[i] / us[0])
            .text("check", plans[i].verdict(stream))
            .print();
}

/// Against the next multiple of any tile: packed, and with the rows of a cuda::table.
void prime_extents(type_pair types, std::int64_t prime, std::int64_t whole, cuda::stream_ref stream) {
    const buffer_sets odd(packed(types.input, prime, prime), packed(types.table, prime, prime), {}, stream);
    const buffer_sets pitched(cuda::device_shape(types.input, prime, prime),
                              cuda::device_shape(types.table, prime, prime), {}, stream);
    const buffer_sets even(packed(types.input, whole, whole), packed(types.table, whole, whole), {}, stream);
    const planned_table a(odd, table_layout::inclusive, "auto", stream);
    const planned_table b(pitched, table_layout::inclusive, "auto", stream);
    const planned_table c(even, table_layout::inclusive, "auto", stream);
    const std::vector<double> us = times_of({a.as_runner(), b.as_runner(), c.as_runner()}, 8, false, stream);
    const auto print = [&](const char* rows, double time, const planned_table& table) {
        json_line()
            .text("section", "prime")
            .text("types", name_of(types))
            .number("n", static_cast<double>(prime))
            .text("rows", rows)
            .number("us", time)
            .number("x_of_whole_tiles", time / us[2])
            .text("check", table.verdict(stream))
            .print();
    };
    print("packed", us[0], a);
    print("on 256 bytes", us[1], b);
}

}  // namespace

void layouts_section(cuda::stream_ref stream) {
    constexpr type_pair pairs[] = {{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}};
    for (const type_pair types : pairs)
        for (const std::int64_t n : {4096, 8192}) layouts_of(types, n, stream);
    for (const type_pair types : pairs) {
        prime_extents(types, 4093, 4096, stream);
        prime_extents(types, 8191, 8192, stream);
    }
}

}  // namespace boxsum::bench
