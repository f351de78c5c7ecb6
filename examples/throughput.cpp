// How fast tables are made here: 8-bit images into 32-bit tables, on the CPU and on a GPU if there is one, beside a
// plain copy that moves as many bytes (on the CPU memcpy on one thread; tables take as many threads as help). Also
// shows the repeated use of a plan on a stream.

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t rows = 4096, cols = 4096;
constexpr std::int64_t table_pixel_bytes = 4, image_pixel_bytes = 1;
constexpr std::int64_t moved_bytes = rows * cols * (image_pixel_bytes + table_pixel_bytes);

template <typename Work>
double milliseconds(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Takes turns, so that both see the same machine. Each of the two works `calls` times when called.
template <typename Table, typename Copy>
void compare(const char* where, int calls, const Table& table, const Copy& copy) {
    constexpr int turns = 15;
    std::vector<double> table_times, copy_times;
    table(), copy();  // first touches, calibration
    for (int turn = 0; turn < turns; ++turn) {
        table_times.push_back(milliseconds(table) / calls);
        copy_times.push_back(milliseconds(copy) / calls);
    }
    const double ms = median(table_times);
    std::printf(
        "%s: table of %lld x %lld pixels, 8u32u: %.3f ms, %.1f GB/s; %.2f times a plain copy of as many bytes\n", where,
        static_cast<long long>(rows), static_cast<long long>(cols), ms, static_cast<double>(moved_bytes) / ms / 1e6,
        ms / median(copy_times));
}

void on_cpu(const boxsum::image_view<const std::uint8_t>& image) {
    boxsum::table<std::uint32_t> table(rows, cols);
    const std::size_t half = moved_bytes / 2;  // a copy reads and writes each byte
    std::vector<std::uint8_t> from(half, 1), to(half, 2);
    compare(
        "CPU", 1, [&] { boxsum::sat({image}, {table}); }, [&] { std::memcpy(to.data(), from.data(), half); });
}

void on_gpu(const boxsum::image_view<const std::uint8_t>& image) {
    const boxsum::cuda::stream stream;
    const boxsum::cuda::image<std::uint8_t> d_image(rows, cols, stream);
    const boxsum::cuda::table<std::uint32_t> d_table(rows, cols, stream);
    boxsum::cuda::copy(image, d_image, stream);

    // [plan]
    const boxsum::cuda::sat_plan plan({d_image}, {d_table});  // once per shape
    boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);

    const auto run = [&] { plan.run_async({d_image}, {d_table}, workspace, stream); };  // enqueues, no more
    // [plan]

    const boxsum::cuda::image<std::uint8_t> from(moved_bytes / 2 / cols, cols, stream);
    const boxsum::cuda::image<std::uint8_t> to(moved_bytes / 2 / cols, cols, stream);
    constexpr int together = 20;  // so that enqueueing does not count
    const auto device = boxsum::cuda::describe_device(plan.device());
    std::printf("%s, algorithm %s\n", device.name.c_str(), std::string(plan.algorithm().name).c_str());
    const auto repeated = [&](const auto& work) {
        for (int i = 0; i < together; ++i) work();
        stream.synchronize();
    };
    compare(
        "GPU", together, [&] { repeated(run); },
        [&] { repeated([&] { boxsum::cuda::copy_async(from, to, stream); }); });
}

}  // namespace

int main() {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols));
    std::mt19937 random(1);
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
    const boxsum::image_view<const std::uint8_t> image{pixels.data(), rows, cols};

    on_cpu(image);
    if (boxsum::cuda::device_count() > 0) on_gpu(image);
}
