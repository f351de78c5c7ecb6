#include "formats/readers.hpp"
#include "image_io/format_module.hpp"

using boxsum::cli::format_module;

extern "C" __attribute__((visibility("default"))) const format_module* boxsum_format_module() {
    namespace formats = boxsum::cli::formats;
    static const format_module module = {
#if defined(BOXSUM_HAS_OPENEXR)
        .read_exr = formats::read_exr,
#else
        .read_exr = nullptr,
#endif
#if defined(BOXSUM_HAS_CFITSIO)
        .read_fits = formats::read_fits,
        .fits_images = formats::fits_images,
#else
        .read_fits = nullptr,
        .fits_images = nullptr,
#endif
#if defined(BOXSUM_HAS_OPENEXR)
        .exr_version = formats::exr_version(),
#else
        .exr_version = nullptr,
#endif
#if defined(BOXSUM_HAS_CFITSIO)
        .fits_version = formats::fits_version(),
#else
        .fits_version = nullptr,
#endif
    };
    return &module;
}
