#include "cuda/queries/frame_queries.hpp"

#include "core/distance_terms.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "pipeline/frame_request.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

namespace boxsum::cuda {
namespace {

constexpr std::size_t alignment = 256;

/// Places `bytes` behind `end`, which moves.
std::size_t place(std::size_t& end, std::size_t bytes) {
    const std::size_t first = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return first;
}

template <typename T>
T* at(const void* memory, std::size_t offset) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(const_cast<void*>(memory)) + offset);
}

void copy(const void* from, void* to, std::size_t bytes, stream_ref stream) {
    if (bytes != 0) BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()));
}

}  // namespace

void frame_queries::prepare(const std::shared_ptr<const frame_request>& request, const box& region, std::int64_t bins,
                            stream_ref stream) {
    if (prepared_ == request) return;
    prepare(*request, region, bins, stream);
    prepared_ = request;
}

void frame_queries::prepare(const frame_request& request, const box& region, std::int64_t bins, stream_ref stream) {
    prepared_ = nullptr;
    uploaded_ = false;
    boxes_ = detail::boxes_in_region(request, region);
    bins_ = bins;
    searches_.clear();
    windows_ = results_ = 0;
    only_nearest_ = request.count == 1;
    distance_ = request.distance;
    for (window_grid g : detail::grids_in_region(request, region)) {
        if (!g.region) g.region = box{0, 0, region.rows, region.cols};
        search s;
        s.grid = g;
        s.windows = window_count(g, region.rows, region.cols);
        s.cols = s.windows == 0 ? 0 : (g.region->cols - g.cols) / g.col_step + 1;
        s.distances = windows_;
        s.results = results_;
        windows_ += static_cast<std::size_t>(s.windows);
        results_ +=
            static_cast<std::size_t>(only_nearest_ ? (s.windows + nearest_stretch - 1) / nearest_stretch : s.windows);
        searches_.push_back(s);
    }
    // As best_windows() divides the target by its total.
    const double total = std::accumulate(request.target.begin(), request.target.end(), 0.0);
    target_empty_ = total == 0;
    shares_ = request.target;
    for (double& share : shares_) share *= share_factor(total);
    reserve(stream);
    std::copy(boxes_.begin(), boxes_.end(), at<box>(host_.data(), at_.boxes));
    std::copy(shares_.begin(), shares_.end(), at<double>(host_.data(), at_.shares));
}

void frame_queries::reserve(stream_ref stream) {
    std::size_t end = 0;
    at_.boxes = place(end, boxes_.size() * sizeof(box));
    at_.shares = place(end, shares_.size() * sizeof(double));
    at_.counts = place(end, boxes_.size() * static_cast<std::size_t>(bins_) * sizeof(std::uint32_t));
    at_.results = place(end, results_ * (only_nearest_ ? sizeof(nearest_window) : sizeof(double)));
    at_.host_bytes = end;
    // All distances are results unless they are reduced.
    at_.distances = only_nearest_ ? place(end, windows_ * sizeof(double)) : at_.results;
    at_.device_bytes = end;
    if (host_.size() < at_.host_bytes) {
        host_ = {};
        host_ = pinned_buffer(at_.host_bytes);
    }
    if (device_.size() < at_.device_bytes) {
        device_ = {};
        device_ = device_buffer(at_.device_bytes, stream);
    }
}

void frame_queries::enqueue_kernels(const const_any_tensor_view& tensor, table_layout layout, stream_ref stream) {
    const device_counts counts{tensor, layout, 0};
    static_assert(sizeof(float) == sizeof(std::uint32_t));  // places are the same for both
    sums_ = tensor.shape.type == dtype::f32;
    std::byte* const device = static_cast<std::byte*>(device_.data());
    std::byte* const host = static_cast<std::byte*>(host_.data());
    if (!std::exchange(uploaded_, true)) copy(host, device, at_.counts, stream);  // boxes and shares
    enqueue_box_histograms(counts, at<box>(device, at_.boxes), static_cast<std::int64_t>(boxes_.size()),
                           at<std::byte>(device, at_.counts), stream);
    for (const search& s : searches_) {
        double* const distances = at<double>(device, at_.distances) + s.distances;
        enqueue_window_distances(counts,
                                 {s.grid, s.cols, s.windows, at<double>(device, at_.shares), target_empty_, distance_},
                                 distances, stream);
        if (only_nearest_)
            enqueue_nearest(distances, s.windows, at<nearest_window>(device, at_.results) + s.results, stream);
    }
}

void frame_queries::enqueue_download(stream_ref stream) {
    copy(at<std::byte>(device_.data(), at_.counts), at<std::byte>(host_.data(), at_.counts),
         at_.host_bytes - at_.counts, stream);
}

void frame_queries::take_histograms(std::vector<std::uint32_t>& counts, std::vector<float>& sums) const {
    const std::size_t size = boxes_.size() * static_cast<std::size_t>(bins_);
    const auto take = [&]<typename T>(std::vector<T>& to) {
        const auto* const from = at<const T>(host_.data(), at_.counts);
        to.assign(from, from + size);
    };
    sums_ ? take(sums) : take(counts);
}

void frame_queries::collect(const frame_request& request, const box& region, frame_answer& answer) const {
    take_histograms(answer.histograms, answer.sums);

    struct candidate {
        double distance;
        std::size_t grid;
        std::int64_t window;
        bool operator<(const candidate& other) const {  // as that of best_windows() on the CPU
            const bool nan = std::isnan(distance), other_nan = std::isnan(other.distance);
            if (nan != other_nan) return other_nan;
            if (!nan && distance != other.distance) return distance < other.distance;
            return std::tie(grid, window) < std::tie(other.grid, other.window);
        }
    };
    std::vector<candidate> found;
    for (std::size_t g = 0; g < searches_.size(); ++g) {
        const search& s = searches_[g];
        if (only_nearest_) {
            const auto* const nearest = at<const nearest_window>(host_.data(), at_.results) + s.results;
            for (std::int64_t i = 0; i * nearest_stretch < s.windows; ++i)
                found.push_back({nearest[i].distance, g, nearest[i].window});
        } else {
            const auto* const distances = at<const double>(host_.data(), at_.results) + s.results;
            for (std::int64_t i = 0; i < s.windows; ++i) found.push_back({distances[i], g, i});
        }
    }
    const auto count = std::min(found.size(), static_cast<std::size_t>(request.count));
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
    for (std::size_t i = 0; i < count; ++i) {
        histogram_match m{window_at(searches_[found[i].grid].grid, region.cols, found[i].window), found[i].distance};
        m.where.row += region.row;
        m.where.col += region.col;
        answer.matches.push_back(m);
    }
}

void frame_queries::count_matches(const const_any_tensor_view& tensor, table_layout layout, const box& region,
                                  frame_answer& answer, stream_ref stream) {
    if (answer.matches.empty()) return;
    prepared_ = nullptr;
    uploaded_ = false;
    boxes_.clear();
    for (const histogram_match& m : answer.matches)
        boxes_.push_back({m.where.row - region.row, m.where.col - region.col, m.where.rows, m.where.cols});
    searches_.clear();
    shares_.clear();
    windows_ = results_ = 0;
    reserve(stream);
    std::copy(boxes_.begin(), boxes_.end(), at<box>(host_.data(), at_.boxes));
    enqueue(tensor, layout, stream);
    stream.synchronize();
    take_histograms(answer.match_histograms, answer.match_sums);
}

}  // namespace boxsum::cuda
