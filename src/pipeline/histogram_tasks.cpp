#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"
#include "pipeline/bin_run.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/histogram_tasks.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <type_traits>

namespace boxsum {
namespace {

void check_not_negative(std::string_view name, std::int64_t value) {
    if (value < 0)
        throw invalid_argument(std::string(name) + ": is " + std::to_string(value) + ", must be 0 (automatic) or more");
}

std::vector<std::unique_ptr<detail::bin_worker>> make_workers(const histogram_tasks_options& options) {
    check_not_negative("cpu_workers", options.cpu_workers);
    check_not_negative("bins_per_task", options.bins_per_task);
    check_not_negative("threads", options.histogram.threads);
    check_store(options.histogram.store);
    std::vector<int> devices = options.devices;
    if (options.cpu_workers > 0 && !devices.empty())
        throw invalid_argument("cpu_workers: is " + std::to_string(options.cpu_workers) +
                               ", but devices are given, too");
    if (options.cpu_workers == 0 && devices.empty()) {
        devices.resize(static_cast<std::size_t>(cuda::device_count()));
        std::iota(devices.begin(), devices.end(), 0);
    }
    std::vector<std::unique_ptr<detail::bin_worker>> workers;
    for (auto d = devices.begin(); d != devices.end(); ++d) {
        if (std::find(devices.begin(), d, *d) != d)
            throw invalid_argument("devices: cuda:" + std::to_string(*d) + " is given twice");
        workers.push_back(detail::make_cuda_bin_worker(*d));
    }
    if (workers.empty()) {
        const int count = options.cpu_workers > 0 ? options.cpu_workers : cpu::available_threads();
        for (int i = 0; i < count; ++i) workers.push_back(detail::make_cpu_bin_worker(i));
    }
    return workers;
}

/// Pixels that have too many values for a table become bin numbers once for all tasks.
class bin_image {
  public:
    bin_image(const const_any_view& image, const binning& bins) : view_(image), bins_(bins) {
        if (image.shape.type == dtype::u8 || image.shape.type == dtype::u16) return;
        const bool wide = bins.bins() > 255;
        const view_shape& s = image.shape;
        owned_ = detail::allocate_table({}, wide ? dtype::u16 : dtype::u8, s.rows, s.cols, 1, s.planes);
        // A number that is no bin is out of range, hence counted nowhere.
        bins_ = binning::indices(bins.bins());
        view_ = {owned_.memory.data(), owned_.shape};
        visit_one_of(histogram_inputs{}, s.type, [&]<typename Pixel>() {
            wide ? fill<Pixel, std::uint16_t>(image, bins) : fill<Pixel, std::uint8_t>(image, bins);
        });
    }

    const const_any_view& view() const { return view_; }
    const binning& bins() const { return bins_; }

  private:
    template <typename Pixel, typename Index>
    void fill(const const_any_view& image, const binning& bins) {
        struct context {
            image_view<const Pixel> from;
            image_view<Index> to;
            const binning* bins;
        };
        const view_shape& t = owned_.shape;
        context c{
            typed_view<Pixel>(image.data, image.shape),
            {static_cast<Index*>(owned_.memory.data()), t.rows, t.cols, t.row_stride, 1, t.planes, t.plane_stride},
            &bins};
        const auto rows = [](void* context_of_all, int thread, int threads) {
            const context& all = *static_cast<const context*>(context_of_all);
            const std::int64_t count = all.from.planes() * all.from.rows();
            for (std::int64_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) {
                const std::int64_t plane = i / all.from.rows(), r = i % all.from.rows();
                const Pixel* const in = all.from.row(r, plane);
                Index* const out = all.to.row(r, plane);
                // -1 becomes the largest number, which no bin has.
                for (std::int64_t k = 0; k < all.from.cols(); ++k)
                    out[k] = static_cast<Index>(all.bins->bin_of(static_cast<double>(in[k])));
            }
        };
        cpu::run_team(cpu::choose_threads(t.planes * t.plane_stride * 16, 0), rows, &c);
    }

    const_any_view view_;
    binning bins_;
    detail::owned_table owned_;
};

/// Host memory that is page-locked for a run, where workers want that, and the time it took.
class pinned_memory {
  public:
    explicit pinned_memory(std::span<const std::unique_ptr<detail::bin_worker>> workers)
        : wanted_(std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w->wants_pinned_memory(); })) {
    }

    void add(const void* data, std::int64_t bytes) {
        if (!wanted_) return;
        const auto start = std::chrono::steady_clock::now();
        auto range = detail::pin_host_memory(const_cast<void*>(data), static_cast<std::size_t>(bytes));
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (range == nullptr) return;
        bytes_ += static_cast<std::size_t>(bytes);
        ranges_.push_back(std::move(range));
    }

    void add_input(const detail::bin_job& job) {
        add(job.image.data, checked_span_bytes("image", job.image.shape));
        if (job.weights) add(job.weights->data, checked_span_bytes("weights", job.weights->shape));
    }

    void report_to(histogram_tasks_report& report) const {
        report.pinning_seconds = seconds_;
        report.pinned_bytes = bytes_;
    }

  private:
    bool wanted_;
    double seconds_ = 0;
    std::size_t bytes_ = 0;
    std::vector<std::shared_ptr<void>> ranges_;
};

/// What is wrong with the algorithm or its parameters is said before any task, as integral_histogram() says it; devices
/// say it when a task starts on them.
void check_computable(const problem& p, const histogram_options& how,
                      std::span<const std::unique_ptr<detail::bin_worker>> workers) {
    if (workers.empty()) throw invalid_argument("histogram_tasks: was moved from");
    if (std::none_of(workers.begin(), workers.end(), [](const auto& w) { return w->device().has_value(); }))
        (void)choose(p, backend::cpu, how.algorithm, how.parameters);
}

/// What a run on host memory and one that keeps its result share.
detail::bin_job make_job(const bin_image& image, const std::optional<const_any_view>& weights, dtype entries,
                         const any_tensor_view& tensor, const histogram_tasks_options& options, std::size_t workers,
                         std::int64_t tensor_bytes) {
    detail::bin_job job{image.view(), &image.bins(), entries, options.histogram, tensor, weights};
    if (job.histogram.threads == 0 && workers > 1) job.histogram.threads = 1;
    // By the size of the whole: the parts alone might all fit the cache.
    if (job.histogram.store == store_policy::automatic)
        job.histogram.store = cpu::choose_store(tensor_bytes, true, store_policy::automatic);
    return job;
}

}  // namespace

histogram_tasks::histogram_tasks(const histogram_tasks_options& options)
    : options_(options), workers_(make_workers(options)) {}
histogram_tasks::histogram_tasks(histogram_tasks&&) noexcept = default;
histogram_tasks& histogram_tasks::operator=(histogram_tasks&&) noexcept = default;
histogram_tasks::~histogram_tasks() = default;

std::vector<std::string> histogram_tasks::workers() const {
    std::vector<std::string> names;
    for (const auto& worker : workers_) names.push_back(worker->name());
    return names;
}

histogram_tasks_report histogram_tasks::run(const const_any_view& image, const binning& bins,
                                            const any_tensor_view& tensor) {
    return run_into(image, std::nullopt, bins, tensor);
}

histogram_tasks_report histogram_tasks::run(const const_any_view& image, const const_any_view& weights,
                                            const binning& bins, const any_tensor_view& tensor) {
    return run_into(image, weights, bins, tensor);
}

histogram_tasks_report histogram_tasks::run_into(const const_any_view& image, const optional_view& weights,
                                                 const binning& bins, const any_tensor_view& tensor) try {
    check_computable(make_histogram_problem(image, weights, bins, tensor, options_.histogram.layout),
                     options_.histogram, workers_);
    const std::int64_t bytes = checked_tensor_bytes("tensor", tensor.shape);
    const bin_image numbers(image, bins);
    const detail::bin_job job = make_job(numbers, weights, tensor.shape.type, tensor, options_, workers_.size(), bytes);

    pinned_memory pinned(workers_);
    pinned.add_input(job);
    pinned.add(tensor.data, bytes);
    auto done = detail::run_bins(job, choose_bins_per_task(job, options_.bins_per_task, workers_), workers_);
    pinned.report_to(done.report);
    return std::move(done.report);
} catch (...) {
    rethrow_as_ours();
}

kept_histogram histogram_tasks::keep(const const_any_view& image, const binning& bins, dtype entries) {
    return keep_entries(image, std::nullopt, bins, entries);
}

kept_histogram histogram_tasks::keep(const const_any_view& image, const const_any_view& weights, const binning& bins) {
    return keep_entries(image, weights, bins, dtype::f32);
}

kept_histogram histogram_tasks::keep_entries(const const_any_view& image, const optional_view& weights,
                                             const binning& bins, dtype entries) try {
    (void)check_view("image", image);
    std::optional<view_shape> weights_shape;
    if (weights) {
        (void)check_view("weights", *weights);
        weights_shape = weights->shape;
    }
    const table_layout layout = options_.histogram.layout;
    const tensor_shape whole = packed_tensor(image.shape, bins.bins(), entries, layout);
    check_computable(make_histogram_problem(image.shape, weights_shape, bins, whole, layout), options_.histogram,
                     workers_);
    const bin_image numbers(image, bins);
    const detail::bin_job job = make_job(numbers, weights, entries, {nullptr, whole}, options_, workers_.size(),
                                         checked_tensor_bytes("tensor", whole));

    pinned_memory pinned(workers_);
    pinned.add_input(job);
    auto done = detail::run_bins(job, choose_bins_per_task(job, options_.bins_per_task, workers_), workers_);
    pinned.report_to(done.report);
    kept_histogram result;
    result.bins_ = bins.bins();
    result.layout_ = layout;
    result.report_ = std::move(done.report);
    for (auto& part : done.kept)
        if (part != nullptr) result.memory_.push_back(std::move(part));
    std::int64_t first = 0;
    for (const auto& part : result.memory_) {
        result.groups_.push_back({first, part->device(), part->tensor()});
        first += part->tensor().shape.bins;
    }
    return result;
} catch (...) {
    rethrow_as_ours();
}

kept_histogram::kept_histogram(kept_histogram&&) noexcept = default;
kept_histogram& kept_histogram::operator=(kept_histogram&&) noexcept = default;
kept_histogram::~kept_histogram() = default;

template <typename T>
std::vector<T> kept_histogram::boxes_of_groups(std::span<const box> boxes, std::int64_t plane) const try {
    constexpr bool sums = std::is_same_v<T, float>;
    if (groups_.empty()) throw invalid_argument("histogram: was moved from");
    if ((groups_.front().tensor.shape.type == dtype::f32) != sums)
        throw invalid_argument(sums ? "histogram: has counts, not sums of weights: box_histograms() is for them"
                                    : "histogram: has sums of weights, not counts: box_sums() is for them");
    const auto bins = static_cast<std::size_t>(bins_);
    std::vector<T> all(boxes.size() * bins);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        std::vector<T> part;
        if constexpr (sums)
            part = memory_[g]->box_sums(boxes, layout_, plane);
        else
            part = memory_[g]->box_histograms(boxes, layout_, plane);
        const auto first = static_cast<std::size_t>(groups_[g].first_bin);
        const auto width = static_cast<std::size_t>(groups_[g].tensor.shape.bins);
        for (std::size_t i = 0; i < boxes.size(); ++i)
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        all.begin() + static_cast<std::ptrdiff_t>(i * bins + first));
    }
    return all;
} catch (...) {
    rethrow_as_ours();
}

std::vector<std::uint32_t> kept_histogram::box_histograms(std::span<const box> boxes, std::int64_t plane) const {
    return boxes_of_groups<std::uint32_t>(boxes, plane);
}

std::vector<float> kept_histogram::box_sums(std::span<const box> boxes, std::int64_t plane) const {
    return boxes_of_groups<float>(boxes, plane);
}

const char* workers_failed::what() const noexcept {
    return std::runtime_error::what();
}

}  // namespace boxsum
