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

/// Calls visit(tag, value) for the entries of the first directory until it returns true.
template <typename Visit>
void visit_entries(std::span<const std::byte> exif, Visit visit) {
    if (exif.size() >= 6 && std::memcmp(exif.data(), "Exif\0", 5) == 0) exif = exif.subspan(6);
    const exif_numbers numbers(exif);
    constexpr std::size_t entry_bytes = 12;
    const std::size_t directory = numbers.at(4, 4);
    const std::size_t entries = numbers.at(directory, 2);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t entry = directory + 2 + i * entry_bytes;
        if (entry + entry_bytes > exif.size() || visit(numbers.at(entry, 2), numbers.at(entry + 8, 2))) return;
    }
}

constexpr std::uint32_t orientation_tag = 274;

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
    int orientation = 1;
    visit_entries(exif, [&](std::uint32_t tag, std::uint32_t value) {
        if (tag == orientation_tag && value >= 1 && value <= 8) orientation = static_cast<int>(value);
        return tag == orientation_tag;
    });
    return orientation;
}

bool exif_says_more(std::span<const std::byte> exif) noexcept {
    bool more = false;
    visit_entries(exif, [&](std::uint32_t tag, std::uint32_t) {
        constexpr std::uint32_t x_resolution = 282, y_resolution = 283, resolution_unit = 296, ycbcr_positioning = 531;
        more = tag != orientation_tag && tag != x_resolution && tag != y_resolution && tag != resolution_unit &&
               tag != ycbcr_positioning;
        return more;
    });
    return more;
}

}  // namespace boxsum::cli
