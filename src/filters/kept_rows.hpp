#pragma once

#include "filters/window_job.hpp"

#include <boxsum/row_stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// Streams of rows, whichever memory they are in: which rows are kept and where, what is ready, and which image filters
/// take them for.
namespace boxsum::filters {

/// What the memory of a stream is like.
struct row_memory {
    std::int64_t row_alignment = 1;  ///< bytes
    bool apart = false;              ///< rows are moved by copies that do not overlap
    /// Results of rows whose numbers differ by this have the same bits; 0: filters get the numbers of the stream.
    std::int64_t period = 0;
};

class kept_rows {
  public:
    /// Checks the arguments of a stream.
    kept_rows(const row_format& format, const filter_options& options, std::int64_t capacity, const row_memory& memory);

    /// Of the memory that is given to the functions below.
    std::size_t bytes() const noexcept { return bytes_; }
    std::int64_t received() const noexcept { return received_; }
    std::int64_t dropped() const noexcept { return dropped_; }
    std::int64_t period() const noexcept { return period_; }

    std::int64_t room() const noexcept;
    std::int64_t ready() const noexcept;
    void finish() noexcept { finished_ = true; }
    void drop(std::int64_t n);

    filter_inputs next(std::int64_t n, void* memory) const;
    /// What next() gives, but for data, where all windows lie in the image and the first row's number is a multiple of
    /// the period.
    filter_inputs inner(std::int64_t n) const;
    bool is_inner(std::int64_t n) const;

    /// Throws unless push() takes the views.
    void check(const const_any_view& rows, const const_any_view& mask, const const_any_view& weights) const;

    /// Of views that were checked. `move(to, from, bytes)` and `copy(from, to)` of views may throw: nothing is pushed
    /// then.
    template <typename Move, typename Copy>
    void push(const const_any_view& rows, const const_any_view& mask, const const_any_view& weights, void* memory,
              Move&& move, Copy&& copy) {
        const std::int64_t n = rows.shape.rows, first = first_kept();
        const bool full = received_ + n - base_ > buffer_rows_;
        for (const plane& p : planes_)
            if (full && p.exists()) {
                const std::int64_t bytes = (received_ - first) * p.row_stride;
                move(p.row(memory, 0), p.row(memory, first - base_), bytes);
            }
        const std::int64_t base = full ? first : base_;
        const const_any_view* const given[] = {&rows, &mask, &weights};
        for (std::size_t i = 0; i < planes_.size(); ++i)
            if (planes_[i].exists()) copy(*given[i], planes_[i].rows(memory, received_ - base, n));
        base_ = base;
        received_ += n;
    }

    /// A stream's state; `copy` as that of push(), out of the memory.
    template <typename Copy>
    std::vector<std::byte> state(void* memory, Copy&& copy) const {
        const header head = header_of(first_kept(), received_, dropped_, finished_);
        std::vector<std::byte> state(sizeof head + state_bytes(received_ - first_kept()));
        std::memcpy(state.data(), head.data(), sizeof head);
        for_each_saved(memory, [&](const any_view& kept, std::size_t at, const view_shape& saved) {
            copy(kept, any_view{state.data() + sizeof head + at, saved});
        });
        return state;
    }

    /// Goes on from one, whose rows `copy` puts into the memory.
    template <typename Copy>
    void resume(std::span<const std::byte> state, void* memory, Copy&& copy) {
        read_header(state);
        for_each_saved(memory, [&](const any_view& kept, std::size_t at, const view_shape& saved) {
            copy(const_any_view{state.data() + sizeof(header) + at, saved}, kept);
        });
    }

  private:
    /// The numbers at the start of a state, after which rows follow.
    using header = std::array<std::int64_t, 14>;

    /// Rows of the image, of the mask or of the weights.
    struct plane {
        dtype type = dtype::u8;
        std::int64_t cols = 0, channels = 0, row_stride = 0, offset = 0;

        bool exists() const noexcept { return channels > 0; }
        std::int64_t row_bytes() const noexcept { return cols * channels * static_cast<std::int64_t>(size_of(type)); }
        std::byte* row(void* memory, std::int64_t r) const noexcept {
            return static_cast<std::byte*>(memory) + offset + r * row_stride;
        }
        any_view rows(void* memory, std::int64_t first, std::int64_t n) const noexcept {
            return {row(memory, first), {type, 1, n, cols, channels, row_stride, 0}};
        }
    };

    std::int64_t first_kept() const noexcept;
    row_range taken_by_next(std::int64_t n) const noexcept;
    bool lies_inside(row_range taken, std::int64_t n) const noexcept;
    std::int64_t whole_rows() const noexcept;
    filter_inputs shapes(std::int64_t rows, std::int64_t at, std::int64_t whole, std::int64_t first,
                         std::int64_t n) const;
    header header_of(std::int64_t first, std::int64_t received, std::int64_t dropped, bool finished) const;
    void read_header(std::span<const std::byte> state);
    std::size_t state_bytes(std::int64_t rows) const noexcept;

    /// Calls f for each plane with the bytes that are kept of it, where they lie in a state, and their shape there.
    template <typename F>
    void for_each_saved(void* memory, F&& f) const {
        const std::int64_t first = first_kept(), n = received_ - first;
        std::size_t at = 0;
        for (const plane& p : planes_) {
            if (!p.exists() || n == 0) continue;
            view_shape bytes{dtype::u8, 1, n, p.row_bytes(), 1, p.row_stride, 0};
            const any_view kept{p.row(memory, first - base_), bytes};
            bytes.row_stride = p.row_bytes();
            f(kept, at, bytes);
            at += static_cast<std::size_t>(n * p.row_bytes());
        }
    }

    row_format format_;
    boxsum::window window_;
    border_mode border_;
    std::array<plane, 3> planes_;
    std::int64_t period_ = 0;
    std::int64_t kept_rows_ = 0, room_rows_ = 0, buffer_rows_ = 0;
    std::size_t bytes_ = 0;
    std::int64_t base_ = 0;  ///< the row at the start of the memory
    std::int64_t received_ = 0, dropped_ = 0;
    bool finished_ = false;
};

}  // namespace boxsum::filters
