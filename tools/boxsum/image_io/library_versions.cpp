#include "image_io/library_versions.hpp"

#include "image_io/format_module.hpp"

#include <jpeglib.h>  // needs <cstddef> and <cstdio> before it
#include <libdeflate.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <cstddef>
#include <cstdio>

#define BOXSUM_TEXT_OF(value) #value
#define BOXSUM_EXPANDED_TEXT_OF(value) BOXSUM_TEXT_OF(value)

namespace boxsum::cli {

std::vector<library_version> library_versions() {
    const std::string tiff = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0\n" and a copyright
    const std::string first_line = tiff.substr(0, tiff.find('\n'));
    std::string jpeg = "API " + std::to_string(JPEG_LIB_VERSION);
#if defined(LIBJPEG_TURBO_VERSION)
    jpeg = "turbo " BOXSUM_EXPANDED_TEXT_OF(LIBJPEG_TURBO_VERSION);
#endif
    const int webp = WebPGetDecoderVersion();
    std::vector<library_version> libraries{
        {"libpng", png_get_libpng_ver(nullptr)},
        {"libjpeg", jpeg},
        {"libtiff", first_line.substr(first_line.rfind(' ') + 1)},
        {"libwebp",
         std::to_string(webp >> 16) + "." + std::to_string(webp >> 8 & 0xff) + "." + std::to_string(webp & 0xff)},
        {"libdeflate", LIBDEFLATE_VERSION_STRING}};
#if defined(BOXSUM_HAS_STB)
    libraries.push_back({"stb_image", "2"});
#endif
    if (const format_module* const module = loaded_format_module()) {
        if (module->exr_version != nullptr) libraries.push_back({"OpenEXR", module->exr_version});
        if (module->fits_version != nullptr) libraries.push_back({"cfitsio", module->fits_version});
    }
    return libraries;
}

}  // namespace boxsum::cli
