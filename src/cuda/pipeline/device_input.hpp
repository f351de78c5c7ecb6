#pragma once

#include "cuda/runtime/event.hpp"
#include "pipeline/bin_worker.hpp"

#include <boxsum/cuda/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace boxsum::detail {

/// Rows of all planes, counted through.
struct row_range {
    std::int64_t first = 0, last = 0;

    bool empty() const { return first == last; }
};

/// Image and weights of a job in the memory of one device. Whoever copies from it on another device holds it until the
/// copies are waited for; the last one frees it, on the device and the stream that it is of.
class device_input {
  public:
    /// With the device current, which the stream is of. Rows are undefined until they are uploaded or copied.
    device_input(const bin_job& job, int device, std::shared_ptr<cuda::stream> stream);
    device_input(const device_input&) = delete;
    device_input& operator=(const device_input&) = delete;
    ~device_input();

    int device() const { return device_; }
    std::size_t bytes() const { return image_.size() + weights_.size(); }
    std::int64_t rows() const { return image_shape_.planes * image_shape_.rows; }

    /// Weights are set where the job has them.
    histogram_inputs inputs() const;

    /// Enqueues the way of some rows from the host.
    void upload(const bin_job& job, row_range rows);

    /// These rows, whose upload is enqueued, are there for others.
    void publish(row_range rows);

    /// Waits for them. Throws cuda_error where they failed on the way: copies of them are worth nothing then.
    void wait_published() const;

    /// Enqueues copies of what the other one has published, each behind its upload there and beside what comes from the
    /// host here. Where it throws cuda_error, none is under way.
    void copy_from(const device_input& other);

  private:
    struct part {
        row_range rows;
        cuda::event there;
    };

    int device_;
    std::shared_ptr<cuda::stream> stream_;  ///< outlives what is allocated on it
    view_shape image_shape_, weights_shape_;
    cuda::device_buffer image_, weights_;
    cuda::event allocated_;
    std::vector<part> published_;
    std::optional<cuda::stream> from_others_;
};

}  // namespace boxsum::detail
