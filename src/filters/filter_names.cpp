#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>

#include <span>
#include <string>

namespace boxsum {
namespace {

constexpr std::string_view border_names[] = {"shrink", "reflect", "replicate", "constant", "mirror", "wrap"};
constexpr std::string_view threshold_names[] = {"bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar"};

template <typename Enum>
std::optional<Enum> from_name(std::span<const std::string_view> names, std::string_view name) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<Enum>(i);
    return {};
}

template <typename Enum>
std::string_view name_in(std::span<const std::string_view> names, Enum value) noexcept {
    const auto i = static_cast<std::size_t>(value);
    return i < names.size() ? names[i] : std::string_view{};
}

}  // namespace

std::string_view name_of(border_mode border) noexcept {
    return name_in(border_names, border);
}
std::optional<border_mode> border_from_name(std::string_view name) noexcept {
    return from_name<border_mode>(border_names, name);
}

std::string_view name_of(threshold_method method) noexcept {
    return name_in(threshold_names, method);
}
std::optional<threshold_method> threshold_from_name(std::string_view name) noexcept {
    return from_name<threshold_method>(threshold_names, name);
}

double default_k(threshold_method method) noexcept {
    switch (method) {
        case threshold_method::bradley:
            return 0.15;
        case threshold_method::niblack:
        case threshold_method::nick:
            return -0.2;
        case threshold_method::sauvola:
        case threshold_method::singh:
            return 0.2;
        case threshold_method::phansalkar:
            return 0.25;
        case threshold_method::wolf:
            break;
    }
    return 0.5;
}

double default_range(dtype image) {
    switch (image) {
        case dtype::u8:
            return 127.5;
        case dtype::u16:
        case dtype::s16:
            return 32767.5;
        case dtype::u32:
        case dtype::s32:
            return 2147483647.5;
        case dtype::f16:
        case dtype::f32:
        case dtype::f64:
            return 0.5;
        default:
            throw unsupported("image: type is " + std::string(name_of(image)) +
                              ", filters take 8u, 16u, 16s, 32u, 32s, 16f, 32f and 64f");
    }
}

}  // namespace boxsum
