#pragma once

#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// What the rows of a stream hold.
struct row_format {
    dtype type = dtype::u8;
    std::int64_t cols = 0;
    std::int64_t channels = 1;
    std::int64_t mask_channels = 0;    ///< of a mask beside the pixels (8u): 1 or the pixels'; 0: none
    std::int64_t weight_channels = 0;  ///< of weights beside them (32f), alike
};

/// An image that arrives row by row, for filters: a line camera, a scanner, a pipe, a file larger than memory. It keeps
/// the rows that windows still need and says what a filter reads for the next results:
///
///     boxsum::row_stream rows({.type = boxsum::dtype::u8, .cols = 8192}, options, 256);
///     while (camera.read(lines)) {
///         rows.push(lines);
///         if (const std::int64_t n = rows.ready(); n > 0) {
///             boxsum::box_filter(rows.next(n), {results_of(n)}, options);
///             rows.drop(n);
///         }
///     }
///     rows.finish();   // and once more: the last rows of results are ready
///
/// - For box_filter, local_statistics, local_contrast and adaptive_threshold on the CPU, as often as wanted, of one
///   window and border; not for Wolf's threshold, whose extremes are those of the whole image. cuda::row_stream is for
///   those of devices.
/// - Masks and weights come with the pixels' rows, where the format has some. `nan`, `nodata` and what else options say
///   of pixels that count is for the filters: a stream keeps rows, whatever they hold.
/// - A row of results is ready when the last row of its window has arrived: `below` rows after its own. Where `reflect`
///   or `mirror` continue the image upwards, the first rows wait for what is mirrored, up to `above` rows.
/// - Results have the bits that filtering the whole image at once gives; for floating images, weights and integers of
///   32 bits only where the whole image has at least as many rows as the window.
/// - Memory is allocated by the constructor and then neither grows nor moves: 3 (above + below + 2) + capacity rows. A
///   filter's own working memory comes from the shared pool. Each call of a filter begins with the sums of a window's
///   rows, so results of several windows' height at once are cheapest.
/// - wrap is unsupported, as it begins with the last rows. Throws invalid_argument, unsupported, out_of_memory; a
///   call that throws leaves the stream as it was. One thread at a time.
class row_stream {
  public:
    /// `capacity`: rows that push() takes at once when all that is ready has been dropped, at least 1. Of `options` the
    /// window and the border count (and border_value, which is checked).
    row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
               const host_allocator& from = {});

    /// Goes on from what state() gave to a stream of the same format, window and border, on the CPU or a device, whose
    /// rows have to fit the capacity.
    row_stream(const row_format& format, const filter_options& options, std::int64_t capacity,
               std::span<const std::byte> state, const host_allocator& from = {});

    row_stream(row_stream&& other) noexcept;  ///< leaves `other` fit for assignment only
    row_stream& operator=(row_stream&& other) noexcept;
    row_stream(const row_stream&) = delete;  // a copy of megabytes: state() makes one that can be seen
    row_stream& operator=(const row_stream&) = delete;
    ~row_stream();

    /// Copies rows of the format, one plane, with any strides; of the mask and the weights as many. More than room() at
    /// once are invalid_argument.
    void push(const const_any_view& rows, const const_any_view& mask = {}, const const_any_view& weights = {});

    /// Rows that push() takes now: at least the capacity once all that is ready has been dropped.
    std::int64_t room() const noexcept;

    /// The image ends here. Nothing can be pushed any more.
    void finish() noexcept;

    std::int64_t received() const noexcept;  ///< rows
    std::int64_t dropped() const noexcept;   ///< rows of results, so the next one's number

    /// Rows of results that next() may ask for.
    std::int64_t ready() const noexcept;

    /// What filters read for the next n rows of results, 1 <= n <= ready(). Valid until the next push().
    filter_inputs next(std::int64_t n) const;

    /// The next n rows of results are not wanted any more, 0 <= n <= ready().
    void drop(std::int64_t n);

    /// Everything that a stream needs to go on, for machines of this one's byte order: some numbers and the rows that
    /// are kept.
    std::vector<std::byte> state() const;

  private:
    struct state_of;
    std::unique_ptr<state_of> state_;
};

}  // namespace boxsum
