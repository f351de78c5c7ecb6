// Tables on the GPU beside a copy of the same bytes, and beside other implementations. Prints one JSON object a line;
// scripts/bench_gpu collects them.
//
//     gpu_sat_bench [section...]      sections: table small host layouts forms carries special algorithms boxes peers
//     filters windows convolve shadows recursive; none: all
//
// Inputs are random and rotate through more memory than the second-level cache holds, so that every launch reads from
// memory. A figure is the median of several repetitions; runners take turns within a repetition, so that a drift of
// the clock meets all of them. What was timed is compared with the sums in double or 64-bit integers.

#include "../../tools/boxsum/cuda_device.hpp"
#include "measure/json_line.hpp"
#include "sat_sections.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

namespace boxsum::bench {
namespace {

struct section {
    const char* name;
    void (*run)(cuda::stream_ref);
};

constexpr section sections[] = {{"table", table_section},
                                {"small", small_section},
                                {"host", host_section},
                                {"layouts", layouts_section},
                                {"forms", forms_section},
                                {"carries", carries_section},
                                {"special", special_section},
                                {"boxes", boxes_section},
                                {"peers", peers_section},
                                {"filters", filters_section},
                                {"windows", windows_section},
                                {"convolve", convolve_section},
                                {"shadows", shadows_section},
                                {"recursive", recursive_section},
                                {"algorithms", algorithms_section},
                                {"window-peers", window_peers_section}};

int run(int count, char** names) {
    cuda::set_device(cli::device_from_text("cuda"));
    const cuda::stream stream;
    for (const section& s : sections) {
        const bool wanted = count == 0 || std::any_of(names, names + count,
                                                      [&](const char* name) { return std::strcmp(name, s.name) == 0; });
        if (!wanted) continue;
        try {
            s.run(stream);
        } catch (const std::exception& e) {  // the other sections still count
            json_line().text("section", s.name).text("error", e.what()).print();
        }
    }
    return 0;
}

}  // namespace
}  // namespace boxsum::bench

int main(int count, char** arguments) {
    try {
        return boxsum::bench::run(count - 1, arguments + 1);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "boxsum: error: %s\n", e.what());
        return 1;
    }
}
