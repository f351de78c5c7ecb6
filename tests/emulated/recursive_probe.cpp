// recursive_probe 32f|64f ROWS COLUMNS SIGMA: the recursive Gaussian of the zoo, on an emulated device, of the image on
// standard input; the result goes to standard output. For compare_recursive.py.

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/zoo/recursive_gaussian.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/stream.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

int main(int count, char** arguments) {
    using namespace boxsum;
    if (count != 5) return 2;
    const std::optional<dtype> type = dtype_from_name(arguments[1]);
    if (!type) return 2;
    const auto element = static_cast<std::int64_t>(size_of(*type));
    view_shape s{*type, 1, std::atoll(arguments[2]), std::atoll(arguments[3]), 1, 0, 0};
    s.row_stride = s.cols * element;
    s.plane_stride = s.rows * s.row_stride;
    std::vector<char> pixels(static_cast<std::size_t>(s.plane_stride));
    if (std::fread(pixels.data(), 1, pixels.size(), stdin) != pixels.size()) return 3;

    const cuda::stream stream;
    const cuda::device_buffer from(pixels.size(), stream), to(pixels.size(), stream);
    const cuda::device_buffer workspace(cuda::recursive_gaussian_bytes(s), stream);
    const auto copy = [&](void* out, const void* in, cudaMemcpyKind kind) {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(out, in, pixels.size(), kind, stream.get()));
    };
    copy(from.data(), pixels.data(), cudaMemcpyHostToDevice);
    cuda::enqueue_recursive_gaussian({from.data(), s}, {to.data(), s}, std::atof(arguments[4]), workspace.data(),
                                     stream);
    copy(pixels.data(), to.data(), cudaMemcpyDeviceToHost);
    cuda::stream_ref(stream).synchronize();
    return std::fwrite(pixels.data(), 1, pixels.size(), stdout) == pixels.size() ? 0 : 3;
}
