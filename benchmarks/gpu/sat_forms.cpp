#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/memory.hpp>

#include <deque>
#include <iterator>

namespace boxsum::bench {
namespace {

constexpr std::int64_t level = 100;

struct named_form {
    const char* name;
    table_form form;
};

/// In padded tables with the rows of a cuda::table, all in one race. What has an offset has pixels about it, so that
/// sums in 32f stay exact.
void forms_of(type_pair types, std::int64_t n, cuda::stream_ref stream) {
    const view_shape image = packed(types.input, n, n), table = cuda::device_shape(types.table, n + 1, n + 1);
    const buffer_sets about_zero(image, table, {}, stream), about_level(image, table, {}, stream, level);
    const table_origin middle{n / 2, n / 2}, odd{n / 2 + 1, n / 2 + 1};
    const named_form forms[] = {{"plain", table_layout::padded},
                                {"offset", {table_layout::padded, {}, level}},
                                {"origin", {table_layout::padded, middle}},
                                {"odd origin", {table_layout::padded, odd}},
                                {"both", {table_layout::padded, middle, level}}};
    std::deque<planned_table> plans;
    std::vector<runner> runners;
    for (const named_form& f : forms) {
        plans.emplace_back(f.form.has_offset() ? about_level : about_zero, f.form, "auto", stream);
        runners.push_back(plans.back().as_runner());
    }
    const std::vector<double> us = times_of(runners, 8, false, stream);
    for (std::size_t i = 0; i < std::size(forms); ++i)
        json_line()
            .text("section", "forms")
            .text("types", name_of(types))
            .number("n", static_cast<double>(n))
            .text("form", forms[i].name)
            .text("algorithm", runners[i].name)
            .number("us", us[i])
            .number("over_plain", us[i] / us[0])
            .text("check", plans[i].verdict(stream))
            .print();
}

}  // namespace

void forms_section(cuda::stream_ref stream) {
    constexpr type_pair pairs[] = {{dtype::f32, dtype::f32}, {dtype::f32, dtype::f64}, {dtype::u8, dtype::u32}};
    for (const type_pair types : pairs)
        for (const std::int64_t n : {1024, 4096, 16384}) forms_of(types, n, stream);
}

}  // namespace boxsum::bench
