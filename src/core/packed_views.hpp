#pragma once

#include <boxsum/memory.hpp>
#include <boxsum/view.hpp>

namespace boxsum {

/// Copies the elements of a view to another one of the same type and extents in host memory, whatever the strides.
/// Arguments have been checked; the memory does not overlap.
void copy_elements(const const_any_view& from, const any_view& to);

/// Which views a computation takes as they are; others it gets as copies without gaps.
using takes_shape = bool (*)(const view_shape&) noexcept;

/// What is read: the view itself where `takes` says so, else a copy of it. A view without data stays one.
class packed_input {
  public:
    packed_input(const const_any_view& given, takes_shape takes);

    const const_any_view& view() const noexcept { return view_; }
    std::size_t copied_bytes() const noexcept { return memory_.size(); }

  private:
    host_buffer memory_;
    const_any_view view_;
};

/// What is written: the view itself, or memory without gaps in its place. unpack() puts that where it belongs.
class packed_output {
  public:
    packed_output(const any_view& given, takes_shape takes);

    const any_view& view() const noexcept { return view_; }
    std::size_t copied_bytes() const noexcept { return memory_.size(); }
    void unpack() const;

  private:
    host_buffer memory_;
    any_view given_, view_;
};

}  // namespace boxsum
