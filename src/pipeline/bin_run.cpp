#include "pipeline/bin_run.hpp"

#include "pipeline/bin_queue.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <new>
#include <string>
#include <thread>

namespace boxsum::detail {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::int64_t tasks_per_worker = 4;

double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

/// A run as its workers' threads see it: each writes to its own entries.
struct shared_run {
    bin_job job;
    bin_queue queue;
    std::vector<std::unique_ptr<kept_bins>> kept;
    std::size_t workers;
};

std::vector<int> devices_of(std::span<const std::unique_ptr<bin_worker>> workers) {
    std::vector<int> devices;
    for (const auto& worker : workers)
        if (const auto device = worker->device()) devices.push_back(*device);
    return devices;
}

/// What failed may have been the last of the memory: then the text is the short one that needs none.
void note_failure(task_worker_report& report, const char* text) noexcept try {
    report.failure = *text != '\0' ? text : "an exception without a text";
} catch (const std::bad_alloc&) {
    report.failure = "std::bad_alloc";
}

void work(shared_run& run, std::size_t number, bin_worker& worker, task_worker_report& report) {
    std::vector<std::size_t> kept;
    try {
        std::deque<bin_task> started;  // allocates even while it is empty, and nothing may leave a thread's function
        const std::int64_t together = std::min(worker.bins_together(run.job), worker.most_bins(run.job));
        const task_batch most{run.workers, together};
        worker.begin(run.job);
        for (;;) {
            while (started.size() < worker.depth()) {
                const auto task = run.queue.take(number, started.empty(), most);
                if (!task) break;
                started.push_back(*task);
                const auto start = clock::now();
                worker.start(*task);
                report.seconds += seconds_since(start);
            }
            if (started.empty()) break;
            const auto start = clock::now();
            auto result = worker.finish(started.front());
            report.seconds += seconds_since(start);
            if (run.job.keeps()) {
                kept.push_back(static_cast<std::size_t>(started.front().number));
                run.kept[kept.back()] = std::move(result);
            }
            run.queue.done(number, started.front());
            started.pop_front();
        }
        report.upload_seconds = worker.upload_seconds();
        worker.end();
        return;
    } catch (const std::exception& e) {
        note_failure(report, e.what());
    } catch (...) {
        note_failure(report, "an exception of an unknown type");
    }
    // First nothing of this worker is under way any more, then others may have its tasks.
    worker.end();
    for (const std::size_t task : kept) run.kept[task] = nullptr;
    run.queue.give_back(number, run.job.keeps());
}

}  // namespace

std::int64_t choose_bins_per_task(const bin_job& job, std::int64_t wanted,
                                  std::span<const std::unique_ptr<bin_worker>> workers) {
    const auto count = static_cast<std::int64_t>(workers.size());
    std::int64_t bins = wanted > 0 ? wanted : std::max<std::int64_t>(job.bins->bins() / (tasks_per_worker * count), 1);
    for (const auto& worker : workers) bins = std::min(bins, std::max<std::int64_t>(worker->most_bins(job), 1));
    return std::min(bins, job.bins->bins());
}

bin_run_result run_bins(const bin_job& job, std::int64_t bins_per_task,
                        std::span<const std::unique_ptr<bin_worker>> workers) {
    shared_run run{job, bin_queue(job.bins->bins(), bins_per_task), {}, workers.size()};
    if (job.input_bytes() >= job.sharing.least_bytes) run.job.upload = share_upload(devices_of(workers));
    if (job.keeps()) run.kept.resize(run.queue.size());
    bin_run_result result;
    result.report.tasks = static_cast<std::int64_t>(run.queue.size());
    result.report.bins_per_task = bins_per_task;
    for (const auto& worker : workers) {
        result.report.workers.emplace_back();
        result.report.workers.back().name = worker->name();
    }

    const auto start = clock::now();
    std::vector<std::thread> threads;
    threads.reserve(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) try {
            threads.emplace_back([&, i] { work(run, i, *workers[i], result.report.workers[i]); });
        } catch (const std::exception& e) {  // a thread that cannot start is a worker that fails
            note_failure(result.report.workers[i], e.what());
        }
    for (std::thread& thread : threads) thread.join();
    result.report.seconds = seconds_since(start);

    for (std::size_t i = 0; i < workers.size(); ++i) result.report.workers[i].tasks = run.queue.done_by(i);
    if (!run.queue.all_done()) {
        std::string text = "no worker is left:";
        for (const task_worker_report& w : result.report.workers) text += " " + w.name + " failed (" + w.failure + ")";
        throw workers_failed(text);
    }
    result.kept = std::move(run.kept);
    return result;
}

}  // namespace boxsum::detail
