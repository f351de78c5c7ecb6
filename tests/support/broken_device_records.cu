#include "cuda/device/ptx.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/workspace.hpp"
#include "support/broken_device_records.hpp"

#include <cstdint>

namespace boxsum::test {
namespace {

enum class fault { none, early_status, dropped_carry, wrong_epoch, block_index };

constexpr int tile = 32;

/// {epoch, value}: status and value travel in one access, so neither is seen without the other.
using tagged_word = unsigned long long;

__device__ void store_word(tagged_word* to, std::uint32_t epoch, std::uint32_t value) {
    cuda::store_relaxed(to, (tagged_word{epoch} << 32) | value);
}

template <fault F>
__device__ void publish(tagged_word* to, std::uint32_t epoch, std::uint32_t value) {
    if constexpr (F == fault::early_status) {
        store_word(to, epoch, 0);  // "ready", but the value comes later
        __nanosleep(20000);
    }
    store_word(to, epoch, value);
}

template <fault F>
__device__ std::uint32_t wait_for(const tagged_word* from, std::uint32_t epoch) {
    for (;;) {
        const tagged_word word = cuda::load_relaxed(from);
        const auto seen = static_cast<std::uint32_t>(word >> 32);
        if (F == fault::wrong_epoch ? seen != 0 : seen == epoch) return static_cast<std::uint32_t>(word);
        __nanosleep(100);
    }
}

/// A block is a warp and computes one tile; lane j owns column j, and row j of the look-back to the left. Word (tile,
/// j) of `rows` is the sum of row j of the tile and of all to its left; of `columns` the finished table at the tile's
/// last row.
template <fault F>
__global__ void look_back_kernel(const std::uint8_t* image, std::int64_t image_stride, std::uint32_t* table,
                                 std::int64_t table_stride, std::int64_t height, std::int64_t width,
                                 workspace_header* header, tagged_word* rows, tagged_word* columns) {
    const int lane = static_cast<int>(threadIdx.x);
    const std::int64_t tiles_across = (width + tile - 1) / tile, tiles = gridDim.x;
    const std::uint32_t epoch = *static_cast<volatile std::uint32_t*>(&header->epoch) + 1;
    std::uint32_t ticket = 0;
    if (lane == 0) ticket = atomicAdd(&header->ticket, 1u);
    ticket = __shfl_sync(~0u, ticket, 0);
    const std::int64_t mine = F == fault::block_index ? tiles - 1 - std::int64_t{blockIdx.x} : std::int64_t{ticket};
    const std::int64_t top = mine / tiles_across * tile, left = mine % tiles_across * tile;

    __shared__ std::uint32_t pixels[tile][tile + 1];
    for (int r = 0; r < tile; ++r) {
        const bool inside = top + r < height && left + lane < width;
        pixels[r][lane] = inside ? image[(top + r) * image_stride + left + lane] : 0;
    }
    __syncwarp();
    std::uint32_t row_sum = 0;  // of row `lane`; its prefixes replace the pixels
    for (int c = 0; c < tile; ++c) pixels[lane][c] = row_sum += pixels[lane][c];
    const std::uint32_t from_left = left == 0 ? 0 : wait_for<F>(&rows[(mine - 1) * tile + lane], epoch);
    publish<F>(&rows[mine * tile + lane], epoch, from_left + row_sum);

    std::uint32_t sum = top == 0 ? 0 : wait_for<F>(&columns[(mine - tiles_across) * tile + lane], epoch);
    if (F == fault::dropped_carry && lane == 31) sum = 0;
    __syncwarp();
    for (int r = 0; r < tile; ++r) {
        sum += __shfl_sync(~0u, from_left, r) + pixels[r][lane];
        if (top + r < height && left + lane < width)
            *reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(table) + (top + r) * table_stride +
                                              (left + lane) * 4) = sum;
    }
    publish<F>(&columns[mine * tile + lane], epoch, sum);

    // The last block leaves the header ready for the next call. Nobody reads it before this launch has ended.
    if (lane == 0 && atomicAdd(&header->finished, 1u) == static_cast<std::uint32_t>(tiles - 1)) {
        header->ticket = 0;
        header->finished = 0;
        header->epoch = epoch;
    }
}

std::int64_t tiles_of(const problem& p) {
    return ((p.image.rows + tile - 1) / tile) * ((p.image.cols + tile - 1) / tile);
}

support supports(const problem& p, const parameter_values&) {
    const bool ok = p.types() == type_pair{dtype::u8, dtype::u32} && !p.squares && !p.in_place &&
                    p.form == table_layout::inclusive && p.image.planes == 1 && p.image.channels == 1;
    return {ok, "8u32u, inclusive, one plane and channel only"};
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    return static_cast<std::size_t>(tiles_of(p)) * 2 * tile * sizeof(tagged_word);
}

template <fault F>
void enqueue(const problem& p, const buffers& memory, const execution& how) {
    auto* const rows = static_cast<tagged_word*>(how.workspace);
    cuda::launch(look_back_kernel<F>, {.grid = static_cast<unsigned>(tiles_of(p)), .block = tile}, how.stream,
                 static_cast<const std::uint8_t*>(memory.image), p.image.row_stride,
                 static_cast<std::uint32_t*>(memory.table), p.table.row_stride, p.image.rows, p.image.cols, how.header,
                 rows, rows + tiles_of(p) * tile);
}

template <fault F>
constexpr algorithm_record make(std::string_view name) {
    algorithm_record record;
    record.info.name = name;
    record.info.title = "a small look-back kernel for tests";
    record.info.paper = "none";
    record.info.where = backend::cuda;
    record.supports = supports;
    record.workspace_bytes = workspace_bytes;
    record.enqueue = enqueue<F>;
    record.leaves = workspace_content::tagged;
    record.addition_depth = serial_addition_depth;
    return record;
}

}  // namespace

const algorithm_record sound_look_back_record = make<fault::none>("sound-look-back");
const algorithm_record early_status_record = make<fault::early_status>("early-status");
const algorithm_record dropped_carry_record = make<fault::dropped_carry>("dropped-carry");
const algorithm_record wrong_epoch_record = make<fault::wrong_epoch>("wrong-epoch");
const algorithm_record block_index_record = make<fault::block_index>("block-index");

}  // namespace boxsum::test
