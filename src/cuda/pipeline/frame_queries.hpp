#pragma once

#include "cuda/queries/window_search.hpp"

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
    /// Plans the queries of a checked request over histograms of its region; grows the memory where needed (on
    /// `stream`, whose earlier work may still use it). Enqueues nothing yet. Where the same object is asked for again
    /// there is nothing to do.
    void prepare(const std::shared_ptr<const frame_request>& request, const box& region, const histogram_shape& shape,
                 stream_ref stream);

    bool any() const { return !boxes_.empty() || search_.windows > 0; }

    /// Enqueues the upload of boxes, grids and target, and the kernels. What is on the device already, because the
    /// request before was the same one, stays there.
    void enqueue_kernels(const const_any_histogram_view& histograms, stream_ref stream);

    /// Enqueues the way of the answers to the host: on a stream that waits for the kernels, so that those behind them
    /// need not wait for it.
    void enqueue_download(stream_ref stream);

    /// Once all of that is done: fills histograms, matches and their histograms.
    void collect(const box& region, frame_answer& answer) const;

  private:
    /// Places in the memory of either side; the search's scratch memory is the device's alone.
    struct places {
        box* boxes;
        placed_grid* grids;
        double* shares;
        std::size_t uploaded;  ///< bytes: all before this is what goes up
        std::byte* histograms;
        histogram_match* matches;
        std::byte* match_histograms;
        std::size_t end;

        places(workspace_slots& slots, const frame_queries& q);
    };

    std::int64_t row_bytes() const;
    void reserve(stream_ref stream);

    std::shared_ptr<const frame_request> prepared_;
    histogram_shape shape_;
    std::vector<box> boxes_;  ///< in the region's pixels
    window_search search_;
    bool match_histograms_ = false;
    bool uploaded_ = false;

    device_buffer device_;
    pinned_buffer host_;
};

}  // namespace boxsum::cuda
