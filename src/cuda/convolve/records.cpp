#include "cuda/convolve/records.hpp"

#include "core/visit_types.hpp"

#include <string>

namespace boxsum {
namespace {

#if defined(BOXSUM_WITH_CUDA) || defined(BOXSUM_EMULATED)
constexpr bool kernels_built = true;

template <const cuda::convolve_algorithm& kernels>
support supports(const problem& p, const parameter_values&) {
    const view_shape& image = p.image;
#if defined(BOXSUM_TYPES_MIN)
    using pairs = type_list<typed_pair<u8, f32>, typed_pair<f32, f32>>;
#else
    using pairs = type_list<typed_pair<u8, f32>, typed_pair<u16, f32>, typed_pair<f32, f32>, typed_pair<f64, f64>>;
#endif
    if (!contains(pairs{}, p.types()))  // those of bordered.cuh
        return {false, "it takes images of 8u, 16u and 32f with results of 32f, and 64f with 64f, as far as compiled"};
    if (image.planes * image.channels > 65535)
        return {false, "it takes at most 65535 planes and channels together, not " + std::to_string(image.planes) +
                           " times " + std::to_string(image.channels)};
    if (const char* const why = kernels.refuses(*p.convolution)) return {false, std::string("it is for ") + why};
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

template <const cuda::convolve_algorithm& kernels>
void enqueue(const problem& p, const buffers& memory, const execution& how) {
    kernels.enqueue(*p.convolution, memory.image, memory.table, memory.weights, how.stream);
}
#define BOXSUM_FUNCTION(name) name
#else
constexpr bool kernels_built = false;
#define BOXSUM_FUNCTION(name) nullptr
#endif

}  // namespace

constinit const algorithm_record convolve_systolic_record{
    .info = {.what = operation::convolve,
             .name = "systolic",
             .title = "small kernels: two columns a lane, whose partial sums move from lane to lane",
             .paper = "boxsum; after Chen et al. 2019 (SSAM)",
             .cost = "1 read, 1 write per element; 1 launch",
             .where = backend::cuda,
             .built = kernels_built},
    .supports = BOXSUM_FUNCTION(supports<cuda::convolve_systolic>),
    .workspace_bytes = BOXSUM_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_FUNCTION(enqueue<cuda::convolve_systolic>),
};

constinit const algorithm_record convolve_tiled_record{
    .info = {.what = operation::convolve,
             .name = "tiled",
             .title = "tiles of results in registers over a tile of pixels in shared memory",
             .paper = "boxsum",
             .cost = "1 read, 1 write per element; 1 launch",
             .where = backend::cuda,
             .built = kernels_built},
    .supports = BOXSUM_FUNCTION(supports<cuda::convolve_tiled>),
    .workspace_bytes = BOXSUM_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_FUNCTION(enqueue<cuda::convolve_tiled>),
};

constinit const algorithm_record convolve_ssam_record{
    .info = {.what = operation::convolve,
             .name = "ssam",
             .title = "software systolic array: a column a lane in registers, partial sums move from lane to lane",
             .paper = "Chen, Wahib, Takizawa, Takano, Matsuoka 2019, listing 1; notes of 2025, 'SSAM for 2D conv.'",
             .cost = "32 C / (P (33 - M)) reads, 1 write per element, with C = P + N - 1 and P = 4; 1 launch",
             .where = backend::cuda,
             .built = kernels_built},
    .supports = BOXSUM_FUNCTION(supports<cuda::convolve_ssam>),
    .workspace_bytes = BOXSUM_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_FUNCTION(enqueue<cuda::convolve_ssam>),
};

constinit const algorithm_record convolve_direct_record{
    .info = {.what = operation::convolve,
             .name = "direct",
             .title = "a thread a pixel, by the definition",
             .paper = "the definition; what Chen et al. 2019 compare with",
             .cost = "N M reads, 1 write per element; 1 launch",
             .where = backend::cuda,
             .built = kernels_built},
    .supports = BOXSUM_FUNCTION(supports<cuda::convolve_direct>),
    .workspace_bytes = BOXSUM_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_FUNCTION(enqueue<cuda::convolve_direct>),
};

std::vector<double> cuda::weights_for([[maybe_unused]] const algorithm_record& record,
                                      [[maybe_unused]] const convolution::job& j) {
#if defined(BOXSUM_WITH_CUDA) || defined(BOXSUM_EMULATED)
    for (const convolve_algorithm* kernels : {&convolve_systolic, &convolve_tiled, &convolve_ssam, &convolve_direct})
        if (record.info.name == kernels->name) return kernels->weights(j);
#endif
    return {};
}

}  // namespace boxsum
