#include "image_io/metadata.hpp"

#include <cstring>

namespace boxsum::cli {
namespace {

/// Numbers of a block in either byte order; 0 beyond its end.
class exif_numbers {
  public:
    explicit exif_numbers(std::span<const std::byte> bytes)
        : bytes_(bytes), big_(!bytes.empty() && bytes[0] == std::byte{'M'}) {}

    std::uint32_t at(std::size_t offset, std::size_t size) const {
        if (offset > bytes_.size() || size > bytes_.size() - offset) return 0;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value = value << 8 | std::to_integer<std::uint32_t>(bytes_[offset + (big_ ? i : size - 1 - i)]);
        return value;
    }

  private:
    std::span<const std::byte> bytes_;
    bool big_;
};

}  // namespace

void move_origin(image_metadata& metadata, std::int64_t row, std::int64_t col) {
    for (image_metadata::tiff_tag& tag : metadata.geo) {
        constexpr std::size_t numbers_of_tie_point = 6, numbers_of_transformation = 16;
        if (tag.number == geo_tags::tie_points)
            for (std::size_t i = 0; i + numbers_of_tie_point <= tag.doubles.size(); i += numbers_of_tie_point) {
                tag.doubles[i] -= static_cast<double>(col);
                tag.doubles[i + 1] -= static_cast<double>(row);
            }
        if (tag.number == geo_tags::transformation && tag.doubles.size() == numbers_of_transformation)
            for (std::size_t i = 0; i < numbers_of_transformation; i += 4)  // a row of the matrix
                tag.doubles[i + 3] +=
                    tag.doubles[i] * static_cast<double>(col) + tag.doubles[i + 1] * static_cast<double>(row);
    }
}

int exif_orientation(std::span<const std::byte> exif) noexcept {
    if (exif.size() >= 6 && std::memcmp(exif.data(), "Exif\0", 5) == 0) exif = exif.subspan(6);
    const exif_numbers numbers(exif);
    constexpr std::uint32_t orientation_tag = 274;
    constexpr std::size_t entry_bytes = 12;
    const std::size_t directory = numbers.at(4, 4);
    const std::size_t entries = numbers.at(directory, 2);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t entry = directory + 2 + i * entry_bytes;
        if (entry + entry_bytes > exif.size()) break;
        if (numbers.at(entry, 2) != orientation_tag) continue;
        const std::uint32_t value = numbers.at(entry + 8, 2);
        return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
    return 1;
}

}  // namespace boxsum::cli
