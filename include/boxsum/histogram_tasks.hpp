#pragma once

#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_table.hpp>
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

/// What a run did, and how long it took.
struct histogram_tasks_report {
    std::int64_t tasks = 0;
    std::int64_t bins_per_task = 0;  ///< of all tasks but the last
    double seconds = 0;              ///< upload, computation, download; without the pinning
    double pinning_seconds = 0;      ///< page-locking image and tensor for devices
    std::size_t pinned_bytes = 0;
    std::vector<task_worker_report> workers;
};

/// Who works, and on how much at a time.
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
        std::optional<int> device;        ///< nothing: host memory
        const_any_histogram_view tensor;  ///< planes x bins of the group x rows x cols, on that device
    };

    kept_histogram(kept_histogram&&) noexcept;
    kept_histogram& operator=(kept_histogram&&) noexcept;
    ~kept_histogram();

    std::int64_t bins() const noexcept { return bins_; }
    const table_form& form() const noexcept { return form_; }
    std::span<const group> groups() const noexcept { return groups_; }  ///< in the order of bins, without gaps
    const histogram_tasks_report& report() const noexcept { return report_; }

    /// boxes x bins, from all groups; sums where pixels had weights. Throws invalid_argument as
    /// boxsum::box_histograms() does.
    histogram_list box_histograms(std::span<const box> boxes, std::int64_t plane = 0) const;

  private:
    friend class histogram_tasks;
    kept_histogram() = default;

    std::int64_t bins_ = 0;
    table_form form_;
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
///     const auto report = tasks.run({image}, bins, {histograms});   // into host memory
///     const kept_histogram h = tasks.keep({image}, bins);           // stays on the devices
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

    /// Inputs and outputs in host memory, as of integral_histogram(), whose result this is, bit for bit. Memory that
    /// is not page-locked is locked for the time of the call when devices work on it.
    /// Throws invalid_argument and unsupported as integral_histogram() does, before any task; workers_failed, also when
    /// no device can use the algorithm or its parameters.
    histogram_tasks_report run(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs);

    /// The same, but results stay with the workers. `entries` is 32u or 16u, or 32f with weights. Throws as run().
    kept_histogram keep(const histogram_inputs& inputs, const binning& bins, dtype entries = dtype::u32,
                        table_form form = {});

  private:
    histogram_tasks_options options_;
    std::vector<std::unique_ptr<detail::bin_worker>> workers_;
};

}  // namespace boxsum
