// Frames through histogram_pipeline with different numbers of buffers (figures 13 to 15 of Poostchi et al.), and one
// large image through histogram_tasks with different numbers of workers (figures 16 and 17).

#include "cuda_device.hpp"
#include "measure/frame_answers.hpp"
#include "measure/pipeline_runs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
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
    bool in_place = false;
    int threads = 0;
    std::string device = "cpu";
    std::vector<int> workers;
    int repetitions = 3;
    std::vector<std::string> results{"kept", "host"};
    std::int64_t bins_per_task = 0;
};

std::optional<int> device_of(const settings& s) {
    if (s.device == "cpu") return {};
    return cli::device_from_text(s.device);
}

frame_request request_for(const std::string& product, const settings& s, std::int64_t bins) {
    if (product != "tensor") return request_for_answers(product, s.rows, s.cols, bins);
    frame_request r;
    r.tensor = true;
    return r;
}

void print_frames(const settings& s) {
    const auto device = device_of(s);
    std::printf(
        "| product | bins | buffers | frames a second | overlap | read | upload | compute | query | download | "
        "share of the slowest stage | share of the kernels | share of the link |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const std::string& product : s.products)
        for (const std::int64_t bins : s.bins)
            for (const int buffers : s.buffers) {
                pipeline_options options;
                options.buffers = buffers;
                options.device = device;
                options.histogram.threads = s.threads;
                frame_run run{s.rows, s.cols, bins, s.frames, request_for(product, s, bins), options, !s.in_place};
                if (product != "tensor")
                    run.look = [&](const frame_result& result) {
                        if (const std::string found = check_answers(run.request, bins, result); found != "equal")
                            throw std::runtime_error(product + ": " + found);
                    };
                const pipeline_report all = run_frames(run);
                const auto busy = [&](pipeline_stage stage) { return all.busy[static_cast<std::size_t>(stage)]; };
                const double ms = 1e3 / static_cast<double>(all.frames);
                std::printf(
                    "| %s | %lld | %d | %.1f | %.2f | %.3f ms | %.3f ms | %.3f ms | %.3f ms | %.3f ms | %.2f | %.2f |",
                    product.c_str(), static_cast<long long>(bins), buffers, all.frames_per_second(), all.overlap(),
                    busy(pipeline_stage::read) * ms, busy(pipeline_stage::upload) * ms,
                    busy(pipeline_stage::compute) * ms, busy(pipeline_stage::query) * ms,
                    busy(pipeline_stage::download) * ms, slowest_stage(all, device.has_value()) / all.seconds,
                    (busy(pipeline_stage::compute) + busy(pipeline_stage::query)) / all.seconds);
                if (device && product == "tensor")
                    std::printf(" %.2f |\n",
                                link_seconds(*device, bins * s.rows * s.cols * 4) * all.frames_per_second());
                else
                    std::printf(" - |\n");
                std::fflush(stdout);
            }
}

void print_tasks(const settings& s) {
    const std::vector<std::uint8_t> pixels = random_pixels(s.rows * s.cols);
    const image_view<const std::uint8_t> image(pixels.data(), s.rows, s.cols);
    std::printf(
        "| result | bins | workers | bins a task | ms | image up, ms | pinning, apart, ms | tasks of each |\n"
        "|---|---|---|---|---|---|---|---|\n");
    const auto row = [](const char* result, std::int64_t bins, const histogram_tasks_report& r) {
        std::string tasks;
        double upload = 0;
        for (const task_worker_report& w : r.workers) {
            tasks += " " + w.name + " " + std::to_string(w.tasks);
            upload = std::max(upload, w.upload_seconds);
        }
        std::printf("| %s | %lld | %zu | %lld | %.2f | %.2f | %.1f |%s |\n", result, static_cast<long long>(bins),
                    r.workers.size(), static_cast<long long>(r.bins_per_task), r.seconds * 1e3, upload * 1e3,
                    r.pinning_seconds * 1e3, tasks.c_str());
        std::fflush(stdout);
    };
    const auto best_of = [&](const std::function<histogram_tasks_report()>& run) {
        const std::vector<histogram_tasks_report> reports = repeat_tasks(s.repetitions, run);
        return *std::min_element(reports.begin(), reports.end(),
                                 [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    };
    for (const std::int64_t bins : s.bins)
        for (const int workers : s.workers) {
            histogram_tasks_options options;
            options.bins_per_task = s.bins_per_task;
            if (s.device == "cpu")
                options.cpu_workers = workers;
            else
                for (int d = 0; d < workers; ++d) options.devices.push_back(d);
            histogram_tasks tasks(options);
            const binning ranges = binning::uniform(bins, 0, 256);
            const auto wanted = [&](const char* result) {
                return std::find(s.results.begin(), s.results.end(), result) != s.results.end();
            };
            if (wanted("kept")) row("kept", bins, best_of([&] { return tasks.keep({image}, ranges).report(); }));
            if (!wanted("host")) continue;
            histogram_table<std::uint32_t> tensor(bins, s.rows, s.cols);
            row("host", bins, best_of([&] { return tasks.run({image}, ranges, {tensor}); }));
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
    app.add_flag("--in-place", s.in_place, "frames are in their buffers already: reading takes no time");
    app.add_option("--threads", s.threads, "of the CPU's tensors; 0: by size")->check(CLI::Range(0, 1024));
    app.add_option("--device", s.device, "cpu, cuda, cuda:N; with --workers the first N devices");
    app.add_option("--workers", s.workers, "numbers of workers")->delimiter(',')->check(CLI::Range(1, 1024));
    app.add_option("--results", s.results, "of runs of tasks: kept, host")
        ->delimiter(',')
        ->check(CLI::IsMember({"kept", "host"}));
    app.add_option("--bins-per-task", s.bins_per_task, "0: as many as give each worker four")
        ->check(CLI::Range(0, 1024));
    app.add_option("--repetitions", s.repetitions, "of runs of tasks; the best counts")->check(CLI::Range(1, 1000));
    CLI11_PARSE(app, argc, argv);
    try {
        if (s.workers.empty())
            boxsum::bench::print_frames(s);
        else
            boxsum::bench::print_tasks(s);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_pipeline: error: %s\n", e.what());
        return 1;
    }
}
