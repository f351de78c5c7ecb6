#pragma once

#include <boxsum/error.hpp>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace boxsum::cli {

/// "cuda:3" -> 3; nothing for any other text.
inline std::optional<int> number_of_device(std::string_view text) {
    constexpr std::string_view prefix = "cuda:";
    if (!text.starts_with(prefix)) return {};
    text.remove_prefix(prefix.size());
    int device = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), device);
    if (error != std::errc{} || end != text.data() + text.size() || device < 0) return {};
    return device;
}

/// "cuda" or "cuda:0" -> 0, "cuda:3" -> 3; the form of `--device` and of BOXSUM_DEVICE. "cuda" is the environment
/// variable BOXSUM_DEVICE where that names a CUDA device, else 0. Throws invalid_argument for any other text; whether
/// the device exists is found out when it is used. In a header, as tests and benchmarks on devices read it, too.
inline int device_from_text(std::string_view text) {
    if (text == "cuda") {
        const char* const chosen = std::getenv("BOXSUM_DEVICE");
        return chosen == nullptr ? 0 : number_of_device(chosen).value_or(0);
    }
    if (const auto device = number_of_device(text)) return *device;
    throw invalid_argument("device: is '" + std::string(text) + "', must be cuda or cuda:N with N from 0");
}

}  // namespace boxsum::cli
