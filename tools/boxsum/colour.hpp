#pragma once

#include "image_io/image.hpp"

#include <string>

namespace boxsum::cli {

/// Whether an image has red, green and blue, with or without opacity.
bool is_coloured(const image& source);

/// Weights of red, green and blue in brightness: ITU-R BT.601 (0.299, 0.587, 0.114) or BT.709 (0.2126, 0.7152, 0.0722).
enum class luma_weights : std::uint8_t { bt601, bt709 };

/// Integers are rounded
/// half up. Opacity is kept as the second channel. What is not coloured is returned as it is.
image to_grey(const image& source, luma_weights luma);

/// Colours and opacity, each by itself. Without opacity `colours` is the image and `alpha` is empty.
struct separated_image {
    image colours;
    image alpha;

    bool has_alpha() const { return alpha.view.data != nullptr; }
};
separated_image separate_alpha(const image& source);

/// Puts the opacity behind the colours again: of integer colours of 8 and 16 bits it takes the range, of others the
/// value. Without opacity the colours are returned.
image join_alpha(const image& colours, const separated_image& source);

/// The colours of a transparent image multiplied by their opacity, as a filter that mixes pixels needs them: what
/// cannot be seen has no colour. 64f for 16-bit images, else 32f.
writable_image premultiplied(const separated_image& source);

/// The way back into another type: colours over opacity, both filtered, and that opacity; integers are rounded half up.
/// Where nothing can be seen the source's colour stays.
image divided_by_alpha(const writable_image& colours, const writable_image& alpha, const separated_image& source,
                       dtype type);

}  // namespace boxsum::cli
