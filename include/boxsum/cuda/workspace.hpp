#pragma once

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>

#include <cstddef>
#include <memory>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// Device memory that plans work in. It allocates, prepares and grows itself, and one serves plans of all operations,
/// shapes, types and algorithms, one call after the other, without being cleared in between.
///
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async(inputs, outputs, workspace, stream);   // as often as wanted
///
/// A workspace belongs to the device and to the stream that it was made on: calls there follow each other in it. A call
/// on another stream is an error until the workspace was told to follow(). Work on two streams at once needs two
/// workspaces. Threads may take turns; two at once are an error. The stream outlives the workspace, or the workspace
/// follows another one before. A call that throws leaves it fit for the next one.
///
/// A CUDA graph that a plan was captured into works in the memory that the workspace had then, so a workspace is kept
/// and not grown while there are graphs that use it. Replays are not seen here: they run on the workspace's stream, or
/// ordered with it by the caller.
class workspace {
  public:
    /// Without memory and without a device: reserve() gives it both.
    workspace() noexcept;

    /// At least `bytes` bytes on the device of `stream` (for the legacy default stream the current device), and what it
    /// grows by, from an allocator. Throws as reserve().
    workspace(std::size_t bytes, stream_ref stream, const allocator& from = {});

    workspace(workspace&& other) noexcept;  ///< leaves `other` as workspace() makes it
    workspace& operator=(workspace&& other) noexcept;
    workspace(const workspace&) = delete;  // the contents belong to calls that are under way
    workspace& operator=(const workspace&) = delete;
    ~workspace();  ///< frees on the stream, behind the work that is enqueued there

    std::size_t bytes() const noexcept;

    /// -1 before there is one.
    int device() const noexcept;

    /// The one that the next call must be on; the legacy default stream where there is no device yet.
    stream_ref stream() const noexcept;

    /// Has at least `bytes` bytes from here on: allocates, and gives back what was too small, in the order of the
    /// stream. Nothing happens where there are enough. Throws invalid_argument for another stream than the workspace's
    /// and for one that is being captured (but for the first memory from an allocator of the caller's, which the graph
    /// then works in), out_of_memory (the workspace is then empty, and usable), unsupported without a device.
    void reserve(std::size_t bytes, stream_ref stream);

    /// Goes on on another stream of its device, which waits (on the device) for the work that is enqueued on the one
    /// before. Throws invalid_argument for a stream of another device, one that is being captured, and a workspace
    /// without a device.
    void follow(stream_ref stream);

  private:
    friend class workspace_use;
    friend void hand_over_idle(workspace& memory, stream_ref stream) noexcept;
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace cuda
}  // namespace boxsum
