// The integral histogram on the CPU: vector kernels, and threads over bins.
//
// For each band of rows, pixels become bin numbers once, in a buffer that stays in the second-level cache; then every
// bin's part of the tensor is made from that buffer (bin_kernels.hpp). Threads take bins from a counter and share
// nothing but the bin numbers, so the result does not depend on who takes which.
//
//     band of rows -> bin numbers (1 or 2 bytes a pixel, shared) -> bin 0: rows of its table    thread 0
//                                                                -> bin 1: rows of its table    thread 1
//                                                                -> bin 2: ...                  whoever is free
//
// A padded table is the inclusive one of an image with one more row and column of pixels that no bin counts.

#include "core/visit_histogram.hpp"
#include "cpu/histogram/bin_kernels.hpp"
#include "cpu/histogram/records.hpp"
#include "cpu/host.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

namespace boxsum {
namespace {

using cpu::bin_function;
using cpu::bin_rows;
using cpu::histogram_kernels;
using cpu::index_function;
using cpu::index_unit;

constexpr std::array<std::string_view, 4> instruction_set_values{"auto", "scalar", "avx2", "avx512"};
constexpr std::array<parameter, 1> parameters{
    {{"isa", "instruction set of the kernels; auto is the best that the machine has", instruction_set_values}}};

/// Bytes of a band's bin numbers and weights: half of a second-level cache of 1 MB, with room for the table rows.
constexpr std::int64_t band_bytes = 384 << 10;
constexpr std::int64_t most_threads = 256;

/// Null where the machine lacks the instruction set or the build has no kernels for it.
const histogram_kernels* find_kernels(std::string_view name) {
#if defined(__x86_64__)
    const unsigned has = cpu::machine_features();
    if ((has & cpu::has_avx512_bits) != 0 && (name == "auto" || name == "avx512"))
        return &cpu::avx512_histogram_kernels;
    if ((has & cpu::has_avx2) != 0 && (name == "auto" || name == "avx2")) return &cpu::avx2_histogram_kernels;
#endif
    return name == "auto" || name == "scalar" ? &cpu::scalar_histogram_kernels : nullptr;
}

const histogram_kernels* kernels_of(const parameter_values& values) {
    return find_kernels(instruction_set_values[values.choice[0]]);
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// How pixels of this problem become bin numbers.
class indexer {
  public:
    indexer(const problem& p, const histogram_kernels& set, const std::uint16_t* lookup)
        : wide_(p.histogram->bins > cpu::no_bin_8) {
        const histogram_problem& h = *p.histogram;
        if (p.image.type == dtype::u8) {  // 256 values: any rule is a table
            run_ = set.lookup_u8[wide_];
            if (wide_)
                make_table<std::uint16_t>(256, h, lookup);
            else
                make_table<std::uint8_t>(256, h, lookup);
        } else if (h.rule == bin_rule::lookup) {
            run_ = set.lookup_u16[wide_];
            if (wide_)
                make_table<std::uint16_t>(65536, h, lookup);
            else
                make_table<std::uint8_t>(65536, h, lookup);
        } else {
            const cpu::pixel_kind kind = p.image.type == dtype::u16   ? cpu::pixel_kind::u16
                                         : p.image.type == dtype::s32 ? cpu::pixel_kind::s32
                                                                      : cpu::pixel_kind::f32;
            run_ = set.uniform[static_cast<std::size_t>(kind)][wide_];
            uniform_ = {h.lo, h.hi, static_cast<double>(h.bins) / (h.hi - h.lo), static_cast<std::int32_t>(h.bins),
                        h.outside == out_of_range::clamped};
        }
    }

    /// Bin numbers have 16 bits instead of 8.
    bool wide() const { return wide_; }
    std::int64_t index_bytes() const { return wide_ ? 2 : 1; }

    void run(const void* pixels, void* indices, std::int64_t n) const {
        run_(pixels, indices, n, table_.size() == 0 ? static_cast<const void*>(&uniform_) : table_.data());
    }

  private:
    template <typename Index>
    void make_table(int values, const histogram_problem& h, const std::uint16_t* lookup) {
        table_ = memory_pool::shared().acquire(static_cast<std::size_t>(values) * sizeof(Index));
        for (int v = 0; v < values; ++v) {
            const auto bin = static_cast<Index>(bin_of_pixel(h, lookup, v));  // -1 becomes all ones: no_bin
            std::memcpy(static_cast<std::byte*>(table_.data()) + static_cast<std::size_t>(v) * sizeof(Index), &bin,
                        sizeof(Index));
        }
    }

    bool wide_;
    index_function run_ = nullptr;
    host_buffer table_;
    cpu::uniform_bins uniform_{};
};

/// One plane's computation, shared by all threads; read only but for `next_bin`.
struct job {
    const problem* p = nullptr;
    const indexer* pixels = nullptr;
    bin_function fill = nullptr;
    bool streaming = false;

    const std::byte* image = nullptr;
    const std::byte* weights = nullptr;
    std::byte* table = nullptr;  ///< bin 0, first row that is not of zeros

    std::int64_t lead = 0;          ///< columns of zeros before the first pixel: 0 or 1
    std::int64_t index_stride = 0;  ///< entries
    std::int64_t band_rows = 0;
    std::byte* band_indices = nullptr;
    float* band_weights = nullptr;
    std::byte* running = nullptr;  ///< streaming: a row for each thread
    std::int64_t running_bytes = 0;

    std::int64_t first_row = 0;  ///< of the band
    std::int64_t rows = 0;
    std::atomic<std::int64_t> next_bin{0};
};

/// Rows of the band that belong to this thread: bin numbers with `lead` in front and no_bin behind, and weights alike.
void index_band(void* context, int thread, int threads) {
    const job& j = *static_cast<const job*>(context);
    const view_shape& image = j.p->image;
    const std::int64_t bytes = j.pixels->index_bytes();
    for (std::int64_t r = j.rows * thread / threads; r < j.rows * (thread + 1) / threads; ++r) {
        std::byte* const row = j.band_indices + r * j.index_stride * bytes;
        std::memset(row, 0xff, static_cast<std::size_t>(j.lead * bytes));
        j.pixels->run(j.image + (j.first_row + r) * image.row_stride, row + j.lead * bytes, image.cols);
        const std::int64_t used = j.lead + image.cols;
        std::memset(row + used * bytes, 0xff, static_cast<std::size_t>((j.index_stride - used) * bytes));
        if (j.weights == nullptr) continue;
        float* const weights = j.band_weights + r * j.index_stride;
        std::fill_n(weights, j.lead, 0.0f);
        std::memcpy(weights + j.lead, j.weights + (j.first_row + r) * j.p->histogram->weights->row_stride,
                    static_cast<std::size_t>(image.cols) * sizeof(float));
        std::fill(weights + used, weights + j.index_stride, 0.0f);
    }
}

void fill_band(void* context, int thread, int) {
    job& j = *static_cast<job*>(context);
    const view_shape& table = j.p->table;
    const auto row_bytes = static_cast<std::size_t>(table.cols) * size_of(table.type);
    std::byte* const running = j.running + thread * j.running_bytes;
    for (std::int64_t bin = j.next_bin++; bin < j.p->histogram->bins; bin = j.next_bin++) {
        std::byte* const first = j.table + bin * j.p->histogram->bin_stride + j.first_row * table.row_stride;
        if (j.first_row == 0 && j.lead == 1) std::memset(first - table.row_stride, 0, row_bytes);
        bin_rows b{};
        b.indices = j.band_indices;
        b.index_stride = j.index_stride;
        b.weights = j.weights == nullptr ? nullptr : j.band_weights;
        b.bin = static_cast<std::uint32_t>(bin);
        b.table = first;
        b.table_stride = table.row_stride;
        b.above = j.first_row == 0 ? nullptr : first - table.row_stride;
        b.rows = j.rows;
        b.cols = table.cols;
        if (j.streaming) {
            b.running = running;
            if (j.first_row == 0)
                std::memset(running, 0, row_bytes);
            else
                std::memcpy(running, b.above, row_bytes);
        }
        j.fill(b);
    }
}

std::int64_t tensor_bytes(const problem& p) {
    return p.table.planes * p.histogram->bins * p.table.rows * p.table.cols *
           static_cast<std::int64_t>(size_of(p.table.type));
}

bool rows_aligned(const problem& p, const void* tensor, std::size_t unit) {
    const auto is_multiple = [&](std::uint64_t value) { return value % unit == 0; };
    return is_multiple(reinterpret_cast<std::uintptr_t>(tensor)) &&
           is_multiple(static_cast<std::uint64_t>(p.table.row_stride)) &&
           (p.histogram->bins == 1 || is_multiple(static_cast<std::uint64_t>(p.histogram->bin_stride))) &&
           (p.table.planes == 1 || is_multiple(static_cast<std::uint64_t>(p.table.plane_stride)));
}

std::size_t entry_position(dtype type) {
    return static_cast<std::size_t>(type == dtype::u32   ? cpu::entry_kind::u32
                                    : type == dtype::u16 ? cpu::entry_kind::u16
                                                         : cpu::entry_kind::f32);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const histogram_kernels& set = *kernels_of(how.parameters);
    const indexer pixels(p, set, memory.lookup);
    const std::size_t entry = entry_position(p.table.type);
    const bool aligned = set.streaming_alignment > 0 && rows_aligned(p, memory.table, set.streaming_alignment);

    job j;
    j.p = &p;
    j.pixels = &pixels;
    j.streaming = aligned && cpu::choose_store(tensor_bytes(p), cpu::most_threads(tensor_bytes(p), how.threads),
                                               how.store) == store_policy::streaming;
    j.fill = (j.streaming ? set.streaming : set.cached)[entry][pixels.wide()];
    j.lead = first_pixel_offset(p);
    j.index_stride = round_up(p.table.cols, index_unit);
    const std::int64_t pixel_bytes = pixels.index_bytes() + (p.histogram->weights ? 4 : 0);
    constexpr std::int64_t rows_per_pass = 4;
    j.band_rows = std::clamp(band_bytes / (j.index_stride * pixel_bytes) / rows_per_pass * rows_per_pass,
                             std::min(rows_per_pass, p.image.rows), p.image.rows);
    const int threads = static_cast<int>(
        std::min({std::int64_t{cpu::choose_threads(tensor_bytes(p), how.threads)}, p.histogram->bins, most_threads}));

    memory_pool& pool = memory_pool::shared();
    const std::int64_t band_entries = j.band_rows * j.index_stride;
    const host_buffer indices = pool.acquire(static_cast<std::size_t>(band_entries * pixels.index_bytes()));
    const host_buffer weights =
        pool.acquire(p.histogram->weights ? static_cast<std::size_t>(band_entries) * sizeof(float) : 0);
    j.running_bytes = j.streaming ? j.index_stride * static_cast<std::int64_t>(size_of(p.table.type)) : 0;
    const host_buffer running = pool.acquire(static_cast<std::size_t>(j.running_bytes * threads));
    j.band_indices = static_cast<std::byte*>(indices.data());
    j.band_weights = static_cast<float*>(weights.data());
    j.running = static_cast<std::byte*>(running.data());

    for (std::int64_t plane = 0; plane < p.image.planes; ++plane) {
        j.image = static_cast<const std::byte*>(memory.image) + plane * p.image.plane_stride;
        j.weights = p.histogram->weights
                        ? static_cast<const std::byte*>(memory.weights) + plane * p.histogram->weights->plane_stride
                        : nullptr;
        j.table = static_cast<std::byte*>(memory.table) + plane * p.table.plane_stride + j.lead * p.table.row_stride;
        for (j.first_row = 0; j.first_row < p.image.rows; j.first_row += j.rows) {
            j.rows = std::min(j.band_rows, p.image.rows - j.first_row);
            j.next_bin = 0;
            cpu::run_team(threads, index_band, &j);
            cpu::run_team(threads, fill_band, &j);
        }
    }
}

support supports(const problem& p, const parameter_values& values) {
    if (!p.histogram) return {false, "it computes integral histograms"};
    if (kernels_of(values) == nullptr)
        return {false, "this machine or build has no " + std::string(instruction_set_values[values.choice[0]])};
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    return {1, static_cast<double>(p.histogram->bins), 0, cpu::most_threads(tensor_bytes(p), 0)};
}

}  // namespace

constinit const algorithm_record cpu_histogram_record{
    .info = {.what = operation::histogram,
             .name = "cpu",
             .title = "masks and vector prefix counts, bins spread over threads",
             .paper = "boxsum",
             .cost = "1 read of the image, 1 write per entry",
             .where = backend::cpu,
             .parameters = parameters},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
