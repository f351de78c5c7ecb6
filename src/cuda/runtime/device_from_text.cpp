#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace boxsum::cuda {
namespace {

std::optional<int> parse(std::string_view text) {
    constexpr std::string_view prefix = "cuda:";
    if (!text.starts_with(prefix)) return {};
    text.remove_prefix(prefix.size());
    int device = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), device);
    if (error != std::errc{} || end != text.data() + text.size() || device < 0) return {};
    return device;
}

}  // namespace

int device_from_text(std::string_view text) {
    if (text == "cuda") {
        const char* const chosen = std::getenv("BOXSUM_DEVICE");
        return chosen == nullptr ? 0 : parse(chosen).value_or(0);
    }
    if (const auto device = parse(text)) return *device;
    throw invalid_argument("device: is '" + std::string(text) + "', must be cuda or cuda:N with N from 0");
}

}  // namespace boxsum::cuda
