#pragma once

#include <boxsum/histogram_tasks.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

/// What a run of bin tasks asks of a backend. The queue owns who does what; a worker owns memory and computation.
namespace boxsum::detail {

/// Some bins of the whole histogram: a task, or several that follow each other and are done as one.
struct bin_task {
    std::int64_t number = 0;  ///< of the first
    std::int64_t first_bin = 0;
    std::int64_t bins = 0;
    std::int64_t tasks = 1;

    friend bool operator==(const bin_task&, const bin_task&) = default;
};

/// The image of a run on its way to several devices, known to their workers only.
class shared_upload;

/// When several devices share the upload of an image, and in what pieces its parts travel on to the others. Small
/// images are there sooner than devices have told each other (docs/decisions/histograms.md).
struct upload_sharing {
    std::int64_t least_bytes = std::int64_t{4} << 20;  ///< of an image, with its weights
    std::int64_t piece_bytes = std::int64_t{4} << 20;
};

/// What all tasks of a run have in common. Checked.
struct bin_job {
    histogram_inputs inputs;        ///< host; the image is 8u or 16u
    const binning* bins = nullptr;  ///< of the pixels of the image
    histogram_options histogram;
    any_histogram_view tensor;                   ///< of all bins, host; data is null where results are kept
    std::shared_ptr<shared_upload> upload = {};  ///< null: every worker has all of the image from the host
    upload_sharing sharing = {};

    std::int64_t input_bytes() const {
        const view_shape& s = inputs.image.shape;
        return s.planes * s.rows * s.cols *
               static_cast<std::int64_t>(size_of(s.type) + (weighted() ? sizeof(float) : 0));
    }
    dtype entries() const { return tensor.entries.shape.type; }
    bool weighted() const { return inputs.weights.data != nullptr; }
    bool keeps() const { return tensor.entries.data == nullptr; }
};

/// The bins of a task, numbered from 0: a look-up table for every value of the image.
binning bins_of(const bin_job& job, const bin_task& task);

/// The bins of a task in the tensor of the job.
any_histogram_view part_of(const bin_job& job, const bin_task& task);

/// The result of a task that stays with its worker.
class kept_bins {
  public:
    virtual ~kept_bins() = default;
    virtual std::optional<int> device() const = 0;
    virtual const_any_histogram_view tensor() const = 0;
    /// boxes x bins of the group.
    virtual histogram_list box_histograms(std::span<const box> boxes, std::int64_t plane) const = 0;
};

/// Every function but name() and device() is called by one thread at a time: that of the worker in a run.
class bin_worker {
  public:
    virtual ~bin_worker() = default;

    virtual std::string name() const = 0;

    /// That its memory is on; nothing: host memory.
    virtual std::optional<int> device() const { return {}; }

    /// Whether it writes faster to page-locked memory.
    virtual bool wants_pinned_memory() const { return false; }

    /// Tasks that may be started before the oldest is finished.
    virtual std::size_t depth() const { return 1; }

    /// Most bins of a task of this job that fit its memory; may be asked before begin().
    virtual std::int64_t most_bins(const bin_job& job) const = 0;

    /// Tasks are done together up to this many bins, while there are enough for the others: one task a time where that
    /// is no faster.
    virtual std::int64_t bins_together(const bin_job&) const { return 1; }

    virtual void begin(const bin_job& job) = 0;
    virtual void start(const bin_task& task) = 0;

    /// Waits for the oldest started task, whose result then is in the tensor of the job, or returned.
    virtual std::unique_ptr<kept_bins> finish(const bin_task& task) = 0;

    /// How long the image took to the worker's memory, 0 where it stays where it is. After the tasks of a run.
    virtual double upload_seconds() const { return 0; }

    /// The last call of a run, after a failure too. Nothing of the run is written or read afterwards.
    virtual void end() noexcept = 0;
};

std::unique_ptr<bin_worker> make_cpu_bin_worker(int number);

/// Throws unsupported without CUDA, or without such a device.
std::unique_ptr<bin_worker> make_cuda_bin_worker(int device);

/// For a run on these devices. Null for fewer than two, and where they do not reach each other's memory.
std::shared_ptr<shared_upload> share_upload(std::span<const int> devices);

/// Page-locks memory that is not, for as long as the returned object lives; null where that is not possible.
std::shared_ptr<void> pin_host_memory(void* data, std::size_t bytes);

}  // namespace boxsum::detail
