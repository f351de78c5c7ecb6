#include "core/tensor_checks.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "verify/device_runner.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace boxsum::cuda {
namespace {

constexpr int poison = 0x5a;

/// Poisoned device memory of `bytes`, as far behind a 64-byte boundary as `host` is, between two guards.
class guarded_block {
  public:
    guarded_block(const void* host, std::size_t bytes, std::size_t guard, stream_ref stream)
        : bytes_(bytes), guard_(guard), shift_(reinterpret_cast<std::uintptr_t>(host) % 64) {
        memory_ = device_buffer(shift_ + bytes + 2 * guard, stream);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(memory_.data(), poison, memory_.size(), stream.get()));
    }

    std::byte* data() const { return static_cast<std::byte*>(memory_.data()) + shift_ + guard_; }

    void upload(const void* from, stream_ref stream) const {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(data(), from, bytes_, cudaMemcpyHostToDevice, stream.get()));
    }
    void download(void* to, stream_ref stream) const {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, data(), bytes_, cudaMemcpyDeviceToHost, stream.get()));
    }

    /// Throws error where a guard was written to. Waits.
    void check(const algorithm_record& record, std::string_view what, stream_ref stream) const {
        std::vector<std::byte> all(memory_.size());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(all.data(), memory_.data(), all.size(), cudaMemcpyDeviceToHost, stream.get()));
        stream.synchronize();
        const std::size_t first = shift_ + guard_;
        for (std::size_t i = 0; i < all.size(); ++i)
            if ((i < first || i >= first + bytes_) && all[i] != std::byte{poison})
                throw std::runtime_error("algorithm '" + std::string(record.info.name) + "' wrote outside the " +
                                         std::string(what) + " of " + std::to_string(bytes_) + " bytes, " +
                                         (i < first ? std::to_string(first - i) + " bytes before its start"
                                                    : std::to_string(i - first - bytes_) + " bytes behind its end"));
    }

  private:
    std::size_t bytes_, guard_, shift_;
    device_buffer memory_;
};

std::size_t tensor_bytes(const problem& p) {
    const histogram_problem& h = *p.histogram;
    return static_cast<std::size_t>(
        checked_tensor_bytes("tensor", {p.table.type, p.table.planes, h.bins, p.table.rows, p.table.cols,
                                        p.table.row_stride, h.bin_stride, p.table.plane_stride}));
}

class runner {
  public:
    explicit runner(std::size_t guard) : guard_(guard) {}

    void operator()(const algorithm_record& record, const problem& p, const buffers& host, execution how) {
        const guarded_block image(host.image, span_bytes(p.image), guard_, stream_);
        const guarded_block tensor(host.table, tensor_bytes(p), guard_, stream_);
        const std::size_t needed = record.workspace_bytes(p, how.parameters);
        const guarded_block workspace(nullptr, needed, guard_, stream_);
        image.upload(host.image, stream_);
        tensor.upload(host.table, stream_);
        how.stream = stream_;
        how.workspace = needed == 0 ? nullptr : workspace.data();
        how.workspace_bytes = needed;
        buffers memory;
        memory.image = image.data();
        memory.table = tensor.data();

        std::unique_ptr<guarded_block> weights, lookup;
        if (p.histogram->weights) {
            weights = std::make_unique<guarded_block>(host.weights, span_bytes(*p.histogram->weights), guard_, stream_);
            weights->upload(host.weights, stream_);
            memory.weights = weights->data();
        }
        if (host.lookup != nullptr) {
            const std::size_t entries = p.image.type == dtype::u8 ? 256 : 65536;
            lookup = std::make_unique<guarded_block>(nullptr, 2 * entries, guard_, stream_);
            lookup->upload(host.lookup, stream_);
            memory.lookup = reinterpret_cast<const std::uint16_t*>(lookup->data());
        }

        record.enqueue(p, memory, how);

        tensor.download(host.table, stream_);
        tensor.check(record, "tensor", stream_);
        workspace.check(record, "workspace", stream_);
        image.check(record, "image", stream_);
        if (weights) weights->check(record, "weights", stream_);
        check_unchanged(record, "image", image, host.image, span_bytes(p.image));
        if (weights) check_unchanged(record, "weights", *weights, host.weights, span_bytes(*p.histogram->weights));
    }

  private:
    void check_unchanged(const algorithm_record& record, std::string_view what, const guarded_block& block,
                         const void* host, std::size_t bytes) {
        std::vector<std::byte> after(bytes);
        block.download(after.data(), stream_);
        stream_.synchronize();
        if (!std::equal(after.begin(), after.end(), static_cast<const std::byte*>(host)))
            throw std::runtime_error("algorithm '" + std::string(record.info.name) + "' changed the " +
                                     std::string(what));
    }

    std::size_t guard_;
    stream stream_;
};

}  // namespace

histogram_runner device_histogram_runner(workspace_reuse reuse) {
    // std::function copies what it holds; the stream is held once. Guards a multiple of 256 keep the alignment.
    const std::size_t guard = reuse == workspace_reuse::exact ? 0 : 1024;
    return [held = std::make_shared<runner>(guard)](const algorithm_record& record, const problem& p,
                                                    const buffers& memory,
                                                    const execution& how) { (*held)(record, p, memory, how); };
}

}  // namespace boxsum::cuda
