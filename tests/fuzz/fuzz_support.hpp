#pragma once

#include "errors.hpp"
#include "image_io/image.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace boxsum::cli {

/// Runs f; only the errors that bad input may cause are swallowed. The pool is emptied, so that the sanitizer sees
/// fresh blocks.
template <typename F>
void tolerate_refusal(F&& f) {
    try {
        f();
    } catch (const input_error&) {
    } catch (const usage_error&) {
    } catch (const out_of_memory&) {
    }
    memory_pool::shared().trim();
}

/// Reads every byte of an image, so that a view of too much memory is seen.
inline void touch(const image& pixels) {
    [[maybe_unused]] static volatile unsigned sink = 0;
    unsigned sum = 0;
    const auto* bytes = static_cast<const std::uint8_t*>(pixels.view.data);
    for (std::int64_t i = 0; i < pixels.view.shape.plane_stride; ++i) sum += bytes[i];
    sink = sum;
}

}  // namespace boxsum::cli
