#include "cpu/many_callers.hpp"

#include "measure/host_data.hpp"
#include "measure/rounds.hpp"

#include <boxsum/memory.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

namespace boxsum::bench {
namespace {

struct caller {
    host_buffer pixels, entries;
    const_any_view image;
    any_view table;

    caller(type_pair types, std::int64_t n)
        : image{nullptr, aligned_shape(types.input, n, n, 1)}, table{nullptr, aligned_shape(types.table, n, n, 64)} {
        pixels = memory_pool::shared().acquire(static_cast<std::size_t>(image.shape.plane_stride));
        entries = memory_pool::shared().acquire(static_cast<std::size_t>(table.shape.plane_stride));
        std::memset(entries.data(), 0, entries.size());
        fill_random(pixels.data(), types.input, n * n);
        image.data = pixels.data();
        table.data = entries.data();
    }
    void make(int tables) const {
        for (int i = 0; i < tables; ++i) sat({image}, {{table}});
    }
    bool is_right() const {
        const host_buffer expected = memory_pool::shared().acquire(static_cast<std::size_t>(table.shape.plane_stride));
        const any_view want{expected.data(), table.shape};
        sat({image}, {{want}}, {.algorithm = "reference"});
        return same_table(table, want);
    }
};

}  // namespace

callers_times time_callers(type_pair types, std::int64_t n, int callers, int rounds, double round_ms) {
    std::vector<caller> all;
    for (int i = 0; i < callers; ++i) all.emplace_back(types, n);
    const int tables = computations_for(host_us([&] { all[0].make(1); }), round_ms);

    bool ended = false;
    std::barrier start(callers + 1), end(callers + 1);
    std::vector<std::thread> threads;
    for (const caller& one : all)
        threads.emplace_back([&] {
            for (;;) {
                start.arrive_and_wait();
                if (ended) return;
                one.make(tables);
                end.arrive_and_wait();
            }
        });
    const std::vector<contestant> contestants{{"in turn",
                                               [&] {
                                                   for (const caller& one : all) one.make(tables);
                                               },
                                               tables * callers},
                                              {"together",
                                               [&] {
                                                   start.arrive_and_wait();
                                                   end.arrive_and_wait();
                                               },
                                               tables * callers}};
    const std::vector<spread> times = race(contestants, rounds, host_us);
    ended = true;
    start.arrive_and_wait();
    for (std::thread& t : threads) t.join();
    return {times[0], times[1], std::all_of(all.begin(), all.end(), [](const caller& c) { return c.is_right(); })};
}

}  // namespace boxsum::bench
