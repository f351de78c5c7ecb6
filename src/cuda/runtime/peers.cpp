#include "cuda/runtime/peers.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace boxsum::cuda {
namespace {

bool reads(int reader, int owner) {
    int can = 0;
    BOXSUM_CUDA_TRY(cudaDeviceCanAccessPeer(&can, reader, owner));
    if (can == 0) return false;
    let_read(reader, owner);
    return copies_arrive(owner, reader);
}

bool reaches(int reader, int owner) {
    static std::mutex mutex;
    static std::map<std::pair<int, int>, bool> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find({reader, owner});
    if (found != known.end()) return found->second;
    bool answer = false;
    try {
        answer = reads(reader, owner);
    } catch (const error&) {
    }
    return known[{reader, owner}] = answer;
}

}  // namespace

bool copies_arrive(int from, int to) {
    constexpr std::size_t bytes = std::size_t{64} << 10;
    constexpr unsigned char sent = 0x5a, before = 0xa5;
    const device_scope there(from);
    const stream source_stream;
    const device_buffer source = buffer_for_peers(bytes, source_stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(source.data(), sent, bytes, source_stream.get()));
    source_stream.synchronize();

    const device_scope here(to);
    const stream copy_stream;
    const device_buffer copy = buffer_for_peers(bytes, copy_stream);
    std::vector<unsigned char> arrived(bytes);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(copy.data(), before, bytes, copy_stream.get()));
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(copy.data(), source.data(), bytes, cudaMemcpyDefault, copy_stream.get()));
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(arrived.data(), copy.data(), bytes, cudaMemcpyDefault, copy_stream.get()));
    copy_stream.synchronize();
    return std::all_of(arrived.begin(), arrived.end(), [](unsigned char byte) { return byte == sent; });
}

bool reach_each_other(std::span<const int> devices) {
    for (const int reader : devices)
        for (const int owner : devices)
            if (reader != owner && !reaches(reader, owner)) return false;
    return true;
}

}  // namespace boxsum::cuda
