#include "measure/device_links.hpp"

#include "cuda/runtime/device.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace boxsum::bench {
namespace {

struct device_link {
    int device;
    cuda::stream stream;
    cuda::device_buffer from;
    any_view to;
};

device_link link_to(int device, std::byte* memory, std::int64_t bytes) {
    const cuda::device_scope scope(device);
    cuda::stream stream;
    cuda::device_buffer from(static_cast<std::size_t>(bytes), stream);
    return {device, std::move(stream), std::move(from), any_view{memory, {dtype::u8, 1, 1, bytes, 1, bytes, 0}}};
}

/// Of all these links at once; the best of three.
double rate_of(std::span<const device_link> links) {
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        std::int64_t bytes = 0;
        for (const device_link& l : links) {
            const cuda::device_scope scope(l.device);
            cuda::copy_async(const_any_view{l.from.data(), l.to.shape}, l.to, l.stream);
            bytes += l.to.shape.cols;
        }
        for (const device_link& l : links) l.stream.synchronize();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        best = std::max(best, static_cast<double>(bytes) / seconds);
    }
    return best;
}

}  // namespace

link_rates rates_of_links(int devices, void* memory, std::int64_t bytes) {
    constexpr std::int64_t most = std::int64_t{2} << 30;
    const std::int64_t part = std::min(most, bytes / devices);
    std::vector<device_link> links;
    for (int d = 0; d < devices; ++d) links.push_back(link_to(d, static_cast<std::byte*>(memory) + d * part, part));
    link_rates rates;
    for (const device_link& one : links) rates.sum += rate_of({&one, 1});
    rates.at_once = rate_of(links);
    return rates;
}

}  // namespace boxsum::bench
