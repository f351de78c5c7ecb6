#include "image_io/format.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace boxsum::cli {
namespace {

struct named_format {
    std::string_view name;
    image_format format;
};

constexpr std::array<named_format, 18> names{{{"png", image_format::png},
                                              {"jpeg", image_format::jpeg},
                                              {"tiff", image_format::tiff},
                                              {"pnm", image_format::pnm},
                                              {"pfm", image_format::pfm},
                                              {"npy", image_format::npy},
                                              {"webp", image_format::webp},
                                              {"bmp", image_format::bmp},
                                              {"exr", image_format::exr},
                                              {"fits", image_format::fits},
                                              {"fit", image_format::fits},
                                              {"fts", image_format::fits},
                                              {"jpg", image_format::jpeg},
                                              {"jpe", image_format::jpeg},
                                              {"tif", image_format::tiff},
                                              {"pgm", image_format::pnm},
                                              {"ppm", image_format::pnm},
                                              {"pbm", image_format::pnm}}};

struct signature {
    std::string_view first_bytes;
    image_format format;
};

using namespace std::string_view_literals;

constexpr std::array<signature, 18> signatures{{{"\x89PNG\r\n\x1a\n"sv, image_format::png},
                                                {"\xff\xd8\xff"sv, image_format::jpeg},
                                                {"II*\0"sv, image_format::tiff},
                                                {"MM\0*"sv, image_format::tiff},
                                                {"II+\0"sv, image_format::tiff},
                                                {"MM\0+"sv, image_format::tiff},
                                                {"P1"sv, image_format::pnm},
                                                {"P2"sv, image_format::pnm},
                                                {"P3"sv, image_format::pnm},
                                                {"P4"sv, image_format::pnm},
                                                {"P5"sv, image_format::pnm},
                                                {"P6"sv, image_format::pnm},
                                                {"Pf"sv, image_format::pfm},
                                                {"PF"sv, image_format::pfm},
                                                {"\x93NUMPY"sv, image_format::npy},
                                                {"BM"sv, image_format::bmp},
                                                {"\x76\x2f\x31\x01"sv, image_format::exr},
                                                {"SIMPLE  ="sv, image_format::fits}}};

}  // namespace

std::string_view name_of(image_format format) noexcept {
    return names[static_cast<std::size_t>(format)].name;
}

std::optional<image_format> format_from_name(std::string_view name) noexcept {
    const auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b); };
    for (const named_format& entry : names)
        if (std::equal(entry.name.begin(), entry.name.end(), name.begin(), name.end(), same)) return entry.format;
    return {};
}

bool is_read_only(image_format format) noexcept {
    return format == image_format::bmp || format == image_format::exr || format == image_format::fits;
}

std::optional<image_format> format_from_path(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos) return {};
    return format_from_name(path.substr(dot + 1));
}

std::optional<image_format> format_from_bytes(std::span<const std::byte> bytes) noexcept {
    for (const signature& s : signatures)
        if (bytes.size() >= s.first_bytes.size() &&
            std::memcmp(bytes.data(), s.first_bytes.data(), s.first_bytes.size()) == 0)
            return s.format;
    constexpr std::size_t kind_at = 8;  // "RIFF", four bytes of size, the kind
    if (bytes.size() >= kind_at + 4 && std::memcmp(bytes.data(), "RIFF", 4) == 0 &&
        std::memcmp(bytes.data() + kind_at, "WEBP", 4) == 0)
        return image_format::webp;
    return {};
}

}  // namespace boxsum::cli
