#include "histogram/pipelines.hpp"

#include "histogram/device_half.hpp"
#include "histogram/host_tensors.hpp"
#include "histogram/rows.hpp"
#include "measure/pipeline_runs.hpp"
#include "measure/plain_histogram.hpp"
#include "measure/statistics.hpp"
#include "pipeline/bin_worker.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace boxsum::bench {
namespace {

constexpr std::int64_t bytes_of_host_stream = std::int64_t{4} << 30;  // written by one row on the CPU
constexpr std::int64_t most_bytes_of_tasks = std::int64_t{2} << 30;   // of a result on the CPU
constexpr int task_runs = 3;
constexpr std::int64_t most_growth = 16;  // of what a virtual machine has at first, see touch_host_memory()
constexpr double waited_for_memory = 15;  // seconds, for it

std::string gigabytes(std::int64_t bytes) {
    return std::to_string(bytes / 1'000'000'000) + "." + std::to_string(bytes / 100'000'000 % 10) + " GB";
}

std::string wrong_tensor(const frame_result& result) {
    const tensor_shape& s = result.tensor.entries.shape;
    const tensor_view<const std::uint32_t> found(static_cast<const std::uint32_t*>(result.tensor.entries.data), s.bins,
                                                 s.rows, s.cols, s.row_stride, s.bin_stride);
    histogram_table<std::uint32_t> expected(s.bins, s.rows, s.cols);
    const image_view<const std::uint8_t> image(static_cast<const std::uint8_t*>(result.image.data), s.rows, s.cols,
                                               result.image.shape.row_stride);
    plain_histogram<std::uint32_t>(image, s.bins, expected.view().entries());
    return same_tensor<std::uint32_t>(found, std::as_const(expected).view().entries())
               ? "equal"
               : "wrong: differs from a plain loop's";
}

/// A few boxes of a large image with their histograms, counted pixel by pixel.
struct counted_boxes {
    std::vector<box> boxes;
    std::vector<std::uint32_t> counts;  ///< boxes x bins

    counted_boxes(const image_view<const std::uint8_t>& image, std::int64_t bins) {
        std::mt19937_64 random(5);
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        boxes.push_back({0, 0, image.rows(), image.cols()});
        for (int i = 0; i < 3; ++i) {
            const std::int64_t row = below(image.rows()), col = below(image.cols());
            boxes.push_back({row, col, 1 + below(image.rows() - row), 1 + below(image.cols() - col)});
        }
        counts.resize(boxes.size() * static_cast<std::size_t>(bins));
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            std::uint32_t* const own = counts.data() + i * static_cast<std::size_t>(bins);
            for (std::int64_t r = boxes[i].row; r < boxes[i].row + boxes[i].rows; ++r)
                for (std::int64_t c = boxes[i].col; c < boxes[i].col + boxes[i].cols; ++c)
                    ++own[image(r, c) * bins / 256];
        }
    }

    std::string check(const std::vector<std::uint32_t>& found) const {
        return found == counts ? "equal" : "wrong: histograms of boxes differ from a direct count";
    }
};

void fill_times(histogram_row& row, const std::vector<histogram_tasks_report>& reports) {
    std::vector<double> us, pinning, upload;
    for (const histogram_tasks_report& r : reports) {
        us.push_back(r.seconds * 1e6);
        pinning.push_back(r.pinning_seconds * 1e6);
        upload.push_back(0);
        row.tasks = r.tasks;
        for (const task_worker_report& w : r.workers) {
            if (!w.failure.empty()) throw std::runtime_error(w.name + " failed: " + w.failure);
            upload.back() = std::max(upload.back(), w.upload_seconds * 1e6);
        }
    }
    const spread times = spread_of(us);
    row.us = times.median;
    row.low_us = times.low;
    row.high_us = times.high;
    row.samples = times.samples;
    row.pinning_us = spread_of(pinning).median;
    if (row.backend == name_of(backend::cuda)) row.upload_us = spread_of(upload).median;
}

/// 1, 2, 4 ... and all.
std::vector<int> worker_counts(int all) {
    std::vector<int> counts;
    for (int n = 1; n < all; n *= 2) counts.push_back(n);
    counts.push_back(std::max(all, 1));
    return counts;
}

}  // namespace

std::int64_t available_host_bytes() {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::ifstream memory("/proc/meminfo");
    for (std::string name; memory >> name;) {
        std::int64_t kilobytes = 0;
        if (name == "MemAvailable:" && memory >> kilobytes) least = kilobytes * 1024;
    }
    const auto number_in = [](const char* path) {
        std::ifstream file(path);
        std::int64_t value = -1;
        return file >> value ? value : -1;  // "max" is no number: there is no limit
    };
    for (const auto& [limit, used] :
         {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
          {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}})
        if (const std::int64_t most = number_in(limit), now = number_in(used); most > 0 && now >= 0)
            least = std::min(least, std::max<std::int64_t>(most - now, 0));
    return least;
}

result_memory::result_memory(const std::vector<large_case>& cases, bool pinned) : pinned_(pinned) {
    for (const large_case& c : cases) largest_ = std::max(largest_, bytes_of(c));
}

std::int64_t result_memory::bytes_of(const large_case& c) {
    return c.rows * c.cols * c.bins * 4;
}

void touch_host_memory(void* data, std::int64_t bytes, double patience) {
    constexpr std::int64_t step = std::int64_t{256} << 20, reserve = step, page = 4096;
    using clock = std::chrono::steady_clock;
    for (std::int64_t done = 0; done < bytes; done += step) {
        const clock::time_point end =
            clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(patience));
        while (available_host_bytes() < step + reserve) {
            if (clock::now() > end)
                throw out_of_memory("a result of " + gigabytes(bytes) +
                                    " does not fit the host memory: none is free "
                                    "beyond " +
                                    gigabytes(done));
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        for (std::int64_t i = done; i < std::min(done + step, bytes); i += page)
            static_cast<volatile char*>(data)[i] = 0;
    }
}

void result_memory::allocate(std::int64_t bytes) {
    const std::int64_t available = available_host_bytes();
    if (bytes > (pinned_ ? available * most_growth : available / 10 * 9))
        throw out_of_memory("a result of " + gigabytes(bytes) + " does not fit the " + gigabytes(available) +
                            " of host memory that are free");
    memory_ = memory_pool::shared().acquire(static_cast<std::size_t>(bytes));
    if (pinned_) {
        touch_host_memory(memory_.data(), bytes, waited_for_memory);
        const auto start = std::chrono::steady_clock::now();
        locked_ = detail::pin_host_memory(memory_.data(), static_cast<std::size_t>(bytes));
        pinning_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (locked_ == nullptr) throw out_of_memory("a result of " + gigabytes(bytes) + " cannot be page-locked");
    }
    bytes_ = bytes;
}

histogram_view<std::uint32_t> result_memory::view(const large_case& c) {
    const std::int64_t needed = bytes_of(c);
    if (bytes_ < needed) {
        locked_ = nullptr;
        memory_ = {};
        memory_pool::shared().trim();
        bytes_ = 0;
        try {
            allocate(std::max(needed, pinned_ ? largest_ : 0));
        } catch (const std::exception&) {
            allocate(needed);
        }
    }
    return {{static_cast<std::uint32_t*>(memory_.data()), c.bins, c.rows, c.cols}};
}

std::vector<histogram_row> measure_stream(const stream_case& c, const histogram_bench_options& options,
                                          const target& where) {
    std::vector<histogram_row> rows;
    const std::int64_t bytes = c.rows * c.cols * c.bins * 4;
    std::optional<double> link_us;
    if (where.where == backend::cuda) try {
            link_us = link_seconds(where.device, bytes) * 1e6;
        } catch (const std::exception&) {  // the streams say what is wrong
        }
    for (const std::string& algorithm : c.algorithms)
        for (const int buffers : c.buffers) {
            histogram_row row = row_for("frames", where.where, c.rows, c.cols, c.bins, algorithm);
            row.buffers = buffers;
            row.launched = where.where == backend::cpu ? "host" : "stream";
            try {
                if (const std::int64_t needed = (buffers + 1) * bytes; needed > available_host_bytes() / 10 * 9)
                    throw out_of_memory(std::to_string(buffers) + " buffers of " + gigabytes(bytes) +
                                        " do not fit the host memory that is free");
                frame_run run{c.rows, c.cols, c.bins, options.frames};
                if (c.most_frames > 0) run.frames = std::min(run.frames, c.most_frames);
                run.request.tensor = true;
                run.options.buffers = buffers;
                run.options.histogram.algorithm = algorithm;
                run.look = [&](const frame_result& result) { row.check = wrong_tensor(result); };
                if (where.where == backend::cpu) {
                    row.threads = several_threads(options);
                    run.options.histogram.threads = row.threads;
                    const std::int64_t most = std::max<std::int64_t>(bytes_of_host_stream / bytes, 4);
                    run.frames = static_cast<int>(std::min<std::int64_t>(run.frames, most));
                } else {
                    run.options.device = where.device;
                }
                const pipeline_report report = run_frames(run);
                row.samples = static_cast<int>(report.frames);
                if (!row.wrong() && report.frames > 0) {
                    const auto frames = static_cast<double>(report.frames);
                    row.us = report.seconds * 1e6 / frames;
                    row.overlap = report.overlap();
                    const auto busy = [&](pipeline_stage stage) {
                        return report.busy[static_cast<std::size_t>(stage)] * 1e6 / frames;
                    };
                    row.read_us = busy(pipeline_stage::read);
                    row.compute_us = busy(pipeline_stage::compute);
                    if (where.where == backend::cuda) {
                        row.upload_us = busy(pipeline_stage::upload);
                        row.download_us = busy(pipeline_stage::download);
                        row.link_us = link_us;
                    }
                }
            } catch (...) {
                failed(row);
            }
            rows.push_back(std::move(row));
        }
    const bool with_two = std::find(c.buffers.begin(), c.buffers.end(), 2) != c.buffers.end();
    for (const std::string& algorithm : c.algorithms)
        if (where.where == backend::cuda && with_two)
            rows.push_back(measure_breadth_first(
                c, algorithm, c.most_frames > 0 ? std::min(options.frames, c.most_frames) : options.frames));
    return rows;
}

std::vector<histogram_row> measure_large(const large_case& c, const histogram_bench_options& options,
                                         const target& where, result_memory& memory) {
    const bool on_device = where.where == backend::cuda;
    const std::int64_t bytes = c.rows * c.cols * c.bins * 4;
    const std::vector<int> counts = on_device                      ? worker_counts(cuda::device_count())
                                    : several_threads(options) > 1 ? std::vector<int>{1, several_threads(options)}
                                                                   : std::vector<int>{1};
    std::vector<histogram_row> rows;
    // The paper's tasks are computed by WF-TiS (section 4.6); ours beside it.
    const std::vector<std::string> algorithms =
        on_device ? std::vector<std::string>{"wf-tis", "fast"} : std::vector<std::string>{"cpu"};
    for (const std::string& algorithm : algorithms)
        for (const char* what : {"tasks-kept", "tasks-host"})
            for (const int workers : counts) {
                rows.push_back(row_for(what, where.where, c.rows, c.cols, c.bins, algorithm));
                rows.back().workers = workers;
                rows.back().image = c.name;
            }
    try {
        if (!on_device && bytes > most_bytes_of_tasks)
            throw unsupported("results of more than " + gigabytes(most_bytes_of_tasks) +
                              " are not computed on a CPU here");
        const std::vector<std::uint8_t> pixels = random_pixels(c.rows * c.cols);
        const image_view<const std::uint8_t> image(pixels.data(), c.rows, c.cols);
        const binning ranges = binning::uniform(c.bins, 0, 256);
        const counted_boxes expected(image, c.bins);
        for (histogram_row& row : rows) try {
                histogram_tasks_options how;
                how.histogram.algorithm = row.algorithm;
                if (on_device)
                    for (int d = 0; d < row.workers; ++d) how.devices.push_back(d);
                else
                    how.cpu_workers = row.workers;
                histogram_tasks tasks(how);
                if (row.what == "tasks-kept") {
                    if (!on_device && 2 * bytes > available_host_bytes())
                        throw out_of_memory("a result of " + gigabytes(bytes) + " does not fit the host memory");
                    row.check = expected.check(tasks.keep({image}, ranges).box_histograms(expected.boxes).counts);
                    if (!row.wrong())
                        fill_times(row, repeat_tasks(task_runs, [&] { return tasks.keep({image}, ranges).report(); }));
                } else {
                    const any_histogram_view tensor = memory.view(c);
                    (void)tasks.run({image}, ranges, {tensor});
                    std::vector<std::uint32_t> found(expected.counts.size());
                    box_histograms(tensor, expected.boxes, std::span<std::uint32_t>(found));
                    row.check = expected.check(found);
                    if (row.wrong()) continue;
                    fill_times(row, repeat_tasks(task_runs, [&] { return tasks.run({image}, ranges, {tensor}); }));
                    if (on_device) measure_links(row, tensor.entries.data, bytes);
                }
            } catch (...) {
                failed(row);
            }
    } catch (...) {
        for (histogram_row& row : rows) failed(row);
    }
    memory_pool::shared().trim();
    return rows;
}

}  // namespace boxsum::bench
