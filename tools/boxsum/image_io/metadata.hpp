#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace boxsum::cli {

/// What a file says about its pixels, to be written again with what is computed from them.
struct image_metadata {
    /// A tag of TIFF as it is: numbers of one of the types SHORT and DOUBLE, or text.
    struct tiff_tag {
        std::uint32_t number = 0;
        std::vector<std::uint16_t> shorts = {};
        std::vector<double> doubles = {};
        std::string text = {};
    };

    std::vector<std::byte> icc;    ///< colour profile
    double horizontal_per_cm = 0;  ///< pixels; 0: not known
    double vertical_per_cm = 0;
    std::vector<tiff_tag> geo;          ///< of GeoTIFF and GDAL: where pixels lie on Earth, which value means no data
    std::vector<std::string> not_kept;  ///< what else there is, which no output gets: "EXIF data", "texts"
};

/// GeoTIFF's and GDAL's tags.
namespace geo_tags {
inline constexpr std::uint32_t pixel_scale = 33550, tie_points = 33922, transformation = 34264, directory = 34735,
                               doubles = 34736, texts = 34737, gdal_metadata = 42112, gdal_nodata = 42113;
}

/// The first pixel moves to (row, col): tie points and transformation follow.
void move_origin(image_metadata& metadata, std::int64_t row, std::int64_t col);

/// EXIF's orientation in the payload of an APP1 or eXIf block ("II*" or "MM", or with "Exif" before it), 1 to 8; 1
/// where there is none.
int exif_orientation(std::span<const std::byte> exif) noexcept;

/// Whether such a block says more than how the pixels lie: when, where and by which camera.
bool exif_says_more(std::span<const std::byte> exif) noexcept;

}  // namespace boxsum::cli
