#include "cuda/pipeline/shared_upload.hpp"

#include "cuda/runtime/peers.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace boxsum::detail {
namespace {

/// From the host to a device; the link of an H200 carries 54.
constexpr std::int64_t bytes_per_nanosecond = 32;

/// Whether the copy is enqueued. What CUDA says against it may be the fault of the other device, which one does
/// without; that of this one shows in the next call.
bool copied(device_input& input, const device_input& source) {
    try {
        input.copy_from(source);
        return true;
    } catch (const cuda_error&) {
        return false;
    }
}

}  // namespace

std::size_t shared_upload::share_of(const device_input& input) const {
    return static_cast<std::size_t>(std::find(devices_.begin(), devices_.end(), input.device()) - devices_.begin());
}

row_range shared_upload::rows_of(std::size_t share, const device_input& input) const {
    const auto n = static_cast<std::int64_t>(devices_.size()), s = static_cast<std::int64_t>(share);
    return {input.rows() * s / n, input.rows() * (s + 1) / n};
}

void shared_upload::begin(const bin_job& job, std::shared_ptr<device_input> input) {
    const std::size_t share = share_of(*input);
    const row_range rows = rows_of(share, *input);
    const std::int64_t count = rows.last - rows.first;
    const std::int64_t bytes = job.input_bytes() / input->rows() * count;
    const std::int64_t pieces =
        std::clamp<std::int64_t>(bytes / job.sharing.piece_bytes, 1, std::max<std::int64_t>(count, 1));
    for (std::int64_t i = 0; i < pieces; ++i) {
        const row_range piece{rows.first + count * i / pieces, rows.first + count * (i + 1) / pieces};
        if (piece.empty()) continue;
        input->upload(job, piece);
        input->publish(piece);
    }
    const std::lock_guard lock(mutex_);
    begun_.at(share) = std::move(input);
    changed_.notify_all();
}

std::shared_ptr<const device_input> shared_upload::wait_for(std::size_t share,
                                                            std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return begun_[share] != nullptr; });
    return begun_[share];
}

std::vector<std::shared_ptr<const device_input>> shared_upload::complete(const bin_job& job, device_input& input) {
    const auto bytes_of_all = static_cast<std::int64_t>(input.bytes()), n = static_cast<std::int64_t>(devices_.size());
    const std::chrono::nanoseconds patience(bytes_of_all / n * (n - 1) / bytes_per_nanosecond);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const std::size_t own = share_of(input);
    std::vector<std::shared_ptr<const device_input>> sources;
    for (std::size_t i = 1; i < devices_.size(); ++i) {
        const std::size_t share = (own + i) % devices_.size();  // so that not all begin with the same one
        const row_range rows = rows_of(share, input);
        if (rows.empty()) continue;
        auto source = wait_for(share, deadline);
        if (source != nullptr && copied(input, *source))
            sources.push_back(std::move(source));
        else
            input.upload(job, rows);
    }
    return sources;
}

std::shared_ptr<shared_upload> share_upload(std::span<const int> devices) {
    const bool different = std::set<int>(devices.begin(), devices.end()).size() == devices.size();
    if (devices.size() < 2 || !different || !cuda::reach_each_other(devices)) return nullptr;
    return std::make_shared<shared_upload>(std::vector<int>(devices.begin(), devices.end()));
}

}  // namespace boxsum::detail
