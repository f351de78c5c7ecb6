#include "program/target.hpp"

#include "cuda_device.hpp"
#include "errors.hpp"

#include <boxsum/cuda/device.hpp>

#include <charconv>
#include <set>

namespace boxsum::bench {

using cli::usage_error;

target target_of(const std::string& text) {
    if (text == "cpu") return {};
    if (text == "auto") return cuda::built() && cuda::device_count() > 0 ? target{backend::cuda, 0} : target{};
    int device = 0;
    try {
        device = cli::device_from_text(text);
    } catch (const invalid_argument&) {
        throw usage_error("--device: is '" + text + "', must be auto, cpu, cuda or cuda:N");
    }
    cuda::set_device(device);  // throws unsupported for one that is not there
    return {backend::cuda, device};
}

std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
    std::set<std::int64_t> sizes;
    for (const std::string& text : texts) {
        std::int64_t size = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, size);
        const bool thousands = rest + 1 == end && (*rest == 'k' || *rest == 'K');
        if (problem != std::errc{} || (rest != end && !thousands) || size < 1 || size > 65536 ||
            (thousands && size > 64))
            throw usage_error("--sizes: '" + text + "' is no size of 1 to 65536 (1k is 1024)");
        sizes.insert(thousands ? size * 1024 : size);
    }
    return {sizes.begin(), sizes.end()};
}

}  // namespace boxsum::bench
