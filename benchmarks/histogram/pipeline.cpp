// Frames through histogram_pipeline with different numbers of buffers (figures 13 to 15 of Poostchi et al.), and one
// large image through histogram_tasks with different numbers of workers (figures 16 and 17).

#include <boxsum/device.hpp>
#include <boxsum/device_buffer.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

struct settings {
    std::int64_t rows = 720, cols = 1280;
    std::vector<std::int64_t> bins{32};
    std::vector<int> buffers{1, 2, 4};
    std::vector<std::string> products{"tensor", "boxes", "search"};
    int frames = 40;
    int threads = 0;
    std::string device = "cpu";
    std::vector<int> workers;
    int repetitions = 3;
};

std::optional<int> device_of(const settings& s) {
    if (s.device == "cpu") return {};
    return cuda::device_from_text(s.device);
}

frame_request request_for(const std::string& product, const settings& s, std::int64_t bins) {
    frame_request r;
    if (product == "tensor") r.tensor = true;
    if (product == "boxes") r.boxes.assign(1000, box{s.rows / 8, s.cols / 8, s.rows / 4, s.cols / 4});
    if (product == "search") {
        r.grids = {{.rows = s.rows / 10, .cols = s.cols / 20, .row_step = 4, .col_step = 4}};
        r.target.assign(static_cast<std::size_t>(bins), 1.0);
    }
    return r;
}

/// Seconds that `bytes` bytes take from the device to page-locked memory, alone; the best of five.
double link_seconds(int device, std::int64_t bytes) {
    cuda::set_device(device);
    const cuda::stream stream;
    const device_buffer from(static_cast<std::size_t>(bytes), stream);
    const pinned_buffer to(static_cast<std::size_t>(bytes));
    const view_shape row{dtype::u8, 1, 1, bytes, 1, bytes, 0};
    double best = 0;
    for (int i = 0; i < 6; ++i) {
        const auto start = std::chrono::steady_clock::now();
        cuda::copy(const_any_view{from.data(), row}, any_view{to.data(), row}, stream);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;  // the first one touches the memory
    }
    return best;
}

void run_frames(const settings& s) {
    const auto device = device_of(s);
    const auto bytes = static_cast<std::size_t>(s.rows * s.cols);
    std::vector<std::uint8_t> pixels(4 * bytes);
    std::mt19937_64 generate(1);
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(generate() >> 56);
    std::printf(
        "| product | bins | buffers | frames a second | overlap | read | upload | compute | query | download | "
        "share of the slowest stage | share of the link |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const std::string& product : s.products)
        for (const std::int64_t bins : s.bins)
            for (const int buffers : s.buffers) {
                // The first frames touch fresh memory.
                const int warm_up = 2 * buffers;
                int given = 0;
                const auto source = [&](const any_view& frame) {
                    if (given == warm_up + s.frames) return false;
                    const std::uint8_t* const from = pixels.data() + static_cast<std::size_t>(given++ % 4) * bytes;
                    for (std::int64_t r = 0; r < s.rows; ++r)
                        std::memcpy(static_cast<std::byte*>(frame.data) + r * frame.shape.row_stride, from + r * s.cols,
                                    static_cast<std::size_t>(s.cols));
                    return true;
                };
                pipeline_options options;
                options.buffers = buffers;
                options.device = device;
                options.histogram.threads = s.threads;
                histogram_pipeline pipeline({dtype::u8, s.rows, s.cols}, binning::uniform(bins, 0, 256),
                                            request_for(product, s, bins), source, options);
                pipeline_report before;
                for (int n = 1; pipeline.next() != nullptr; ++n)
                    if (n == warm_up) before = pipeline.report();
                pipeline_report all = pipeline.report();
                all.frames -= before.frames;
                all.seconds -= before.seconds;
                for (std::size_t i = 0; i < all.busy.size(); ++i) all.busy[i] -= before.busy[i];

                const auto busy = [&](pipeline_stage stage) { return all.busy[static_cast<std::size_t>(stage)]; };
                double slowest = *std::max_element(all.busy.begin(), all.busy.end());
                if (device)  // kernels share a stream
                    slowest = std::max(slowest, busy(pipeline_stage::compute) + busy(pipeline_stage::query));
                const double ms = 1e3 / static_cast<double>(all.frames);
                std::printf("| %s | %lld | %d | %.1f | %.2f | %.3f ms | %.3f ms | %.3f ms | %.3f ms | %.3f ms | %.2f |",
                            product.c_str(), static_cast<long long>(bins), buffers, all.frames_per_second(),
                            all.overlap(), busy(pipeline_stage::read) * ms, busy(pipeline_stage::upload) * ms,
                            busy(pipeline_stage::compute) * ms, busy(pipeline_stage::query) * ms,
                            busy(pipeline_stage::download) * ms, slowest / all.seconds);
                if (device && product == "tensor")
                    std::printf(" %.2f |\n",
                                link_seconds(*device, bins * s.rows * s.cols * 4) * all.frames_per_second());
                else
                    std::printf(" - |\n");
                std::fflush(stdout);
            }
}

void run_tasks(const settings& s) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(s.rows * s.cols));
    std::mt19937_64 generate(1);
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(generate() >> 56);
    const image_view<const std::uint8_t> image(pixels.data(), s.rows, s.cols);
    std::printf("| result | bins | workers | seconds | pinning, apart | tasks of each |\n|---|---|---|---|---|---|\n");
    const auto row = [](const char* result, std::int64_t bins, const histogram_tasks_report& r) {
        std::string tasks;
        for (const task_worker_report& w : r.workers) tasks += " " + w.name + " " + std::to_string(w.tasks);
        std::printf("| %s | %lld | %zu | %.4f | %.4f |%s |\n", result, static_cast<long long>(bins), r.workers.size(),
                    r.seconds, r.pinning_seconds, tasks.c_str());
        std::fflush(stdout);
    };
    const auto best_of = [&](auto&& run) {  // the first one touches the memory
        run();
        histogram_tasks_report best = run();
        for (int i = 1; i < s.repetitions; ++i)
            if (histogram_tasks_report r = run(); r.seconds < best.seconds) best = std::move(r);
        return best;
    };
    for (const std::int64_t bins : s.bins)
        for (const int workers : s.workers) {
            histogram_tasks_options options;
            if (s.device == "cpu")
                options.cpu_workers = workers;
            else
                for (int d = 0; d < workers; ++d) options.devices.push_back(d);
            histogram_tasks tasks(options);
            const binning ranges = binning::uniform(bins, 0, 256);
            row("kept", bins, best_of([&] { return tasks.keep(image, ranges).report(); }));
            histogram_tensor<std::uint32_t> tensor(bins, s.rows, s.cols);
            row("host", bins, best_of([&] { return tasks.run(image, ranges, any_tensor_view(tensor.view())); }));
        }
}

}  // namespace
}  // namespace boxsum::bench

int main(int argc, char** argv) {
    boxsum::bench::settings s;
    CLI::App app{"Measures the pipeline of frames; with --workers, one image by several workers."};
    app.add_option("--rows", s.rows)->check(CLI::Range(40, 1 << 15));
    app.add_option("--cols", s.cols)->check(CLI::Range(40, 1 << 15));
    app.add_option("--bins", s.bins)->delimiter(',')->check(CLI::Range(1, 1024));
    app.add_option("--buffers", s.buffers)->delimiter(',')->check(CLI::Range(1, 8));
    app.add_option("--products", s.products, "tensor, boxes (1000), search (every 4th window)")
        ->delimiter(',')
        ->check(CLI::IsMember({"tensor", "boxes", "search"}));
    app.add_option("--frames", s.frames)->check(CLI::Range(1, 100000));
    app.add_option("--threads", s.threads, "of the CPU's tensors; 0: by size")->check(CLI::Range(0, 1024));
    app.add_option("--device", s.device, "cpu, cuda, cuda:N; with --workers the first N devices");
    app.add_option("--workers", s.workers, "numbers of workers")->delimiter(',')->check(CLI::Range(1, 1024));
    app.add_option("--repetitions", s.repetitions, "of runs of tasks; the best counts")->check(CLI::Range(1, 1000));
    CLI11_PARSE(app, argc, argv);
    try {
        if (s.workers.empty())
            boxsum::bench::run_frames(s);
        else
            boxsum::bench::run_tasks(s);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_pipeline: error: %s\n", e.what());
        return 1;
    }
}
