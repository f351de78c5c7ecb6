#pragma once

#include "cuda/production/sat/launch.cuh"

/// Launches whose kernels the objects of the record `fast` have already, beside which the emulated tests of the tile
/// kernels are linked: compiled again they would take most of what these tests take to compile.
namespace boxsum::cuda {

#define BOXSUM_LINKED_TILES(pixel, sum, channels)                                                                      \
    extern template tile_launch launch_of_tiles<pixel, sum, channels>(const sat_geometry&, const device_limits&, bool, \
                                                                      int);
#define BOXSUM_LINKED_CHANNELS(pixel, sum) \
    BOXSUM_LINKED_TILES(pixel, sum, 1)     \
    BOXSUM_LINKED_TILES(pixel, sum, 2)     \
    BOXSUM_LINKED_TILES(pixel, sum, 3)     \
    BOXSUM_LINKED_TILES(pixel, sum, 4)
BOXSUM_LINKED_CHANNELS(u8, u32)
BOXSUM_LINKED_CHANNELS(f32, f32)
BOXSUM_LINKED_CHANNELS(f64, f64)
#undef BOXSUM_LINKED_CHANNELS
#undef BOXSUM_LINKED_TILES

#define BOXSUM_LINKED_OUTWARDS(pixel, sum) \
    extern template tile_launch launch_outwards<pixel, sum>(const sat_geometry&, const device_limits&, int);
BOXSUM_LINKED_OUTWARDS(u8, u32)
BOXSUM_LINKED_OUTWARDS(f32, f32)
BOXSUM_LINKED_OUTWARDS(squared<f32>, f32)
#undef BOXSUM_LINKED_OUTWARDS

#define BOXSUM_LINKED_SQUARES(pixel, sum, squares)                                                                 \
    extern template tile_launch launch_with_squares<pixel, sum, squares>(const sat_geometry&, const sat_geometry&, \
                                                                         bool, const device_limits&);
BOXSUM_LINKED_SQUARES(u8, u32, u32)
BOXSUM_LINKED_SQUARES(u8, u32, u64)
BOXSUM_LINKED_SQUARES(f32, f32, f32)
#undef BOXSUM_LINKED_SQUARES

#define BOXSUM_LINKED_KERNEL(pixel, sum, ...)                                      \
    extern template tile_launch launch_with<pixel, sum, tile_kernel{__VA_ARGS__}>( \
        const sat_geometry&, const device_limits&, int, const sat_geometry*);
BOXSUM_LINKED_KERNEL(u8, u32, tile_load::box, tile_store::anywhere, 3, 2)
BOXSUM_LINKED_KERNEL(u8, u32, tile_load::box, tile_store::anywhere, 4, 2)
BOXSUM_LINKED_KERNEL(u8, u32, tile_load::box, tile_store::whole_sectors)
#undef BOXSUM_LINKED_KERNEL

}  // namespace boxsum::cuda
