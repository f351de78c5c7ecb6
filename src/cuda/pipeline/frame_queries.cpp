#include "cuda/pipeline/frame_queries.hpp"

#include "core/visit_histogram.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "pipeline/frame_request.hpp"
#include "pipeline/histogram_lists.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace boxsum::cuda {
namespace {

void copy(const void* from, void* to, std::size_t bytes, stream_ref stream) {
    if (bytes != 0) BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()));
}

/// Histograms that a kernel wrote one behind the other.
histogram_list list_of(const std::byte* first, std::size_t count, const tensor_shape& entries) {
    histogram_list list;
    visit_one_of(histogram_entries{}, entries.type, [&]<typename Entry>() {
        list = detail::as_list<Entry>(std::span<const Entry>(reinterpret_cast<const Entry*>(first),
                                                             count * static_cast<std::size_t>(entries.bins)));
    });
    return list;
}

}  // namespace

std::int64_t frame_queries::row_bytes() const {
    return shape_.entries.bins * static_cast<std::int64_t>(size_of(shape_.entries.type));
}

frame_queries::places::places(workspace_slots& slots, const frame_queries& q)
    : boxes(slots.take<box>(std::ssize(q.boxes_))),
      grids(slots.take<placed_grid>(std::ssize(q.search_.grids))),
      shares(slots.take<double>(q.search_.windows > 0 ? q.shape_.entries.bins + 1 : 0)),
      uploaded(slots.bytes()),
      histograms(slots.take<std::byte>(std::ssize(q.boxes_) * q.row_bytes())),
      matches(slots.take<histogram_match>(q.search_.keep)),
      match_histograms(slots.take<std::byte>(q.match_histograms_ ? q.search_.keep * q.row_bytes() : 0)),
      end(slots.bytes()) {}

void frame_queries::prepare(const std::shared_ptr<const frame_request>& request, const box& region,
                            const histogram_shape& shape, stream_ref stream) {
    if (prepared_ == request) return;
    prepared_ = nullptr;
    uploaded_ = false;
    shape_ = shape;
    boxes_ = detail::boxes_in_region(*request, region);
    const std::vector<window_grid> grids = detail::grids_in_region(*request, region);
    search_ = grids.empty() ? window_search() : window_search(shape, grids, request->distance, request->count);
    match_histograms_ = request->match_histograms;
    reserve(stream);
    workspace_slots slots(host_.data());
    const places at(slots, *this);
    std::copy(boxes_.begin(), boxes_.end(), at.boxes);
    std::copy(search_.grids.begin(), search_.grids.end(), at.grids);
    if (search_.windows > 0) {
        const std::vector<double> shares = shares_of(request->target);
        std::copy(shares.begin(), shares.end(), at.shares);
    }
    prepared_ = request;
}

void frame_queries::reserve(stream_ref stream) {
    workspace_slots slots;
    const places at(slots, *this);
    (void)search_scratch(slots, search_);
    if (host_.size() < at.end) {
        host_ = {};
        host_ = pinned_buffer(at.end);
    }
    if (device_.size() < slots.bytes()) {
        device_ = {};
        device_ = device_buffer(slots.bytes(), stream);
    }
}

void frame_queries::enqueue_kernels(const const_any_histogram_view& histograms, stream_ref stream) {
    workspace_slots slots(device_.data());
    const places at(slots, *this);
    const search_scratch scratch(slots, search_);
    if (!std::exchange(uploaded_, true)) copy(host_.data(), device_.data(), at.uploaded, stream);
    const queried_histograms queried{histograms.entries.data, histograms.shape(), 0};
    enqueue_box_histograms(queried, {at.boxes}, std::ssize(boxes_), at.histograms, stream);
    enqueue_search(queried, search_, at.grids, at.shares, scratch, at.matches, stream);
    if (match_histograms_)
        enqueue_box_histograms(queried, {&at.matches->where, sizeof(histogram_match)}, search_.keep,
                               at.match_histograms, stream);
}

void frame_queries::enqueue_download(stream_ref stream) {
    workspace_slots slots;
    const places at(slots, *this);
    copy(static_cast<const std::byte*>(device_.data()) + at.uploaded,
         static_cast<std::byte*>(host_.data()) + at.uploaded, at.end - at.uploaded, stream);
}

void frame_queries::collect(const box& region, frame_answer& answer) const {
    if (!any()) return;
    workspace_slots slots(host_.data());
    const places at(slots, *this);
    const auto matches = static_cast<std::size_t>(search_.keep);
    answer.histograms = list_of(at.histograms, boxes_.size(), shape_.entries);
    answer.matches.assign(at.matches, at.matches + matches);
    for (histogram_match& m : answer.matches) {
        m.where.row += region.row;
        m.where.col += region.col;
    }
    if (match_histograms_) answer.match_histograms = list_of(at.match_histograms, matches, shape_.entries);
}

}  // namespace boxsum::cuda
