#include "video/annotate.hpp"

#include "image_io/image_file.hpp"

#include <cstring>

namespace boxsum::cli {

void write_annotated(const std::string& folder, std::int64_t number, const image_view<const std::uint8_t>& frame,
                     const box& b) {
    const writable_image out = allocate_image(packed_shape(dtype::u8, frame.rows(), frame.cols(), 1));
    for (std::int64_t r = 0; r < frame.rows(); ++r)
        std::memcpy(out.row(r), frame.row(r), static_cast<std::size_t>(frame.cols()));
    const auto outline = [&](std::int64_t grow, std::uint8_t value) {
        const std::int64_t top = b.row - grow, bottom = b.row + b.rows - 1 + grow;
        const std::int64_t left = b.col - grow, right = b.col + b.cols - 1 + grow;
        const auto put = [&](std::int64_t r, std::int64_t c) {
            if (r >= 0 && r < frame.rows() && c >= 0 && c < frame.cols()) out.row(r)[c] = std::byte{value};
        };
        for (std::int64_t c = left; c <= right; ++c) put(top, c), put(bottom, c);
        for (std::int64_t r = top; r <= bottom; ++r) put(r, left), put(r, right);
    };
    outline(0, 0);
    outline(1, 255);
    std::string digits = std::to_string(number);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    output_file file(folder + "/frame_" + digits + ".png");
    write_image(file, image_format::png, out);
    file.commit();
}

}  // namespace boxsum::cli
