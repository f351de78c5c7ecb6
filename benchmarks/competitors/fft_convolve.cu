#include "competitors/convolve_peers.hpp"
#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#ifdef BOXSUM_BENCH_CUFFT
#include <cufft.h>
#include <dlfcn.h>

#include <stdexcept>
#include <type_traits>
#endif

namespace boxsum::bench {

#ifdef BOXSUM_BENCH_CUFFT

namespace {

/// Of a library that a machine may lack: the program runs without.
struct cufft {
    decltype(&cufftPlan2d) plan_2d = nullptr;
    decltype(&cufftSetStream) set_stream = nullptr;
    decltype(&cufftExecR2C) forwards = nullptr;
    decltype(&cufftExecC2R) backwards = nullptr;
    decltype(&cufftDestroy) destroy = nullptr;

    cufft() {
        const std::string name = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR);
        void* library = dlopen(name.c_str(), RTLD_NOW);
        if (library == nullptr) library = dlopen(("/usr/local/cuda/lib64/" + name).c_str(), RTLD_NOW);
        if (library == nullptr) throw unsupported(name + " was not found");
        const auto find = [library](auto& function, const char* symbol) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
            if (function == nullptr) throw unsupported(std::string("cuFFT has no ") + symbol);
        };
        find(plan_2d, "cufftPlan2d");
        find(set_stream, "cufftSetStream");
        find(forwards, "cufftExecR2C");
        find(backwards, "cufftExecC2R");
        find(destroy, "cufftDestroy");
    }

    static const cufft& library() {
        static const cufft loaded;
        return loaded;
    }
};

void check(const char* what, cufftResult result) {
    if (result != CUFFT_SUCCESS) throw std::runtime_error(std::string(what) + ": result " + std::to_string(result));
}

__global__ void multiply_kernel(float2* of_image, const float2* of_kernel, std::int64_t count, float scale) {
    for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += std::int64_t{gridDim.x} * blockDim.x) {
        const float2 a = of_image[i], b = of_kernel[i];
        of_image[i] = make_float2((a.x * b.x - a.y * b.y) * scale, (a.x * b.y + a.y * b.x) * scale);
    }
}

/// The least size of at least so many whose factors are 2, 3, 5 and 7, which cuFFT is fastest with; even.
std::int64_t quick_size(std::int64_t least) {
    for (std::int64_t n = least + least % 2;; n += 2) {
        std::int64_t rest = n;
        for (const int prime : {2, 3, 5, 7})
            while (rest % prime == 0) rest /= prime;
        if (rest == 1) return n;
    }
}

}  // namespace

struct fft_convolution::state {
    std::int64_t n, size, pitch;  ///< `pitch` floats a row, as transforms in place have them
    cuda::device_buffer image, kernel;
    cufftHandle forwards = 0, backwards = 0;

    state(std::int64_t extent, int side, cuda::stream_ref stream)
        : n(extent),
          size(quick_size(extent + side)),
          pitch(2 * (size / 2 + 1)),
          image(static_cast<std::size_t>(size * pitch) * sizeof(float), stream),
          kernel(static_cast<std::size_t>(size * pitch) * sizeof(float), stream) {}

    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        for (const cufftHandle plan : {forwards, backwards})
            if (plan != 0) (void)cufft::library().destroy(plan);
    }

    std::size_t pitch_bytes() const { return static_cast<std::size_t>(pitch) * sizeof(float); }
};

fft_convolution::fft_convolution(std::int64_t n, int side, const std::vector<double>& kernel, cuda::stream_ref stream)
    : state_(std::make_unique<state>(n, side, stream)) {
    const cufft& library = cufft::library();
    state& s = *state_;
    check("cufftPlan2d", library.plan_2d(&s.forwards, static_cast<int>(s.size), static_cast<int>(s.size), CUFFT_R2C));
    check("cufftPlan2d", library.plan_2d(&s.backwards, static_cast<int>(s.size), static_cast<int>(s.size), CUFFT_C2R));
    check("cufftSetStream", library.set_stream(s.forwards, stream.get()));
    check("cufftSetStream", library.set_stream(s.backwards, stream.get()));
    std::vector<float> turned(static_cast<std::size_t>(s.size * s.pitch));
    for (int r = 0; r < side; ++r)
        for (int c = 0; c < side; ++c) {
            const std::int64_t row = (side / 2 - r + s.size) % s.size, col = (side / 2 - c + s.size) % s.size;
            turned[static_cast<std::size_t>(row * s.pitch + col)] =
                static_cast<float>(kernel[static_cast<std::size_t>(r * side + c)]);
        }
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(s.kernel.data(), turned.data(), s.kernel.size(), cudaMemcpyHostToDevice, stream.get()));
    auto* const data = static_cast<float*>(s.kernel.data());
    check("cufftExecR2C", library.forwards(s.forwards, data, reinterpret_cast<float2*>(data)));
    stream.synchronize();
}

void fft_convolution::run(const float* image, float* result, cuda::stream_ref stream) const {
    const state& s = *state_;
    const cufft& library = cufft::library();
    auto* const data = static_cast<float*>(s.image.data());
    const std::size_t row_bytes = static_cast<std::size_t>(s.n) * sizeof(float);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(data, 0, s.image.size(), stream.get()));
    BOXSUM_CUDA_TRY(cudaMemcpy2DAsync(data, s.pitch_bytes(), image, row_bytes, row_bytes, static_cast<std::size_t>(s.n),
                                      cudaMemcpyDeviceToDevice, stream.get()));
    check("cufftExecR2C", library.forwards(s.forwards, data, reinterpret_cast<float2*>(data)));
    multiply_kernel<<<2048, 256, 0, stream.get()>>>(reinterpret_cast<float2*>(data),
                                                    static_cast<const float2*>(s.kernel.data()), s.size * s.pitch / 2,
                                                    1.0f / (static_cast<float>(s.size) * static_cast<float>(s.size)));
    BOXSUM_CUDA_TRY(cudaGetLastError());
    check("cufftExecC2R", library.backwards(s.backwards, reinterpret_cast<float2*>(data), data));
    BOXSUM_CUDA_TRY(cudaMemcpy2DAsync(result, row_bytes, data, s.pitch_bytes(), row_bytes,
                                      static_cast<std::size_t>(s.n), cudaMemcpyDeviceToDevice, stream.get()));
}

#else

struct fft_convolution::state {};

fft_convolution::fft_convolution(std::int64_t, int, const std::vector<double>&, cuda::stream_ref) {
    throw unsupported("cuFFT was not found when this was built");
}
void fft_convolution::run(const float*, float*, cuda::stream_ref) const {}

#endif

fft_convolution::~fft_convolution() = default;

}  // namespace boxsum::bench
