#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
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

namespace boxsum {
namespace {

void check_not_negative(std::string_view name, std::int64_t value) {
    if (value < 0)
        throw invalid_argument(std::string(name) + ": is " + std::to_string(value) + ", must be 0 (automatic) or more");
}

std::vector<std::unique_ptr<detail::bin_worker>> make_workers(const histogram_tasks_options& options) {
    check_not_negative("cpu_workers", options.cpu_workers);
    check_not_negative("bins_per_task", options.bins_per_task);
    check_threads(options.histogram.threads);
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
        visit_one_of(histogram_pixels{}, s.type, [&]<typename Pixel>() {
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
        add(job.inputs.image.data, checked_span_bytes("image", job.inputs.image.shape));
        if (job.weighted()) add(job.inputs.weights.data, checked_span_bytes("weights", job.inputs.weights.shape));
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
detail::bin_job make_job(const bin_image& image, const const_any_view& weights, const any_histogram_view& tensor,
                         const histogram_options& how, std::size_t workers) {
    detail::bin_job job{{image.view(), weights}, &image.bins(), how, tensor};
    if (job.histogram.threads == 0 && workers > 1) job.histogram.threads = 1;
    // By the size of the whole: the parts alone might all fit the cache.
    if (job.histogram.store == store_policy::automatic)
        job.histogram.store = cpu::choose_store(checked_tensor_bytes("histograms", tensor.entries.shape),
                                                static_cast<int>(workers), store_policy::automatic);
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

histogram_tasks_report histogram_tasks::run(const histogram_inputs& inputs, const binning& bins,
                                            const histogram_outputs& outputs) try {
    (void)make_histogram_problem(inputs, bins, outputs);
    const packed_input image(inputs.image, is_plain), weights(inputs.weights, is_plain);
    const histogram_inputs packed{image.view(), weights.view()};
    check_computable(make_histogram_problem(packed, bins, outputs), options_.histogram, workers_);
    const any_histogram_view& tensor = outputs.histograms;
    const bin_image numbers(packed.image, bins);
    const detail::bin_job job = make_job(numbers, packed.weights, tensor, options_.histogram, workers_.size());

    pinned_memory pinned(workers_);
    pinned.add_input(job);
    pinned.add(tensor.entries.data, checked_tensor_bytes("histograms", tensor.entries.shape));
    auto done = detail::run_bins(job, choose_bins_per_task(job, options_.bins_per_task, workers_), workers_);
    pinned.report_to(done.report);
    return std::move(done.report);
} catch (...) {
    rethrow_as_ours();
}

kept_histogram histogram_tasks::keep(const histogram_inputs& inputs, const binning& bins, dtype entries,
                                     table_form form) try {
    (void)check_read("image", inputs.image);
    if (is_set(inputs.weights)) (void)check_read("weights", inputs.weights);
    const packed_input image(inputs.image, is_plain), weights(inputs.weights, is_plain);
    const histogram_inputs packed{image.view(), weights.view()};
    const histogram_shape whole = packed_histograms(inputs.image.shape, bins.bins(), entries, form);
    const any_histogram_view tensor{{nullptr, whole.entries}, form};  // the whole is nowhere in one piece
    check_computable(make_histogram_problem(shapes_of(packed, {tensor}), bins), options_.histogram, workers_);
    const bin_image numbers(packed.image, bins);
    const detail::bin_job job = make_job(numbers, packed.weights, tensor, options_.histogram, workers_.size());

    pinned_memory pinned(workers_);
    pinned.add_input(job);
    auto done = detail::run_bins(job, choose_bins_per_task(job, options_.bins_per_task, workers_), workers_);
    pinned.report_to(done.report);
    kept_histogram result;
    result.bins_ = bins.bins();
    result.form_ = form;
    result.report_ = std::move(done.report);
    for (auto& part : done.kept)
        if (part != nullptr) result.memory_.push_back(std::move(part));
    std::int64_t first = 0;
    for (const auto& part : result.memory_) {
        result.groups_.push_back({first, part->device(), part->tensor()});
        first += part->tensor().entries.shape.bins;
    }
    return result;
} catch (...) {
    rethrow_as_ours();
}

kept_histogram::kept_histogram(kept_histogram&&) noexcept = default;
kept_histogram& kept_histogram::operator=(kept_histogram&&) noexcept = default;
kept_histogram::~kept_histogram() = default;

histogram_list kept_histogram::box_histograms(std::span<const box> boxes, std::int64_t plane) const try {
    if (groups_.empty()) throw invalid_argument("histogram: was moved from");
    const auto bins = static_cast<std::size_t>(bins_);
    histogram_list all;
    const auto add = [&](const group& g, auto& to, const auto& part) {
        to.resize(boxes.size() * bins);
        const auto first = static_cast<std::size_t>(g.first_bin);
        const auto width = static_cast<std::size_t>(g.tensor.entries.shape.bins);
        for (std::size_t i = 0; i < boxes.size(); ++i)
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        to.begin() + static_cast<std::ptrdiff_t>(i * bins + first));
    };
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const histogram_list part = memory_[g]->box_histograms(boxes, plane);
        if (groups_[g].tensor.entries.shape.type == dtype::f32)
            add(groups_[g], all.sums, part.sums);
        else
            add(groups_[g], all.counts, part.counts);
    }
    return all;
} catch (...) {
    rethrow_as_ours();
}

const char* workers_failed::what() const noexcept {
    return std::runtime_error::what();
}

}  // namespace boxsum
