#include "competitors/empty_kernel.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <array>

namespace boxsum::bench {
namespace {

/// Far fewer than the queue of a stream takes, so that no call waits for the device.
constexpr int calls = 64;
constexpr int rounds = 51;

/// Calls that enqueue; the device has nothing to do when they begin.
contestant enqueueing(std::string name, const std::function<void(int)>& call, cuda::stream_ref stream) {
    const auto all = [call] {
        for (int i = 0; i < calls; ++i) call(i);
    };
    all();  // loads the kernels, and what is kept from call to call
    return {std::move(name), all, calls, [stream] { stream.synchronize(); }};
}

void host_time_of(type_pair types, std::int64_t n, cuda::stream_ref stream) {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
    const planned_table table(sets, table_layout::inclusive, "auto", stream);
    cuda::workspace workspace;
    const auto planless = [&](int i) { cuda::sat_async({sets.image(i)}, {{sets.table(i)}}, workspace, stream); };
    const auto waiting = [&](int i) { cuda::sat({sets.image(i)}, {{sets.table(i)}}, stream); };
    const auto waited_for = [&](int) {
        launch_empty_kernel(stream);
        stream.synchronize();
    };
    const std::array contestants{enqueueing(
                                     "plan", [&](int i) { table.run(i, stream); }, stream),
                                 enqueueing(
                                     "empty kernel", [&](int) { launch_empty_kernel(stream); }, stream),
                                 enqueueing("sat_async", planless, stream), enqueueing("sat", waiting, stream),
                                 enqueueing("empty kernel, waited for", waited_for, stream)};
    const std::vector<spread> us = race(contestants, rounds, host_us);
    stream.synchronize();
    const double kernel_us = times_of({table.as_runner()}, calls, true, stream)[0];
    json_line()
        .text("section", "host")
        .text("what", "host us a call")
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .number("us", us[0].median)
        .number("empty_kernel_us", us[1].median)
        .number("beyond_us", us[0].median - us[1].median)
        .number("without_plan_us", us[2].median)
        .number("waiting_us", us[3].median)
        .number("kernel_us", kernel_us)
        .number("waiting_beyond_kernel_us", us[3].median - kernel_us)
        .number("empty_kernel_waiting_us", us[4].median)
        .text("check", table.verdict(stream))
        .print();
}

}  // namespace

void host_section(cuda::stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}})
        for (const std::int64_t n : {64, 128, 256, 512}) host_time_of(types, n, stream);
}

}  // namespace boxsum::bench
