#pragma once

#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_tensor.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

namespace detail {
class bin_worker;
class kept_bins;
}  // namespace detail

/// What one worker did in a run.
struct task_worker_report {
    std::string name;           ///< "cpu:0", "cuda:1"
    std::int64_t tasks = 0;     ///< in the result
    double seconds = 0;         ///< busy with tasks
    double upload_seconds = 0;  ///< of `histogram_tasks_report::seconds`: the image on its way to the device
    std::string failure;        ///< what it failed with, empty when it did not
};

struct histogram_tasks_report {
    std::int64_t tasks = 0;
    std::int64_t bins_per_task = 0;  ///< of all tasks but the last
    double seconds = 0;              ///< upload, computation, download; without the pinning
    double pinning_seconds = 0;      ///< page-locking image and tensor for devices
    std::size_t pinned_bytes = 0;
    std::vector<task_worker_report> workers;
};

struct histogram_tasks_options {
    /// CUDA devices, one worker each. Empty: all devices of the machine, and where there is none, CPU workers.
    std::vector<int> devices = {};

    /// More than 0: this many CPU workers and no devices. Without devices 0 means one for each thread of the machine.
    int cpu_workers = 0;

    /// Bins of a task. 0: as many as give every worker at least 4 tasks, and fit a device's memory. More tasks balance
    /// better.
    std::int64_t bins_per_task = 0;

    /// `threads` are those of one CPU worker; 0: one each, or chosen by size for a single worker.
    histogram_options histogram = {};
};

/// Every worker of a run failed; what() names each and why.
class workers_failed : public std::runtime_error, public error {
  public:
    using std::runtime_error::runtime_error;
    const char* what() const noexcept override;
};

/// An integral histogram that stayed where it was computed, bins in groups: device memory of several devices, or host
/// memory of CPU workers. Movable; const functions are thread-safe.
class kept_histogram {
  public:
    struct group {
        std::int64_t first_bin = 0;
        std::optional<int> device;     ///< nothing: host memory
        const_any_tensor_view tensor;  ///< planes x bins of the group x rows x cols, on that device
    };

    kept_histogram(kept_histogram&&) noexcept;
    kept_histogram& operator=(kept_histogram&&) noexcept;
    ~kept_histogram();

    std::int64_t bins() const noexcept { return bins_; }
    table_layout layout() const noexcept { return layout_; }
    std::span<const group> groups() const noexcept { return groups_; }  ///< in the order of bins, without gaps
    const histogram_tasks_report& report() const noexcept { return report_; }

    /// boxes x bins counts, from all groups. Throws invalid_argument as boxsum::box_histograms(), and where the result
    /// is of weights.
    std::vector<std::uint32_t> box_histograms(std::span<const box> boxes, std::int64_t plane = 0) const;

    /// The same where pixels had weights: boxes x bins sums.
    std::vector<float> box_sums(std::span<const box> boxes, std::int64_t plane = 0) const;

  private:
    friend class histogram_tasks;
    kept_histogram() = default;
    template <typename T>
    std::vector<T> boxes_of_groups(std::span<const box> boxes, std::int64_t plane) const;

    std::int64_t bins_ = 0;
    table_layout layout_ = table_layout::inclusive;
    std::vector<group> groups_;
    std::vector<std::unique_ptr<detail::kept_bins>> memory_;
    histogram_tasks_report report_;
};

/// Integral histograms of large images by several devices (Poostchi et al., section 4.6): groups of bins are tasks on
/// one queue, each worker takes the next one when it is free, so that fast workers do more of them, and on a device the
/// result of one task travels while the next is computed. Small tasks whose results stay on a device are done several
/// at once as long as many wait. Devices that reach each other's memory share the upload of an image of 4 MB and more:
/// each has a part of it from the host, and the others' from them. A worker that fails gives its tasks back, those that
/// are kept in its memory too, and is left out for the rest of the run.
///
///     histogram_tasks tasks;                                       // all GPUs, else the CPU's threads
///     const auto report = tasks.run(image, bins, tensor.view());   // into host memory
///     const kept_histogram h = tasks.keep(image, bins);            // stays on the devices
///
/// An object runs one call at a time, from any thread; different objects are independent.
class histogram_tasks {
  public:
    /// Throws invalid_argument for numbers below 0 and a device named twice; unsupported for a device that does not
    /// exist.
    explicit histogram_tasks(const histogram_tasks_options& options = {});
    histogram_tasks(histogram_tasks&&) noexcept;
    histogram_tasks& operator=(histogram_tasks&&) noexcept;
    ~histogram_tasks();

    std::vector<std::string> workers() const;

    /// Image and tensor in host memory, as of integral_histogram(), whose result this is, bit for bit. Memory that
    /// is not page-locked is locked for the time of the call when devices work on it.
    /// Throws invalid_argument and unsupported as integral_histogram() does, before any task; workers_failed, also when
    /// no device can use the algorithm or its parameters.
    histogram_tasks_report run(const const_any_view& image, const binning& bins, const any_tensor_view& tensor);

    /// The same with a weight per pixel, as integral_histogram() takes them: `weights` is 32f with the image's extents,
    /// `tensor` is 32f.
    histogram_tasks_report run(const const_any_view& image, const const_any_view& weights, const binning& bins,
                               const any_tensor_view& tensor);

    /// The same, but results stay with the workers. `entries` is 32u or 16u. Throws as run().
    kept_histogram keep(const const_any_view& image, const binning& bins, dtype entries = dtype::u32);

    /// The same with a weight per pixel; entries are 32f.
    kept_histogram keep(const const_any_view& image, const const_any_view& weights, const binning& bins);

  private:
    using optional_view = std::optional<const_any_view>;
    histogram_tasks_report run_into(const const_any_view& image, const optional_view& weights, const binning& bins,
                                    const any_tensor_view& tensor);
    kept_histogram keep_entries(const const_any_view& image, const optional_view& weights, const binning& bins,
                                dtype entries);

    histogram_tasks_options options_;
    std::vector<std::unique_ptr<detail::bin_worker>> workers_;
};

}  // namespace boxsum
