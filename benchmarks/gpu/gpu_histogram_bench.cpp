// Integral histograms on the GPU beside cudaMemsetAsync of the same tensor. Prints one JSON object a line;
// scripts/bench_gpu collects them.
//
//     gpu_histogram_bench [section...]      sections: tensor single algorithms tuning queries; none: all
//
// A figure is the median of several repetitions; both contestants take turns within a repetition, so that a drift of
// the clock meets both. After it was timed, every table of every frame is compared with the CPU's; a wrong one has no
// time.

#include "core/algorithm_record.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/device.hpp>
#include <boxsum/device_histograms.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_plan.hpp>
#include <boxsum/integral_histogram.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

constexpr int repetitions = 15;

/// One line of output: {"section": "tensor", "rows": 480, ...}
class record_line {
  public:
    record_line& text(const char* key, std::string_view value) { return raw(key, '"' + std::string(value) + '"'); }
    record_line& number(const char* key, double value) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.6g", value);
        return raw(key, digits);
    }
    void print() const {
        std::printf("{%s}\n", line_.c_str());
        std::fflush(stdout);
    }

  private:
    record_line& raw(const char* key, const std::string& value) {
        line_.append(line_.empty() ? "\"" : ", \"").append(key).append("\": ").append(value);
        return *this;
    }
    std::string line_;
};

class timer {
  public:
    timer() {
        BOXSUM_CUDA_TRY(cudaEventCreate(&start_));
        BOXSUM_CUDA_TRY(cudaEventCreate(&end_));
    }
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    ~timer() {
        (void)cudaEventDestroy(start_);
        (void)cudaEventDestroy(end_);
    }

    /// Microseconds of one of `launches` calls.
    double operator()(int launches, stream_ref stream, const std::function<void()>& call) {
        BOXSUM_CUDA_TRY(cudaEventRecord(start_, stream.get()));
        for (int i = 0; i < launches; ++i) call();
        BOXSUM_CUDA_TRY(cudaEventRecord(end_, stream.get()));
        BOXSUM_CUDA_TRY(cudaEventSynchronize(end_));
        float milliseconds = 0;
        BOXSUM_CUDA_TRY(cudaEventElapsedTime(&milliseconds, start_, end_));
        return 1000.0 * static_cast<double>(milliseconds) / launches;
    }

  private:
    cudaEvent_t start_ = nullptr, end_ = nullptr;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

struct shape {
    std::int64_t rows, cols, bins, planes;
};

/// A batch of random frames, its tensor, and their times.
class batch {
  public:
    batch(const shape& s, stream_ref stream)
        : shape_(s), stream_(stream), bins_(binning::uniform(s.bins, 0, 256)), pixels_(pixels_of(s)) {
        const view_shape image = cuda::device_shape(dtype::u8, s.rows, s.cols, 1, s.planes);
        image_ = device_buffer(cuda::span_bytes(image), stream);
        tensor_shape_ = cuda::device_tensor_shape(dtype::u32, s.bins, s.rows, s.cols, s.planes);
        tensor_ = device_buffer(static_cast<std::size_t>(s.planes * tensor_shape_.plane_stride), stream);
        image_view_ = {image_.data(), image};
        cuda::copy(host_image(0, s.planes), any_view{image_.data(), image}, stream);
    }

    /// Times an algorithm and a memset in turns, checks the tensor, prints the line.
    void measure(const char* section, const char* algorithm, const std::string& parameters,
                 const std::function<void(record_line&)>& more = {}) {
        record_line line;
        line.text("section", section).text("algorithm", algorithm);
        if (!parameters.empty()) line.text("parameters", parameters);
        line.number("rows", static_cast<double>(shape_.rows)).number("cols", static_cast<double>(shape_.cols));
        line.number("bins", static_cast<double>(shape_.bins)).number("planes", static_cast<double>(shape_.planes));
        try {
            histogram_options options;
            options.algorithm = algorithm;
            options.parameters = parameters;
            const cuda::histogram_plan plan({image_view_.shape, tensor_shape_}, bins_, options);
            const device_buffer workspace(std::max<std::size_t>(plan.workspace_bytes(), 256), stream_);
            const auto run = [&] { plan.run_async(image_view_, tensor(), workspace, stream_); };
            const auto set = [&] {
                BOXSUM_CUDA_TRY(cudaMemsetAsync(tensor_.data(), 0xa5, tensor_.size(), stream_.get()));
            };
            set();
            run();
            run();
            std::vector<double> times, limits;
            timer clock;
            const int launches = tensor_.size() < (std::size_t{256} << 20) ? 8 : 1;
            for (int i = 0; i < repetitions; ++i) {
                times.push_back(clock(launches, stream_, run));
                limits.push_back(clock(launches, stream_, set));
            }
            set();
            run();
            const std::string wrong = mismatch();
            line.text("check", wrong.empty() ? "passed" : "WRONG: " + wrong);
            if (wrong.empty()) {
                line.number("us", median(times)).number("memset_us", median(limits));
                line.number("share_of_memset", median(limits) / median(times));
                line.number("frames_per_second", 1e6 * static_cast<double>(shape_.planes) / median(times));
            }
            if (more) more(line);
        } catch (const error& e) {
            std::string reason = e.what();
            std::replace(reason.begin(), reason.end(), '"', '\'');
            line.text("error", reason);
        }
        line.print();
    }

    any_tensor_view tensor() const { return {tensor_.data(), tensor_shape_}; }

  private:
    static std::vector<std::uint8_t> pixels_of(const shape& s) {
        std::mt19937 random(7);
        std::vector<std::uint8_t> pixels(static_cast<std::size_t>(s.planes * s.rows * s.cols));
        for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(random() >> 8);
        return pixels;
    }

    const_any_view host_image(std::int64_t plane, std::int64_t planes) const {
        const std::int64_t size = shape_.rows * shape_.cols;
        return image_view<const std::uint8_t>(pixels_.data() + plane * size, shape_.rows, shape_.cols, 0, 1, planes);
    }

    /// The first table that differs from the CPU's, frame by frame.
    std::string mismatch() {
        histogram_tensor<std::uint32_t> expected(shape_.bins, shape_.rows, shape_.cols);
        histogram_tensor<std::uint32_t> found(1, shape_.rows, shape_.cols);
        const auto* const first = static_cast<const std::byte*>(tensor_.data());
        for (std::int64_t plane = 0; plane < shape_.planes; ++plane) {
            integral_histogram(host_image(plane, 1), bins_, any_tensor_view(expected.view()));
            for (std::int64_t bin = 0; bin < shape_.bins; ++bin) {
                const view_shape table{dtype::u32, 1, shape_.rows, shape_.cols, 1, tensor_shape_.row_stride, 0};
                cuda::copy(
                    const_any_view{first + plane * tensor_shape_.plane_stride + bin * tensor_shape_.bin_stride, table},
                    any_view(found.view().bin(0)), stream_);
                for (std::int64_t r = 0; r < shape_.rows; ++r)
                    if (std::memcmp(found.view().bin(0).row(r), expected.view().bin(bin).row(r),
                                    static_cast<std::size_t>(shape_.cols) * 4) != 0)
                        return "frame " + std::to_string(plane) + ", bin " + std::to_string(bin) + ", row " +
                               std::to_string(r);
            }
        }
        return {};
    }

    shape shape_;
    stream_ref stream_;
    binning bins_;
    std::vector<std::uint8_t> pixels_;
    device_buffer image_, tensor_;
    tensor_shape tensor_shape_;
    const_any_view image_view_;
};

/// So many frames that their tensor has 2 GB.
shape two_gigabytes(std::int64_t rows, std::int64_t cols, std::int64_t bins) {
    const double frame = 4.0 * static_cast<double>(rows * cols * bins);
    return {rows, cols, bins, std::max<std::int64_t>(1, static_cast<std::int64_t>(2e9 / frame) + 1)};
}

void tensor_section(stream_ref stream) {
    constexpr std::pair<std::int64_t, std::int64_t> sizes[] = {{480, 640},   {720, 1280},  {1080, 1920},
                                                               {3072, 4096}, {4800, 6400}, {8192, 8192}};
    for (const auto& [rows, cols] : sizes) batch(two_gigabytes(rows, cols, 32), stream).measure("tensor", "fast", {});
    for (const std::int64_t bins : {16, 64, 128}) {
        batch(two_gigabytes(512, 512, bins), stream).measure("tensor", "fast", {});
        batch(two_gigabytes(720, 1280, bins), stream).measure("tensor", "fast", {});
    }
    batch(two_gigabytes(512, 512, 32), stream).measure("tensor", "fast", {});
}

void single_section(stream_ref stream) {
    for (const shape& s : {shape{512, 512, 32, 1}, {480, 640, 32, 1}, {720, 1280, 32, 1}})
        batch(s, stream).measure("single", "fast", {});
}

/// The paper's figure 7.
void algorithms_section(stream_ref stream) {
    for (const std::int64_t n : {256, 512, 1024, 2048})
        for (const char* algorithm : {"fast", "wf-tis", "cw-tis", "cw-sts", "cw-b"})
            batch({n, n, 32, 1}, stream).measure("algorithms", algorithm, {});
}

/// The paper's figures 9 and 10.
void tuning_section(stream_ref stream) {
    const algorithm_info& info = *find_algorithm(operation::histogram, "wf-tis");
    for (std::size_t tile = 0; tile < info.parameters[0].values.size(); ++tile)
        for (std::size_t threads = 0; threads < info.parameters[1].values.size(); ++threads) {
            parameter_values values;
            values.choice[0] = static_cast<std::uint8_t>(tile);
            values.choice[1] = static_cast<std::uint8_t>(threads);
            const std::string text = "tile=" + std::string(info.parameters[0].values[tile]) +
                                     ",threads=" + std::string(info.parameters[1].values[threads]);
            const view_shape image{dtype::u8, 1, 512, 512, 1, 512, 0};
            if (!supports(info, image, binning::uniform(32, 0, 256), dtype::u32, table_layout::inclusive, false, text))
                continue;
            batch({512, 512, 32, 1}, stream).measure("tuning", "wf-tis", text, [&](record_line& line) {
                line.number("occupancy", wf_tis_occupancy(dtype::u32, values));
            });
        }
}

/// 10^6 random boxes of a full HD frame; bytes that four entries per bin take, a sector of 32 bytes each, per second.
void queries_section(stream_ref stream) {
    const shape s{1080, 1920, 32, 1};
    batch frame(s, stream);
    frame.measure("queries", "fast", {});
    constexpr std::int64_t count = 1'000'000;
    std::mt19937_64 random(11);
    std::vector<std::int64_t> boxes;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        const std::int64_t row = below(s.rows), col = below(s.cols);
        boxes.insert(boxes.end(), {row, col, 1 + below(s.rows - row), 1 + below(s.cols - col)});
    }
    const device_buffer there(boxes.size() * 8, stream), out(static_cast<std::size_t>(count * s.bins) * 4, stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(there.data(), boxes.data(), there.size(), cudaMemcpyHostToDevice, stream.get()));
    std::vector<double> times;
    timer clock;
    for (int i = 0; i < repetitions; ++i)
        times.push_back(clock(1, stream, [&] {
            cuda::box_histograms_async(frame.tensor(), static_cast<const box*>(there.data()), count,
                                       static_cast<std::uint32_t*>(out.data()), table_layout::inclusive, 0, stream);
        }));
    record_line line;
    line.text("section", "queries").text("algorithm", "box_histograms").number("boxes", static_cast<double>(count));
    line.number("bins", static_cast<double>(s.bins)).number("us", median(times));
    line.number("sector_gb_per_s", static_cast<double>(count * s.bins * 4 * 32) / median(times) / 1000);
    line.print();
}

struct section {
    const char* name;
    void (*run)(stream_ref);
};
constexpr section sections[] = {{"tensor", tensor_section},
                                {"single", single_section},
                                {"algorithms", algorithms_section},
                                {"tuning", tuning_section},
                                {"queries", queries_section}};

int run(int count, char** names) {
    cuda::set_device(cuda::device_from_text("cuda"));
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
