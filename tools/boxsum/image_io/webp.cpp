#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/rows.hpp"

#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <memory>
#include <string>
#include <utility>
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

using mux_owner = std::unique_ptr<WebPMux, decltype(&WebPMuxDelete)>;

/// The payload of a chunk; empty where there is none.
std::span<const std::byte> chunk_of(const WebPMux* mux, const char* name) {
    WebPData data{};
    if (mux == nullptr || WebPMuxGetChunk(mux, name, &data) != WEBP_MUX_OK) return {};
    return {reinterpret_cast<const std::byte*>(data.bytes), data.size};
}

void read_metadata(const encoded_bytes& file, image& result) {
    const WebPData all{reinterpret_cast<const std::uint8_t*>(file.bytes.data()), file.bytes.size()};
    const mux_owner mux(WebPMuxCreate(&all, 0), &WebPMuxDelete);
    if (const auto exif = chunk_of(mux.get(), "EXIF"); !exif.empty()) result.orientation = exif_orientation(exif);
    if (const auto profile = chunk_of(mux.get(), "ICCP"); !profile.empty()) {
        auto metadata = std::make_shared<image_metadata>();
        metadata->icc.assign(profile.begin(), profile.end());
        result.metadata = std::move(metadata);
    }
}

/// The same image in a file with a colour profile.
void write_with_profile(output_file& out, const std::vector<std::byte>& image_file, const std::vector<std::byte>& icc) {
    const auto data_of = [](const std::vector<std::byte>& bytes) {
        return WebPData{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    };
    const WebPData pixels = data_of(image_file), profile = data_of(icc);
    const mux_owner mux(WebPMuxNew(), &WebPMuxDelete);
    WebPData whole{};
    if (mux == nullptr || WebPMuxSetImage(mux.get(), &pixels, 0) != WEBP_MUX_OK ||
        WebPMuxSetChunk(mux.get(), "ICCP", &profile, 0) != WEBP_MUX_OK ||
        WebPMuxAssemble(mux.get(), &whole) != WEBP_MUX_OK)
        throw out_of_memory("libwebpmux cannot allocate the file");
    const std::unique_ptr<WebPData, decltype(&WebPDataClear)> owner(&whole, &WebPDataClear);
    out.write({reinterpret_cast<const std::byte*>(whole.bytes), whole.size});
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
    read_metadata(file, result);
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
    if (source.metadata && !source.metadata->icc.empty()) return write_with_profile(out, bytes, source.metadata->icc);
    out.write(bytes);
}

}  // namespace boxsum::cli
