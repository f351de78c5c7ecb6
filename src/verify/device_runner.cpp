#include "verify/device_runner.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/workspace.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace boxsum::cuda {
namespace {

constexpr int poison = 0x5a;
constexpr std::size_t guard = 1024;  // poisoned bytes on either side of the workspace

/// Device memory that grows and is kept: thousands of cases reuse it.
class arena {
  public:
    std::byte* at_least(std::size_t bytes, stream_ref stream) {
        if (buffer_.size() < bytes) exactly(bytes + bytes / 2, stream);
        return static_cast<std::byte*>(buffer_.data());
    }
    std::byte* exactly(std::size_t bytes, stream_ref stream) {
        buffer_ = device_buffer();
        buffer_ = device_buffer(bytes, stream);
        return static_cast<std::byte*>(buffer_.data());
    }
    std::size_t size() const { return buffer_.size(); }

  private:
    device_buffer buffer_;
};

/// A host block on the device, at the same place relative to 64-byte boundaries: from host byte `from` on.
struct block_on_device {
    host_block* host = nullptr;
    std::byte* begin = nullptr;
    std::size_t from = 0;
    std::size_t bytes = 0;

    std::byte* first() const { return begin + (host->first - from); }
};

struct carries_on_device {
    block_on_device above, left;

    carry_data pointers(const carry_shapes& shapes, const void* table, const view_shape& table_shape) const {
        const auto first = [](const block_on_device& b) { return b.host == nullptr ? nullptr : b.first(); };
        return carry_pointers(shapes, first(above), first(left), table, table_shape);
    }
};

class runner {
  public:
    explicit runner(workspace_reuse reuse) : reuse_(reuse) {}

    void operator()(const algorithm_record& record, const problem& p, host_memory& memory, execution how) {
        const block_on_device image = upload(memory.image, p.image, image_);
        const block_on_device table = p.in_place ? image : upload(memory.table, p.table, table_);
        const block_on_device squares = p.squares ? upload(memory.squares, *p.squares, squares_) : block_on_device{};
        const std::size_t needed = total_workspace_bytes(record, record.workspace_bytes(p, how.parameters));
        how.stream = stream_;
        const std::byte* const guarded =
            reuse_ == workspace_reuse::exact ? exact_workspace(needed, how) : guarded_workspace(needed, how);

        buffers all{image.first(), table.first(), squares.host == nullptr ? nullptr : squares.first()};
        const carries_on_device carries = upload(memory.carries, p.carries, carries_);
        all.carries = carries.pointers(p.carries, all.table, p.table);
        carries_on_device squares_carries;
        if (p.squares) {
            squares_carries = upload(memory.squares_carries, p.squares_carries, squares_carries_);
            all.squares_carries = squares_carries.pointers(p.squares_carries, all.squares, *p.squares);
        }
        enqueue_in_workspace(record, p, all, how);

        // What is only read, too: a record that writes to it is found out by the comparison.
        download(image);
        for (const block_on_device& block : {carries.above, carries.left, squares_carries.above, squares_carries.left})
            if (block.host != nullptr) download(block);
        if (!p.in_place) download(table);
        if (squares.host != nullptr) download(squares);
        if (guarded != nullptr) check_guards(record, guarded, how.workspace_bytes);
        stream_.synchronize();
    }

  private:
    block_on_device upload(host_block& host, const view_shape& shape, arena& memory) {
        block_on_device block{&host, nullptr, 0, host.bytes.size()};
        if (reuse_ == workspace_reuse::exact) {
            block.from = host.first;
            block.bytes = span_bytes(shape);
        }
        const std::size_t shift = reinterpret_cast<std::uintptr_t>(host.bytes.data() + block.from) % 64;
        block.begin = shift + (reuse_ == workspace_reuse::exact ? memory.exactly(shift + block.bytes, stream_)
                                                                : memory.at_least(shift + block.bytes, stream_));
        // Of an image whose rows start anywhere, kernels read the 16 bytes where its first pixel lies.
        BOXSUM_CUDA_TRY(cudaMemsetAsync(block.begin - shift, poison, shift, stream_.get()));
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(block.begin, host.bytes.data() + block.from, block.bytes,
                                        cudaMemcpyHostToDevice, stream_.get()));
        return block;
    }

    struct carry_arenas {
        arena above, left;
    };

    carries_on_device upload(host_carries& host, const carry_shapes& shapes, carry_arenas& memory) {
        carries_on_device carries;
        if (!host.above.bytes.empty()) carries.above = upload(host.above, *shapes.above, memory.above);
        if (!host.left.bytes.empty()) carries.left = upload(host.left, *shapes.left, memory.left);
        return carries;
    }

    void download(const block_on_device& block) {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(block.host->bytes.data() + block.from, block.begin, block.bytes,
                                        cudaMemcpyDeviceToHost, stream_.get()));
    }

    const std::byte* exact_workspace(std::size_t needed, execution& how) {
        how.workspace = needed == 0 ? nullptr : workspace_.exactly(needed, stream_);
        how.workspace_bytes = needed;
        initialize_workspace_async(how.workspace, needed, stream_);
        return nullptr;
    }

    /// Fresh: exactly the bytes needed. Shared: everything there is, the same from case to case while it does not grow.
    const std::byte* guarded_workspace(std::size_t needed, execution& how) {
        const std::size_t before = workspace_.size();
        std::byte* const all = workspace_.at_least(needed + 2 * guard, stream_);
        const bool initialise = reuse_ == workspace_reuse::fresh || workspace_.size() != before;
        const std::size_t bytes =
            reuse_ == workspace_reuse::fresh ? needed : (workspace_.size() - 2 * guard) / 256 * 256;
        if (initialise) {
            BOXSUM_CUDA_TRY(cudaMemsetAsync(all, poison, workspace_.size(), stream_.get()));
            initialize_workspace_async(all + guard, bytes, stream_);
        }
        how.workspace = all + guard;
        how.workspace_bytes = bytes;
        return all;
    }

    void check_guards(const algorithm_record& record, const std::byte* all, std::size_t bytes) {
        guards_.resize(2 * guard);
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(guards_.data(), all, guard, cudaMemcpyDeviceToHost, stream_.get()));
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(guards_.data() + guard, all + guard + bytes, guard, cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        for (std::size_t i = 0; i < guards_.size(); ++i)
            if (guards_[i] != std::byte{poison})
                throw std::runtime_error("algorithm '" + std::string(record.info.name) +
                                         "' wrote outside its workspace of " + std::to_string(bytes) + " bytes, " +
                                         (i < guard ? std::to_string(guard - i) + " bytes before its start"
                                                    : std::to_string(i - guard) + " bytes behind its end"));
    }

    workspace_reuse reuse_;
    stream stream_;
    arena image_, table_, squares_, workspace_;
    carry_arenas carries_, squares_carries_;
    std::vector<std::byte> guards_;
};

}  // namespace

record_runner device_runner(workspace_reuse reuse) {
    // std::function copies what it holds; memory and stream are held once.
    return
        [held = std::make_shared<runner>(reuse)](const algorithm_record& record, const problem& p, host_memory& memory,
                                                 const execution& how) { (*held)(record, p, memory, how); };
}

}  // namespace boxsum::cuda
