#pragma once

#include "cuda/queries/tensor_queries.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/histogram_pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// The boxes and searches of one frame on the device: what goes up, what comes back.
namespace boxsum::cuda {

/// Memory and arithmetic of a slot's queries. One thread at a time; the device of the streams is current.
class frame_queries {
  public:
    /// Plans the queries of a checked request over the tensor of its region; grows the memory where needed (on
    /// `stream`, whose earlier work may still use it). Enqueues nothing yet.
    void prepare(const frame_request& request, const box& region, std::int64_t bins, stream_ref stream);

    /// The same where the same object may be asked for again: then there is nothing to do.
    void prepare(const std::shared_ptr<const frame_request>& request, const box& region, std::int64_t bins,
                 stream_ref stream);

    bool any() const { return !boxes_.empty() || !searches_.empty(); }

    /// Enqueues the upload of boxes and target, the kernels, and the download of their results.
    void enqueue(const const_any_tensor_view& tensor, table_layout layout, stream_ref stream) {
        enqueue_kernels(tensor, layout, stream);
        enqueue_download(stream);
    }

    /// The same in two parts, so that kernels behind these need not wait for the copy: it belongs on a stream that
    /// waits for them. Boxes and target that are on the device already, because the request before was the same one,
    /// stay there.
    void enqueue_kernels(const const_any_tensor_view& tensor, table_layout layout, stream_ref stream);
    void enqueue_download(stream_ref stream);

    /// Once all of that is done: fills histograms (or sums, where the tensor was of sums) and matches. Histograms of
    /// matches are asked for with count_matches().
    void collect(const frame_request& request, const box& region, frame_answer& answer) const;

    /// Enqueues the histograms of the matches found, and waits for them.
    void count_matches(const const_any_tensor_view& tensor, table_layout layout, const box& region,
                       frame_answer& answer, stream_ref stream);

  private:
    struct search {
        window_grid grid;  ///< in the region's pixels, with a region of its own
        std::int64_t cols = 0, windows = 0;
        std::size_t distances = 0;  ///< first, of all searches'
        std::size_t results = 0;    ///< first, of all searches': stretches, or windows
    };

    void reserve(stream_ref stream);

    /// Counts or sums of the boxes, into the one of the two that the tensor has.
    void take_histograms(std::vector<std::uint32_t>& counts, std::vector<float>& sums) const;

    std::vector<box> boxes_;  ///< in the region's pixels
    std::vector<search> searches_;
    std::vector<double> shares_;
    bool target_empty_ = false;
    histogram_distance distance_ = histogram_distance::l1;
    bool only_nearest_ = false;  ///< one match: stretches are reduced on the device
    std::int64_t bins_ = 0;
    std::shared_ptr<const frame_request> prepared_;  ///< null once the memory holds something else
    bool uploaded_ = false;
    bool sums_ = false;  ///< the tensor last enqueued is of sums of weights
    std::size_t windows_ = 0, results_ = 0;

    // Device: boxes, shares, counts, distances, nearest. Host: the same but distances, where they stay.
    device_buffer device_;
    pinned_buffer host_;
    struct layout_of_memory {
        std::size_t boxes = 0, shares = 0, counts = 0, results = 0, host_bytes = 0, distances = 0, device_bytes = 0;
    } at_;
};

}  // namespace boxsum::cuda
