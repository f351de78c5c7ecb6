#pragma once

#include "cpu/filters/bands.hpp"

namespace boxsum::filters {

/// An image in a wider type: 16f as 32f, 32u and 32s as 64f. All values are exact.
class widened_image {
  public:
    /// The image itself where it has that type; else a copy without gaps, made by up to `threads` threads.
    widened_image(const const_any_view& given, dtype type, int threads);

    const const_any_view& view() const noexcept { return view_; }

  private:
    host_buffer memory_;
    const_any_view view_;
};

}  // namespace boxsum::filters
