// Integral histograms on the GPU beside cudaMemsetAsync of the same tensor. Prints one JSON object a line;
// scripts/bench_gpu collects them.
//
//     gpu_histogram_bench [section...]      sections: tensor single algorithms tuning queries; none: all
//
// A figure is the median of several repetitions; both contestants take turns within a repetition, so that a drift of
// the clock meets both. After it was timed, every table of every frame is compared with the CPU's; a wrong one has no
// time.

#include "../../tools/boxsum/cuda_device.hpp"
#include "competitors/random_reads.hpp"
#include "core/algorithm_record.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "measure/device_race.hpp"
#include "measure/device_tensors.hpp"
#include "measure/json_line.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

constexpr int repetitions = 15;

using shape = histogram_extents;

/// A batch of random frames, its tensor, and their times.
class batch {
  public:
    batch(const shape& s, cuda::stream_ref stream) : stream_(stream), frames_(s, 1, stream) {}

    /// Times an algorithm and a memset in turns, checks the tensor, prints the line.
    void measure(const char* section, const char* algorithm, const std::string& parameters,
                 const std::function<void(json_line&)>& more = {}) {
        const shape& s = frames_.extents();
        json_line line;
        line.text("section", section).text("algorithm", algorithm);
        if (!parameters.empty()) line.text("parameters", parameters);
        line.number("rows", static_cast<double>(s.rows)).number("cols", static_cast<double>(s.cols));
        line.number("bins", static_cast<double>(s.bins)).number("planes", static_cast<double>(s.planes));
        try {
            histogram_options options;
            options.algorithm = algorithm;
            options.parameters = parameters;
            const device_launch once = frames_.launch_of(options, stream_);
            const int launches = frames_.tensor_bytes() < (std::size_t{256} << 20) ? 8 : 1;
            const auto run = [&] {
                for (int i = 0; i < launches; ++i) once(0, stream_);
            };
            const auto set = [&] {
                for (int i = 0; i < launches; ++i) frames_.poison(0, stream_);
            };
            set();
            run();
            const std::vector<contestant> both{{algorithm, run, launches}, {"memset", set, launches}};
            const std::vector<spread> times = race(both, repetitions, device_stopwatch(stream_));
            frames_.poison(0, stream_);
            once(0, stream_);
            const std::string wrong = frames_.mismatch(stream_);
            line.text("check", wrong.empty() ? "passed" : "WRONG: " + wrong);
            if (wrong.empty()) {
                line.number("us", times[0].median).number("memset_us", times[1].median);
                line.number("share_of_memset", times[1].median / times[0].median);
                line.number("frames_per_second", 1e6 * static_cast<double>(s.planes) / times[0].median);
            }
            if (more) more(line);
        } catch (const unsupported& e) {  // a limit of an exhibit is no failure
            line.text("note", e.what());
        } catch (const std::exception& e) {
            line.text("error", e.what());
        }
        line.print();
    }

    any_histogram_view tensor() const { return frames_.tensor(0); }
    const std::vector<std::uint8_t>& pixels() const { return frames_.pixels(); }

  private:
    cuda::stream_ref stream_;
    device_tensors frames_;
};

/// So many frames that their tensor has 2 GB.
shape two_gigabytes(std::int64_t rows, std::int64_t cols, std::int64_t bins) {
    const double frame = 4.0 * static_cast<double>(rows * cols * bins);
    return {rows, cols, bins, std::max<std::int64_t>(1, static_cast<std::int64_t>(2e9 / frame) + 1)};
}

void tensor_section(cuda::stream_ref stream) {
    constexpr std::pair<std::int64_t, std::int64_t> sizes[] = {{480, 640},   {720, 1280},  {1080, 1920},
                                                               {3072, 4096}, {4800, 6400}, {8192, 8192}};
    for (const auto& [rows, cols] : sizes) batch(two_gigabytes(rows, cols, 32), stream).measure("tensor", "fast", {});
    for (const std::int64_t bins : {16, 64, 128}) {
        batch(two_gigabytes(512, 512, bins), stream).measure("tensor", "fast", {});
        batch(two_gigabytes(720, 1280, bins), stream).measure("tensor", "fast", {});
    }
    batch(two_gigabytes(512, 512, 32), stream).measure("tensor", "fast", {});
}

void single_section(cuda::stream_ref stream) {
    for (const shape& s : {shape{512, 512, 32, 1}, {480, 640, 32, 1}, {720, 1280, 32, 1}})
        batch(s, stream).measure("single", "fast", {});
}

/// The paper's figure 7.
void algorithms_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {256, 512, 1024, 2048})
        for (const char* algorithm : {"fast", "wf-tis", "cw-tis", "cw-sts", "cw-b"})
            batch({n, n, 32, 1}, stream).measure("algorithms", algorithm, {});
}

/// The paper's figures 9 and 10.
void tuning_section(cuda::stream_ref stream) {
    const algorithm_info& info = *find_algorithm(operation::histogram, "wf-tis");
    for (std::size_t tile = 0; tile < info.parameters[0].values.size(); ++tile)
        for (std::size_t threads = 0; threads < info.parameters[1].values.size(); ++threads) {
            parameter_values values;
            values.choice[0] = static_cast<std::uint8_t>(tile);
            values.choice[1] = static_cast<std::uint8_t>(threads);
            const std::string text = "tile=" + std::string(info.parameters[0].values[tile]) +
                                     ",threads=" + std::string(info.parameters[1].values[threads]);
            const view_shape image{dtype::u8, 1, 512, 512, 1, 512, 0};
            if (!supports(info, image, binning::uniform(32, 0, 256), dtype::u32, {}, text)) continue;
            batch({512, 512, 32, 1}, stream).measure("tuning", "wf-tis", text, [&](json_line& line) {
                line.number("occupancy", wf_tis_occupancy(dtype::u32, values));
            });
        }
}

/// Device memory with a copy of a list.
template <typename T>
cuda::device_buffer uploaded(const std::vector<T>& list, cuda::stream_ref stream) {
    cuda::device_buffer there(list.size() * sizeof(T), stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(there.data(), list.data(), there.size(), cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
    return there;
}

/// Whether the baseline read what it should: the sums of its first boxes, from the CPU's tensor.
std::string wrong_sums(const batch& frame, const shape& s, const std::vector<random_corners>& corners,
                       const cuda::device_buffer& sums, cuda::stream_ref stream) {
    constexpr std::size_t looked_at = 1000;
    std::vector<std::uint32_t> found(looked_at);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(found.data(), sums.data(), looked_at * 4, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    const auto tensor = integral_histogram<std::uint32_t>(
        image_view<const std::uint8_t>(frame.pixels().data(), s.rows, s.cols), binning::uniform(s.bins, 0, 256));
    for (std::size_t i = 0; i < looked_at; ++i) {
        std::uint32_t sum = 0;
        for (std::int64_t bin = 0; bin < s.bins; ++bin)
            for (int k = 0; k < 4; ++k) sum += tensor.view().entries()(bin, corners[i].row[k], corners[i].col[k]);
        if (sum != found[i]) return "box " + std::to_string(i);
    }
    return {};
}

/// 10^6 random boxes of a full HD frame beside a kernel that reads four entries per bin at random, in turns; bytes that
/// the reads take, a sector of 32 bytes each, per second.
void queries_section(cuda::stream_ref stream) {
    const shape s{1080, 1920, 32, 1};
    batch frame(s, stream);
    frame.measure("queries", "fast", {});
    constexpr std::int64_t count = 1'000'000;
    std::mt19937_64 random(11);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    std::vector<box> boxes;
    std::vector<random_corners> corners;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = below(s.rows), col = below(s.cols);
        boxes.push_back({row, col, 1 + below(s.rows - row), 1 + below(s.cols - col)});
        random_corners places{};
        for (int k = 0; k < 4; ++k) {
            places.row[k] = static_cast<std::uint32_t>(below(s.rows));
            places.col[k] = static_cast<std::uint32_t>(below(s.cols));
        }
        corners.push_back(places);
    }
    const cuda::device_buffer boxes_there = uploaded(boxes, stream), corners_there = uploaded(corners, stream);
    const cuda::device_buffer out(static_cast<std::size_t>(count * s.bins) * 4, stream),
        sums(static_cast<std::size_t>(count) * 4, stream);
    const std::vector<contestant> both{
        {"box_histograms",
         [&] {
             cuda::box_histograms_async(frame.tensor(), {static_cast<const box*>(boxes_there.data()), count},
                                        {static_cast<std::uint32_t*>(out.data()), count * s.bins}, stream);
         }},
        {"random reads", [&] {
             read_random_entries(frame.tensor().entries, static_cast<const random_corners*>(corners_there.data()),
                                 count, static_cast<std::uint32_t*>(sums.data()), stream);
         }}};
    const std::vector<spread> times = race(both, repetitions, device_stopwatch(stream));
    const std::string wrong = wrong_sums(frame, s, corners, sums, stream);
    json_line line;
    line.text("section", "queries").text("algorithm", "box_histograms").number("boxes", static_cast<double>(count));
    line.number("bins", static_cast<double>(s.bins)).number("us", times[0].median);
    line.number("sector_gb_per_s", static_cast<double>(count * s.bins * 4 * 32) / times[0].median / 1000);
    line.text("check", wrong.empty() ? "passed" : "WRONG: sum of random reads, " + wrong);
    if (wrong.empty())
        line.number("random_reads_us", times[1].median).number("ratio", times[0].median / times[1].median);
    line.print();
}

struct section {
    const char* name;
    void (*run)(cuda::stream_ref);
};
constexpr section sections[] = {{"tensor", tensor_section},
                                {"single", single_section},
                                {"algorithms", algorithms_section},
                                {"tuning", tuning_section},
                                {"queries", queries_section}};

int run(int count, char** names) {
    cuda::set_device(cli::device_from_text("cuda"));
    const cuda::stream stream;
    for (const section& s : sections)
        if (count == 0 || std::any_of(names, names + count, [&](const char* n) { return std::strcmp(n, s.name) == 0; }))
            s.run(stream);
    return 0;
}

}  // namespace
}  // namespace boxsum::bench

int main(int count, char** arguments) {
    try {
        return boxsum::bench::run(count - 1, arguments + 1);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "gpu_histogram_bench: %s\n", e.what());
        return 1;
    }
}
