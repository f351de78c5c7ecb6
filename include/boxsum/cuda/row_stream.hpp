#pragma once

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/row_stream.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// An image that arrives row by row, for filters on a device: row_stream of row_stream.hpp with rows in device memory.
/// A plan serves all parts that lie inside the image, so nothing is planned while rows arrive:
///
///     boxsum::cuda::row_stream rows({.type = boxsum::dtype::u8, .cols = 8192}, options, 512, stream);
///     boxsum::cuda::box_filter_plan plan(rows.inner(256), {results}, options);
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     while (camera.read(lines)) {
///         rows.push(lines);
///         for (; rows.ready() >= 256; rows.drop(256)) {
///             if (rows.is_inner(256))
///                 plan.run_async(rows.next(256), {results}, workspace, stream);
///             else  // the image's first rows
///                 boxsum::cuda::box_filter_async(rows.next(256), {results}, workspace, stream, options);
///             write(results);
///         }
///     }
///     rows.finish();   // and once more: the last rows of results are ready
///
/// Rows of results that are ready but wait for more take their part of the capacity: there 256 lines at a time fit into
/// 512. Chunks of floats are multiples of period().
///
/// - What row_stream says of rows, masks, weights, borders and results holds here. Results have the bits of the whole
///   image on a device, those of integers without weights on the CPU too; not where windows are of tables and pixels
///   floating (cuda/filters.hpp).
/// - A stream of rows belongs to the device and the CUDA stream that it was made on. What it copies is enqueued there,
///   and filters that read next() are too, or are ordered with it by the caller. follow() takes it to another one.
/// - Rows come from host or device memory. push() does not wait for page-locked and device memory, whose rows must stay
///   until they are copied; host memory with pixels apart goes through a copy there, and waits. A CUDA graph that
///   push() was captured into copies to the same place again: rows are counted by calls, not by replays.
/// - Device memory is allocated by the constructor and then neither grows nor moves: 3 (above + below + 2) +
///   2 capacity rows, each on 256 bytes. A plan's workspace does not grow either.
/// - Filters get the rows as a part of a smaller image, in which windows see the same: `at`, `whole` and `results` of
///   next() do not grow, so streams may be without end.
/// - Throws as row_stream, and: unsupported for 32u, 32s and 16f and without a device, invalid_argument for memory of
///   another device.
class row_stream {
  public:
    /// On the device of `stream` (for the legacy default stream the current one). `capacity` and `options` as for
    /// row_stream.
    row_stream(const row_format& format, const filter_options& options, std::int64_t capacity, stream_ref stream,
               const allocator& from = {});

    /// Goes on from what state() gave to a stream of the same format, window and border, on the CPU or a device. Waits.
    row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
               std::span<const std::byte> state, stream_ref stream, const allocator& from = {});

    row_stream(row_stream&& other) noexcept;  ///< leaves `other` fit for assignment only
    row_stream& operator=(row_stream&& other) noexcept;
    row_stream(const row_stream&) = delete;  // as device_buffer
    row_stream& operator=(const row_stream&) = delete;
    ~row_stream();  ///< frees on the stream, behind the work that is enqueued there

    int device() const noexcept;
    stream_ref stream() const noexcept;

    /// Goes on on another stream of its device, which waits (on the device) for the work that is enqueued on the one
    /// before. Throws invalid_argument for a stream of another device.
    void follow(stream_ref stream);

    /// Enqueues copies of rows of the format, one plane, with any strides; of the mask and the weights as many. More
    /// than room() at once are invalid_argument.
    void push(const const_any_view& rows, const const_any_view& mask = {}, const const_any_view& weights = {});

    /// Rows that push() takes now: at least the capacity once all that is ready has been dropped.
    std::int64_t room() const noexcept;

    /// The image ends here. Nothing can be pushed any more.
    void finish() noexcept;

    std::int64_t received() const noexcept;  ///< rows
    std::int64_t dropped() const noexcept;   ///< rows of results, so the next one's number

    /// Rows of results that next() may ask for, once the stream has come to there.
    std::int64_t ready() const noexcept;

    /// What filters read for the next n rows of results, 1 <= n <= ready(). Valid for work that is enqueued before the
    /// next push().
    filter_inputs next(std::int64_t n) const;

    /// The next n rows of results are not wanted any more, 0 <= n <= ready().
    void drop(std::int64_t n);

    /// What next(n) gives where the rows' windows lie inside the image, but for data: what to make a plan of.
    /// 1 <= n <= capacity.
    filter_inputs inner(std::int64_t n) const;

    /// Whether a plan made of inner(n) runs with next(n), 1 <= n <= ready(): inside the image, and for dropped() a
    /// multiple of period().
    bool is_inner(std::int64_t n) const;

    /// 1 for integers without weights. Sums of floats are rounded in an order that goes by the rows' numbers: rows that
    /// lie a multiple of this apart have the same.
    std::int64_t period() const noexcept;

    /// As row_stream::state(). Waits for the stream.
    std::vector<std::byte> state() const;

  private:
    struct state_of;
    std::unique_ptr<state_of> state_;
};

}  // namespace cuda
}  // namespace boxsum
