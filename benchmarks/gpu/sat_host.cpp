#include "competitors/empty_kernel.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace boxsum::bench {
namespace {

/// Far fewer than the queue of a stream takes, so that no call waits for the device.
constexpr int calls = 64;
constexpr int rounds = 101;

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
    const auto empty = [&](int) { launch_empty_kernel(stream); };
    const std::array contestants{
        enqueueing("empty kernel", empty, stream),
        enqueueing(
            "plan", [&](int i) { table.run(i, stream); }, stream),
        enqueueing("empty kernel", empty, stream),
        enqueueing("sat_async", planless, stream),
        enqueueing("sat", waiting, stream),
        enqueueing("empty kernel, waited for", waited_for, stream),
    };
    const std::vector<std::vector<double>> times = times_by_round(contestants, rounds, host_us);
    // Beside the empty kernels of its own round, one turn before the plan and one behind it: a processor that changes
    // its clock between rounds leaves two medians of which each may be of another clock.
    std::vector<double> empty_us, beyond_us;
    for (std::size_t round = 0; round < times[0].size(); ++round) {
        empty_us.push_back((times[0][round] + times[2][round]) / 2);
        beyond_us.push_back(times[1][round] - empty_us.back());
    }
    const auto median = [](std::vector<double> samples) { return spread_of(std::move(samples)).median; };
    const double waiting_us = median(times[4]);
    stream.synchronize();
    const double kernel_us = times_of({table.as_runner()}, calls, true, stream)[0];
    json_line()
        .text("section", "host")
        .text("what", "host us a call")
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .number("us", median(times[1]))
        .number("empty_kernel_us", median(empty_us))
        .number("beyond_us", median(beyond_us))
        .number("without_plan_us", median(times[3]))
        .number("waiting_us", waiting_us)
        .number("kernel_us", kernel_us)
        .number("waiting_beyond_kernel_us", waiting_us - kernel_us)
        .number("empty_kernel_waiting_us", median(times[5]))
        .text("check", table.verdict(stream))
        .print();
}

}  // namespace

void host_section(cuda::stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}})
        for (const std::int64_t n : {64, 128, 256, 512}) host_time_of(types, n, stream);
}

}  // namespace boxsum::bench
