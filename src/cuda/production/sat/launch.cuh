#pragma once

#include "cuda/production/sat/kernel.cuh"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/types.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>

/// Launches of the tile pipeline of the record `fast`. kernels.cu.in instantiates the functions at the end.
namespace boxsum::cuda {

/// A table that is nothing but its border has a tile, too, whose pixels do not count. And there are extents and strides
/// that a tensor map cannot have.
inline image_maps<1> box_maps(const sat_geometry& g, const tile_plan& plan, int pixel_bytes, int tile_cols,
                              const device_limits& limits) {
    image_maps<1> maps{};
    maps.valid = limits.copy_engine &&
                 common_alignment({address_of(g.image), g.image_row_stride, g.image_plane_stride}) == 16 &&
                 plan.rows > 0 && plan.cols > 0 &&
                 encode_tensor_map(maps.of_phase[0], pixel_bytes, g.image, g.planes, plan.rows, plan.cols,
                                   g.image_row_stride, g.image_plane_stride, tile_shape<float>::rows, tile_cols);
    return maps;
}

/// The same with the pixels beside the tiles.
inline image_maps<1, true> box_maps_with_beside(const sat_geometry& g, const tile_plan& plan, int pixel_bytes,
                                                int tile_cols, const device_limits& limits) {
    image_maps<1, true> maps{box_maps(g, plan, pixel_bytes, tile_cols, limits), {}};
    maps.valid = maps.valid &&
                 encode_tensor_map(maps.beside, pixel_bytes, g.image, g.planes, plan.rows, plan.cols,
                                   g.image_row_stride, g.image_plane_stride, tile_shape<float>::rows, 16 / pixel_bytes);
    return maps;
}

/// Of rows that start anywhere. Planes have to start alike.
template <int PixelBytes>
image_maps<phases_of(tile_load::rows, PixelBytes)> phase_maps(const sat_geometry& g, const tile_plan& plan,
                                                              int tile_cols, const device_limits& limits) {
    constexpr int phases = phases_of(tile_load::rows, PixelBytes);
    image_maps<phases> maps{};
    maps.valid = limits.copy_engine && rows_in_boxes(PixelBytes) && plan.rows > 0 && plan.cols > 0 &&
                 common_alignment({g.planes > 1 ? g.image_plane_stride : 0}) == 16;
    for (int phase = 0; phase < phases && maps.valid; ++phase) {
        // A phase without rows has the map of the first one: what its boxes bring is outside the image.
        const int first = phase < plan.rows ? phase : 0;
        const std::byte* const row = plan.image + first * plan.image_row_stride;
        const auto skip = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row) % 16);
        maps.valid = encode_tensor_map(maps.of_phase[phase], PixelBytes, row - skip, g.planes,
                                       (plan.rows - first + phases - 1) / phases, plan.cols + skip / PixelBytes,
                                       phases * plan.image_row_stride, plan.image_plane_stride,
                                       tile_shape<float>::rows / phases, tile_cols + 16 / PixelBytes);
    }
    return maps;
}

/// Tensor maps of an image where it was when a launch ran last. A list of runs on the same memory encodes them once.
class map_cache {
  public:
    /// Those of this image, which make() makes.
    template <typename Make>
    auto maps_of(const void* image, Make make) {
        using maps = decltype(make());
        static_assert(sizeof(maps) <= sizeof bytes_ && std::is_trivially_copyable_v<maps>);
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return make();  // another thread is here: not worth a wait
        if (!filled_ || image != image_) {
            const maps made = make();
            std::memcpy(bytes_, &made, sizeof made);
            image_ = image;
            filled_ = true;
        }
        maps cached;
        std::memcpy(&cached, bytes_, sizeof cached);
        return cached;
    }

  private:
    std::mutex mutex_;
    bool filled_ = false;
    const void* image_ = nullptr;
    alignas(CUtensorMap) std::byte bytes_[sizeof(image_maps<8>)];
};

/// A kernel and all that it is launched with but memory. Its pointers are those of one place for which the kernel was
/// chosen.
struct tile_launch {
    sat_geometry g;
    tile_plan plan;
    device_limits limits;
    unsigned grid = 0;
    /// That got its shared memory. `start` launches this one: every translation unit may have a kernel of its own of
    /// one template (nvcc 13 gives their stubs internal linkage), and the linker takes functions from any of them.
    void (*kernel)() = nullptr;
    /// Null: there is no kernel for this place.
    void (*start)(const tile_launch&, const table_memory&, const execution&, map_cache&) = nullptr;

    explicit operator bool() const { return start != nullptr; }
};

/// The plan where image and tables start elsewhere, at places for which the same kernel is chosen.
inline tile_plan plan_at(const tile_launch& launch, const table_memory& memory, tile_types types) {
    const auto [pixel_bytes, sum_bytes, squares_bytes] = types;
    tile_plan p = launch.plan;
    p.image = static_cast<const std::byte*>(memory.image);
    if (p.rows > 0 && p.cols > 0) p.image_end = p.image + (launch.plan.image_end - launch.plan.image);
    const auto first_sum = [&](void* table, std::int64_t row_stride, int bytes) {
        return static_cast<std::byte*>(table) + launch.g.origin * (row_stride + std::int64_t{p.channels} * bytes);
    };
    p.sums = first_sum(memory.table, p.row_stride, sum_bytes);
    if (memory.squares != nullptr) p.squares = first_sum(memory.squares, p.squares_row_stride, squares_bytes);
    p.carries.place_at(memory.carries, std::int64_t{p.channels} * sum_bytes);
    p.squares_carries.place_at(memory.squares_carries, std::int64_t{p.channels} * squares_bytes);
    p.has_above = p.carries.above != nullptr || p.squares_carries.above != nullptr;
    p.has_left = p.carries.adds_to_rows() || p.squares_carries.adds_to_rows();
    p.is_part = p.has_above || p.has_left;
    return p;
}

/// For images that start at `image`, with the launch's strides.
template <tile_kernel K, int PixelBytes>
auto maps_for(const tile_launch& launch, const tile_plan& plan, int tile_cols) {
    sat_geometry g = launch.g;
    g.image = plan.image;
    if constexpr (K.store == tile_store::whole_sectors)
        return box_maps_with_beside(g, plan, PixelBytes, tile_cols, launch.limits);
    else if constexpr (K.load == tile_load::box)
        return box_maps(g, plan, PixelBytes, tile_cols, launch.limits);
    else
        return phase_maps<PixelBytes>(g, plan, tile_cols, launch.limits);
}

/// Bytes of the tiles' pixels in shared memory; 128 more, for the kernel aligns the slots itself.
template <typename Block>
inline constexpr int dynamic_bytes_of = Block::tile_slots* static_cast<int>(Block::slot_bytes) + 128;

template <typename Pixel, typename Sum, tile_kernel K>
void start_tiles(const tile_launch& l, const table_memory& memory, const execution& how, map_cache& cache) {
    using tile = tile_shape<Sum>;
    const tile_plan plan = plan_at(l, memory, types_of<Pixel, Sum>);
    const auto maps = cache.maps_of(memory.image, [&] { return maps_for<K, sizeof(Pixel)>(l, plan, tile::cols); });
    if (K.load == tile_load::box && !maps.valid)
        throw std::logic_error("image: the driver has no tensor map for it, but had one when the table was prepared");
    workspace_slots slots(how.workspace);
    const exchange_words words(slots, plan, K.columns, K.channels * tile::row_words, K.panels * tile::col_words);
    if (slots.bytes() > how.workspace_bytes)
        throw std::logic_error("words take " + std::to_string(slots.bytes()) + " bytes of a workspace of " +
                               std::to_string(how.workspace_bytes));
    using block = tile_block<Pixel, Sum, K>;
    using kernel = decltype(sat_tile_kernel_of<Pixel, Sum, K>());
    const plan_of<Sum, K.outwards> plan_of_kernel = [&] {
        if constexpr (K.outwards)
            return outward_plan<Sum>(plan, l.g);
        else
            return plan;
    }();
    launch_allowed(reinterpret_cast<kernel>(l.kernel),
                   {.grid = l.grid,
                    .block = tile::threads,
                    .shared_bytes = dynamic_bytes_of<block>,
                    .overlaps_predecessor = l.limits.launches_overlap()},
                   how.stream, plan_of_kernel, maps, words, how.header, static_cast<std::byte*>(how.workspace),
                   how.workspace_bytes);
}

/// With this kernel; none if it does not take the rows of image and tables. `tiles_in_flight`: 0 for as many as the
/// device has room for.
template <typename Pixel, typename Sum, tile_kernel K>
tile_launch launch_with(const sat_geometry& g, const device_limits& limits, int tiles_in_flight = 0,
                        const sat_geometry* squares = nullptr) {
    constexpr tile_types types = types_of<Pixel, Sum>;
    if (tiles_in_flight == 0) tiles_in_flight = tiles_in_flight_of(limits.multiprocessors, types, K);
    tile_launch launch{g, make_tile_plan(g, types, K, tiles_in_flight, squares), limits};
    const tile_plan& plan = launch.plan;
    if (K.store == tile_store::straight && !plan.rows_aligned) return {};
    if (K.store == tile_store::one_behind && !plan.one_behind) return {};
    if (K.store == tile_store::whole_sectors && (plan.rows_aligned || plan.one_behind)) return {};
    if constexpr (K.load == tile_load::box)
        if (!maps_for<K, sizeof(Pixel)>(launch, plan, tile_shape<Sum>::cols).valid) return {};

    const auto kernel = sat_tile_kernel_of<Pixel, Sum, K>();
    constexpr int shared_bytes = dynamic_bytes_of<tile_block<Pixel, Sum, K>>;
    allow_shared_bytes(kernel, shared_bytes);
    int resident = 0;
    BOXSUM_CUDA_TRY(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, tile_shape<Sum>::threads, shared_bytes));
    launch.grid = std::min(static_cast<unsigned>(std::max(1, resident) * limits.multiprocessors), plan.tiles);
    launch.kernel = reinterpret_cast<void (*)()>(kernel);
    launch.start = start_tiles<Pixel, Sum, K>;
    return launch;
}

/// With the best kernel for the rows of image and table. `chain`: whether a chain pays, where there is a kernel for it;
/// `Channels`: those of the geometry.
template <typename Pixel, typename Sum, int Channels = 1>
tile_launch launch_of_tiles(const sat_geometry& g, const device_limits& limits, bool chain, int tiles_in_flight = 0) {
    using enum tile_load;
    using enum tile_store;
    tile_launch launch;
    const auto try_kernel = [&]<tile_kernel K>(bool pays) {
        if constexpr (is_compiled<Pixel, Sum>(K))
            if (pays && !launch) launch = launch_with<Pixel, Sum, K>(g, limits, tiles_in_flight);
    };
    constexpr tile_store in_channels = Channels == 1 ? straight : anywhere;
    try_kernel.template operator()<tile_kernel{box, in_channels, Channels, 2}>(
        panels_pay_for(g, sizeof(Sum), limits.multiprocessors));
    if constexpr (Channels == 1) {
        try_kernel.template operator()<tile_kernel{.columns = tile_columns::chain}>(chain);
        try_kernel.template operator()<tile_kernel{}>(true);
        try_kernel.template operator()<tile_kernel{box, one_behind}>(true);
        try_kernel.template operator()<tile_kernel{box, whole_sectors}>(
            whole_sectors_pay(g.planes * g.rows * g.cols, sizeof(Sum)));
    }
    try_kernel.template operator()<tile_kernel{box, anywhere, Channels}>(true);
    try_kernel.template operator()<tile_kernel{rows, anywhere, Channels}>(true);
    return launch;
}

/// f<Channels>() for this many, which is more than one.
template <typename F>
auto visit_channels(int channels, F&& f) {
    if (channels == 2) return f.template operator()<2>();
    if (channels == 3) return f.template operator()<3>();
    return f.template operator()<4>();
}

/// Sums and squares at once; none if there is no kernel for the rows of the image or of the tables. `panels`: whether
/// two of them pay.
template <typename Pixel, typename Sum, typename Squares>
tile_launch launch_with_squares(const sat_geometry& sums, const sat_geometry& squares, bool panels,
                                const device_limits& limits) {
    using pixel = with_square<Pixel>;
    using both = sum_and_squares<Sum, Squares>;
    if constexpr (has_panels_of_both<Pixel, Sum, Squares>)
        if (panels)
            if (const auto launch = launch_with<pixel, both, tile_kernel{.panels = 2}>(sums, limits, 0, &squares))
                return launch;
    if (const auto launch = launch_with<pixel, both, tile_kernel{}>(sums, limits, 0, &squares)) return launch;
    return launch_with<pixel, both, tile_kernel{.store = tile_store::one_behind}>(sums, limits, 0, &squares);
}

/// The launches of a table, one for each kind of place where image and table may start: which kernel there is follows
/// from the problem and that.
class prepared_tiles final : public prepared_table {
  public:
    /// `choose`: the launch for tables at the geometries' pointers; `squares` where it computes both.
    using chooser = tile_launch (*)(const sat_geometry& sums, const sat_geometry& squares, const device_limits&);

    prepared_tiles(const sat_geometry& sums, int sum_bytes, const device_limits& limits, chooser choose)
        : prepared_tiles(sums, sum_bytes, {}, 0, limits, choose) {}
    prepared_tiles(const sat_geometry& sums, int sum_bytes, const sat_geometry& squares, int squares_bytes,
                   const device_limits& limits, chooser choose)
        : sums_(sums),
          squares_(squares),
          sum_bytes_(sum_bytes),
          squares_bytes_(squares_bytes),
          limits_(limits),
          choose_(choose) {}

    bool run(const table_memory& memory, const execution& how) const override {
        const ready& at = ready_for(memory);
        if (!at.launch) return false;
        at.launch.start(at.launch, memory, how, at.maps);
        return true;
    }

  private:
    struct ready {
        std::once_flag once;
        tile_launch launch;
        mutable map_cache maps;
    };

    /// 0: first sums are at multiples of 16 bytes, 1: one sum behind, 2: elsewhere.
    static int place_of(const sat_geometry& g, void* table, int bytes) {
        sat_geometry at = g;
        at.table = table;
        const std::int64_t first = address_of(at.first_sum(bytes));
        return first % 16 == 0 ? 0 : (first - bytes) % 16 == 0 ? 1 : 2;
    }

    const ready& ready_for(const table_memory& memory) const {
        int place = place_of(sums_, memory.table, sum_bytes_);
        if (squares_bytes_ > 0 && place_of(squares_, memory.squares, squares_bytes_) != place) place = 2;
        ready& at = ready_[address_of(memory.image) % 16 == 0 ? 0 : 1][place];
        std::call_once(at.once, [&] {
            sat_geometry sums = sums_, squares = squares_;
            sums.image = squares.image = memory.image;
            sums.table = memory.table;
            squares.table = memory.squares;
            at.launch = choose_(sums, squares, limits_);
        });
        return at;
    }

    sat_geometry sums_, squares_;
    int sum_bytes_, squares_bytes_;
    device_limits limits_;
    chooser choose_;
    mutable ready ready_[2][3];
};

template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles_with_squares(const sat_geometry& sums, const sat_geometry& squares,
                                                                 squares_triple types, const device_limits& limits) {
    std::unique_ptr<const prepared_table> prepared;
    visit_squares_triple(cuda_squares_triples{}, types, [&]<typename Input, typename Table, typename Squares>() {
        constexpr squares_triple compiled{dtype_of<Input>, dtype_of<Table>, dtype_of<Squares>};
        if constexpr (std::is_same_v<Input, Pixel> && kernels_have_squares(compiled))
            prepared = std::make_unique<prepared_tiles>(
                sums, int{sizeof(Table)}, squares, int{sizeof(Squares)}, limits,
                [](const sat_geometry& sums, const sat_geometry& squares, const device_limits& limits) {
                    const bool panels = panels_of_both_pay_for(squares, limits.multiprocessors);
                    return launch_with_squares<Pixel, sum_type<Table>, sum_type<Squares>>(sums, squares, panels,
                                                                                          limits);
                });
    });
    return prepared;
}

template <typename Pixel, typename Sum>
tile_launch launch_of_table(const sat_geometry& g, const sat_geometry&, const device_limits& limits) {
    return launch_of_tiles<Pixel, Sum>(g, limits, chain_pays(g.cols, types_of<Pixel, Sum>));
}

/// Of one channel that grows from an origin: none where rows of the image, or the origin in them, are not at multiples
/// of 16 bytes, where boxes begin. What is left of the origin is a multiple of 16 bytes of the table then, too.
template <typename Pixel, typename Sum>
tile_launch launch_outwards(const sat_geometry& g, const device_limits& limits, int tiles_in_flight = 0) {
    using enum tile_store;
    if (g.left * sizeof(Pixel) % 16 != 0) return {};
    tile_launch launch;
    const auto try_kernel = [&]<tile_store Store>() {
        if (!launch)
            launch = launch_with<Pixel, Sum, tile_kernel{.store = Store, .outwards = true}>(g, limits, tiles_in_flight);
    };
    if (g.left == 0) try_kernel.template operator()<straight>();
    try_kernel.template operator()<one_behind>();
    try_kernel.template operator()<anywhere>();
    return launch;
}

/// Several channels have fewer pixels a tile, so a chain would have more hops for the same pixels: always groups.
template <typename Pixel, typename Sum>
tile_launch launch_of_channels(const sat_geometry& g, const sat_geometry&, const device_limits& limits) {
    return visit_channels(g.channels,
                          [&]<int Channels>() { return launch_of_tiles<Pixel, Sum, Channels>(g, limits, false); });
}

template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles(const sat_geometry& g, dtype sum, bool square,
                                                    const device_limits& limits) {
    std::unique_ptr<const prepared_table> prepared;
    visit_kernel_types<Pixel>(sum, square, [&]<typename Kind, typename Sum>() {
        prepared = std::make_unique<prepared_tiles>(g, int{sizeof(Sum)}, limits, launch_of_table<Kind, Sum>);
    });
    return prepared;
}

template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_outwards(const sat_geometry& g, dtype sum, bool square,
                                                       const device_limits& limits) {
    std::unique_ptr<const prepared_table> prepared;
    visit_kernel_types<Pixel>(sum, square, [&]<typename Kind, typename Sum>() {
        if constexpr (has_outwards<Kind, Sum>)
            prepared = std::make_unique<prepared_tiles>(
                g, int{sizeof(Sum)}, limits,
                [](const sat_geometry& table, const sat_geometry&, const device_limits& device) {
                    return launch_outwards<Kind, Sum>(table, device);
                });
    });
    return prepared;
}

template <typename Pixel>
std::unique_ptr<const prepared_table> prepare_tiles_of_channels(const sat_geometry& g, dtype sum, bool square,
                                                                const device_limits& limits) {
    std::unique_ptr<const prepared_table> prepared;
    visit_kernel_types<Pixel>(sum, square, [&]<typename Kind, typename Sum>() {
        prepared = std::make_unique<prepared_tiles>(g, int{sizeof(Sum)}, limits, launch_of_channels<Kind, Sum>);
    });
    return prepared;
}

}  // namespace boxsum::cuda
