#pragma once

#include "core/problem.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace boxsum::cuda {

/// One view that kernels cannot take as it is, and its copy without gaps in a space of several.
class packed_copy {
  public:
    /// Where the shape is not plain it becomes that of a copy, whose bytes are added: a multiple of 256.
    void add(view_shape& shape, std::size_t& bytes);
    void add(std::optional<view_shape>& shape, std::size_t& bytes);

    bool exists() const noexcept { return offset_ >= 0; }
    void* at(void* space) const noexcept { return static_cast<std::byte*>(space) + offset_; }

    /// Where kernels read what is `from`, of which a copy is enqueued.
    const void* fill(const void* from, void* space, stream_ref stream) const;
    /// Where kernels write what is to be `to`, and the copy to there.
    void* place(void* to, void* space) const noexcept { return exists() ? at(space) : to; }
    void empty(void* to, void* space, stream_ref stream) const;

    /// The same memory of elements of another type of this size.
    packed_copy of_type(dtype type) const noexcept;
    const view_shape& shape() const noexcept { return packed_; }

  private:
    view_shape given_, packed_;  ///< plain: rows on 256 bytes
    std::int64_t offset_ = -1;   ///< in the space; -1: no copy
};

/// What kernels of a problem cannot take as it is, they get as copies without gaps: slices of columns, images that are
/// turned over or transposed, repeated rows, and tables that are to lie so.
class packed_copies {
  public:
    /// Of the problem's views, whose shapes become those of the copies. A problem in place keeps one copy for both.
    explicit packed_copies(problem& p);

    /// Bytes of all copies, a multiple of 256; 0 where there are none.
    std::size_t bytes() const noexcept { return bytes_; }

    /// Enqueues the copies of what is read, into bytes() bytes at `space`, and returns the memory of the problem.
    buffers pack(const buffers& given, void* space, stream_ref stream) const;

    /// Enqueues the copies of what the problem left there to where it belongs.
    void unpack(const buffers& given, void* space, stream_ref stream) const;

  private:
    packed_copy image_, weights_, table_, squares_, above_, left_, squares_above_, squares_left_;
    std::size_t bytes_ = 0;
};

/// The problem as kernels see it.
problem packed(problem p);

}  // namespace boxsum::cuda
