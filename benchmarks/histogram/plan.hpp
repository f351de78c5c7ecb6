#pragma once

#include "histogram/options.hpp"

#include <boxsum/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum::bench {

/// An algorithm of the registry; parameters that are not named are the default's.
struct histogram_variant {
    std::string algorithm;
    std::string parameters = {};

    friend bool operator==(const histogram_variant&, const histogram_variant&) = default;
};

/// One random image, and what is measured of its histogram.
struct tensor_case {
    std::int64_t rows = 0, cols = 0, bins = 0;
    std::vector<histogram_variant> variants = {};  ///< of the GPU
    bool transfers = false;                        ///< the image to the device, the tensor back
    bool parts = false;                            ///< kernels of a name timed apart
    bool on_host = false;                          ///< the CPU's algorithms, with 1 thread and several
};

/// A stream of images whose tensors go to host memory.
struct stream_case {
    std::int64_t rows = 0, cols = 0, bins = 0;
    std::vector<int> buffers = {};
    std::vector<std::string> algorithms = {};
    int most_frames = 0;  ///< 0: as many as the options say
};

/// A stream of images of which only answers go to the host.
struct answer_case {
    std::int64_t rows = 0, cols = 0, bins = 0;
    std::vector<int> buffers = {};
};

/// One image with bins as tasks.
struct large_case {
    std::string name;  ///< the paper's
    std::int64_t rows = 0, cols = 0, bins = 0;
};

struct histogram_cases {
    std::vector<tensor_case> tensors = {};
    std::vector<stream_case> streams = {};
    std::vector<answer_case> answers = {};
    std::vector<large_case> large = {};  ///< the smallest result first
};

/// The experiments, by the figures of Poostchi et al. 2017:
///   sizes      figure 7: times of all algorithms over image sizes, 32 bins
///   parts      figure 8: the kernels of a computation
///   tuning     figures 9 and 10: threads of a block and tiles of wf-tis
///   transfers  figure 11: computing against copying
///   buffers    figure 13: one buffer and two, 100 HD frames
///   rates      figure 15: frames a second over sizes and bins
///   large      figures 16 and 17: bins as tasks, on 1 to all devices
///   threads    figure 19: speed-up over the CPU
///   vga        figure 20: 640 x 480
///   answers    beyond the paper: boxes and a search of every frame, whose tensors stay on the device
const std::vector<std::string>& histogram_experiment_names();

/// Each image and number of bins once. On the CPU there are its own algorithms alone. Throws cli::usage_error for an
/// experiment that does not exist, sizes that are none, and bins outside 1 to 1024.
histogram_cases cases_of(const histogram_bench_options& options, backend where);

}  // namespace boxsum::bench
