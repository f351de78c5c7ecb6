#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"

#include <webp/decode.h>
#include <webp/encode.h>

#include <memory>
#include <string>
#include <vector>

namespace boxsum::cli {
namespace {

/// Lossless WebP says with a few bits that all pixels are one colour.
constexpr double best_ratio = 1e6;

int append(const std::uint8_t* data, std::size_t size, const WebPPicture* picture) {
    auto& out = *static_cast<std::vector<std::byte>*>(picture->custom_ptr);
    const auto* const bytes = reinterpret_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
    return 1;
}

}  // namespace

image read_webp(const encoded_bytes& file) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(file.bytes.data());
    WebPBitstreamFeatures features{};
    if (WebPGetFeatures(data, file.bytes.size(), &features) != VP8_STATUS_OK)
        throw input_error("its WebP header is malformed or truncated");
    if (features.has_animation != 0) throw input_error("it is an animation, not an image");
    const view_shape shape = packed_shape(dtype::u8, features.height, features.width, features.has_alpha != 0 ? 4 : 3);
    check_plausible_size(shape, static_cast<std::uint64_t>(shape.plane_stride), file.bytes.size(), best_ratio);
    const writable_image pixels = allocate_image(shape);
    const auto decode = shape.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
    if (decode(data, file.bytes.size(), static_cast<std::uint8_t*>(pixels.view.data),
               static_cast<std::size_t>(shape.plane_stride), static_cast<int>(shape.row_stride)) == nullptr)
        throw input_error("its WebP data are damaged or truncated");
    image result = pixels;
    result.alpha = shape.channels == 4;
    return result;
}

void write_webp(output_file& out, const image& source, int quality) {
    const view_shape& s = source.view.shape;
    WebPConfig config;
    WebPPicture picture;
    if (WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0)
        throw io_error("cannot write '" + output_name(out.path()) + "': libwebp has another version than its header");
    constexpr int lossless = 100;
    config.lossless = quality == lossless ? 1 : 0;
    config.quality = static_cast<float>(quality);
    std::vector<std::byte> bytes;
    picture.use_argb = config.lossless;
    picture.width = static_cast<int>(s.cols);
    picture.height = static_cast<int>(s.rows);
    picture.writer = append;
    picture.custom_ptr = &bytes;
    const std::unique_ptr<WebPPicture, decltype(&WebPPictureFree)> owner(&picture, &WebPPictureFree);
    const auto import = s.channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
    if (import(&picture, static_cast<const std::uint8_t*>(source.view.data), static_cast<int>(s.row_stride)) == 0 ||
        WebPEncode(&config, &picture) == 0) {
        if (picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY) throw out_of_memory("libwebp is out of memory");
        throw io_error("cannot write '" + output_name(out.path()) + "': libwebp fails with error " +
                       std::to_string(picture.error_code));
    }
    out.write(bytes);
}

}  // namespace boxsum::cli
