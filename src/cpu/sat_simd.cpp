// The summed area table on the CPU: one read of the image, one write of the table. This file chooses: kernels by types
// and instruction set, threads and stores by size. Two schemes share the work out (wavefront.cpp, bands.cpp).

#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/decision.hpp"
#include "cpu/host.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/part_edges.hpp"
#include "cpu/records.hpp"
#include "cpu/table_job.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using cpu::kernel_id;
using cpu::kernel_set;
using cpu::table_job;
using cpu::table_pass;
using cpu::tile_function;

/// Which kernel makes a table (of sums, or of squares). The narrow kernels scan rows in 32 bits, whatever the table
/// has, and need row sums below 2^31, of which `largest` is the largest term. Beyond that, and where an offset makes
/// pixels what 32 bits do not hold, `beyond` serves, or the scalar set, which scans in the table's type, where there is
/// no wide kernel.
struct kernel_choice {
    dtype input;
    dtype table;
    kernel_id kernel;
    std::int64_t largest = 0;  ///< 0: not narrow
    std::optional<kernel_id> beyond = {};
};

constexpr std::int64_t largest_sum = std::numeric_limits<std::int32_t>::max();

constexpr std::array<kernel_choice, 21> sum_kernels{{
    {dtype::u8, dtype::u32, kernel_id::u8_u32},
    {dtype::u8, dtype::s32, kernel_id::u8_u32},
    {dtype::u8, dtype::f32, kernel_id::u8_f32, 255, kernel_id::u8_f32_wide},
    {dtype::u8, dtype::u64, kernel_id::u8_u64, 255},
    {dtype::u8, dtype::f64, kernel_id::u8_f64, 255},
    {dtype::u16, dtype::u32, kernel_id::u16_u32},
    {dtype::u16, dtype::u64, kernel_id::u16_u64, 65535, kernel_id::u16_u64_wide},
    {dtype::s16, dtype::s32, kernel_id::s16_u32},
    {dtype::s16, dtype::s64, kernel_id::s16_u64, 32768, kernel_id::s16_u64_wide},
    {dtype::u16, dtype::f64, kernel_id::u16_f64, 65535},
    {dtype::s16, dtype::f64, kernel_id::s16_f64, 32768},
    {dtype::u32, dtype::u32, kernel_id::u32_u32},
    {dtype::s32, dtype::s32, kernel_id::u32_u32},
    {dtype::u32, dtype::u64, kernel_id::u32_u64},
    {dtype::s32, dtype::s64, kernel_id::s32_u64},
    {dtype::u64, dtype::u64, kernel_id::u64_u64},
    {dtype::s64, dtype::s64, kernel_id::u64_u64},
    {dtype::f32, dtype::f32, kernel_id::f32_f32},
    {dtype::f32, dtype::f64, kernel_id::f32_f64},
    {dtype::f64, dtype::f64, kernel_id::f64_f64},
    {dtype::f16, dtype::f32, kernel_id::f16_f32},
}};

constexpr std::array<kernel_choice, 11> square_kernels{{
    {dtype::u8, dtype::u32, kernel_id::square_u8_u32},
    {dtype::u8, dtype::s32, kernel_id::square_u8_u32},
    {dtype::u8, dtype::f32, kernel_id::square_u8_f32, 255 * 255, kernel_id::square_u8_f32_wide},
    {dtype::u8, dtype::u64, kernel_id::square_u8_u64, 255 * 255, kernel_id::square_u8_u64_wide},
    {dtype::u8, dtype::f64, kernel_id::square_u8_f64, 255 * 255, kernel_id::square_u8_f64_wide},
    {dtype::u16, dtype::u64, kernel_id::square_u16_u64},
    {dtype::u16, dtype::f64, kernel_id::square_u16_f64},
    {dtype::s16, dtype::f64, kernel_id::square_s16_f64},
    {dtype::f32, dtype::f32, kernel_id::square_f32_f32},
    {dtype::f32, dtype::f64, kernel_id::square_f32_f64},
    {dtype::f64, dtype::f64, kernel_id::square_f64_f64},
}};

constexpr std::size_t dtype_count = static_cast<std::size_t>(dtype::f64) + 1;

/// The place of each pair of types in a list of choices.
struct choice_list {
    std::span<const kernel_choice> choices;
    std::array<std::array<std::int8_t, dtype_count>, dtype_count> place{};

    explicit constexpr choice_list(std::span<const kernel_choice> all) : choices(all) {
        for (auto& places : place) places.fill(-1);
        for (std::size_t i = 0; i < all.size(); ++i) place_of(all[i].input, all[i].table) = static_cast<std::int8_t>(i);
    }
    constexpr std::int8_t& place_of(dtype input, dtype table) {
        return place[static_cast<std::size_t>(input)][static_cast<std::size_t>(table)];
    }
    const kernel_choice* find(dtype input, dtype table) const {
        const std::int8_t i = place[static_cast<std::size_t>(input)][static_cast<std::size_t>(table)];
        return i < 0 ? nullptr : &choices[static_cast<std::size_t>(i)];
    }
};

constexpr choice_list sums_list(sum_kernels), squares_list(square_kernels);

/// Whether row sums fit the kernel, with what the rows take over from left of the image.
bool fits(const kernel_choice& c, const problem& p, const view_shape& table, const void* left_edge) {
    if (c.largest == 0) return true;
    if (!p.form.is_plain()) return false;
    if (p.image.cols > largest_sum / c.largest) return false;
    if (left_edge == nullptr || p.image.channels > 1) return true;  // interleaved kernels scan in the table's type
    const std::int64_t most = largest_sum - p.image.cols * c.largest;
    return cpu::row_sums_within(left_edge, p.image, table.type, is_signed(p.image.type) ? -most : 0, most);
}

const kernel_set::entry& entry_of(const kernel_set& set, const kernel_choice& c, bool fits) {
    const kernel_set& serving = fits || c.beyond ? set : cpu::scalar_kernels;
    return serving.kernels[static_cast<std::size_t>(fits || !c.beyond ? c.kernel : *c.beyond)];
}

/// What is decided before any thread starts.
struct plan {
    const kernel_set* set = nullptr;
    int threads = 1;         ///< at most
    std::int64_t bytes = 0;  ///< of image and tables
    store_policy store = store_policy::cached;
    bool bands = false;  ///< share the work in bands, where they fit
    bool fetch_table = false;
    bool fetch_among_threads = false;  ///< in a wavefront of several
};

std::int64_t view_bytes(const view_shape& s) {
    return s.planes * s.rows * s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
}

constexpr std::int64_t most_threads = 256;

/// Values of the parameters below, by position.
enum parameter_position { isa_position, scheme_position, fetch_position };
enum scheme_value { scheme_auto, scheme_wavefront, scheme_bands };
enum fetch_value { fetch_auto, fetch_on, fetch_off };

store_policy store_of(const kernel_set& set, std::int64_t bytes, int threads, store_policy requested) {
    return set.vector_bytes > 1 ? cpu::choose_store(bytes, threads, requested) : store_policy::cached;
}

plan decide(const problem& p, const kernel_set& set, const execution& how) {
    plan decided;
    decided.set = &set;
    const std::int64_t table_bytes = view_bytes(p.table) + (p.squares ? view_bytes(*p.squares) : 0);
    const std::int64_t bytes = view_bytes(p.image) + table_bytes;
    decided.threads = static_cast<int>(std::min<std::int64_t>(cpu::most_threads(bytes, how.threads), most_threads));
    decided.store = store_of(set, bytes, decided.threads, how.store);
    decided.bytes = bytes;
    const int scheme = how.parameters.choice[scheme_position], fetch = how.parameters.choice[fetch_position];
    decided.bands =
        p.form.is_plain() && (scheme == scheme_bands || (scheme == scheme_auto && bytes <= cpu::most_bytes_in_bands));
    // In small wavefronts the lines that are asked for are often the other core's: 32f32f at 512^2 took 43 us with two
    // threads instead of 34 (Granite Rapids), above 8 MiB it gains 10 %. The byte kernels of shorter vectors are bound
    // by their instructions: AVX2, 1024^2, 248 us instead of 227.
    const bool bound_by_stores = p.image.type != dtype::u8 || set.vector_bytes >= 64;
    decided.fetch_table = fetch == fetch_on || (fetch == fetch_auto && bound_by_stores && cpu::stores_wait_for_lines());
    decided.fetch_among_threads = fetch == fetch_on || bytes >= cpu::most_bytes_in_bands;
    return decided;
}

/// One of the two tables of a call, and what it takes over.
struct output {
    const view_shape& shape;
    void* entries;
    const carry_shapes& carries;
    const carry_data& carry_memory;
    const choice_list& choices;
};

void set_pass(table_pass& result, const kernel_set& set, const problem& p, const output& out, const void* left_edge,
              store_policy store) {
    const view_shape& shape = out.shape;
    const kernel_choice& choice = *out.choices.find(p.image.type, shape.type);
    const bool fitting = fits(choice, p, shape, left_edge);
    const kernel_set::entry* e = &entry_of(set, choice, fitting);
    if (p.image.channels > e->max_channels) e = &entry_of(cpu::scalar_kernels, choice, fitting);
    const bool one = p.image.channels == 1;
    result.run = one ? e->cached : e->interleaved;
    const tile_function streaming = one ? e->streaming : e->interleaved_streaming;
    if (store == store_policy::streaming && streaming != nullptr) result.run = streaming;
    result.add_columns = e->add_columns;
    result.sum_rows = e->sum_rows;
    result.starts_rows = one && e->starts_rows;
    result.sums_in_words = one && choice.largest > 0 && fitting && &set != &cpu::scalar_kernels;
    result.shape = shape;
    result.element = static_cast<std::int64_t>(size_of(shape.type));
    const std::int64_t border_column = p.form.border() * p.image.channels * result.element;
    result.table = static_cast<std::byte*>(out.entries) + p.form.border() * shape.row_stride + border_column;
    result.left_edge = left_edge;
    if (!out.carries.above) return;
    if (p.form.border() > 0) {
        result.above = static_cast<const std::byte*>(out.entries) + border_column;
        result.above_plane_stride = shape.plane_stride;
    } else {
        const std::int64_t corner = out.carries.corners(p.image.cols) * p.image.channels * result.element;
        result.above = static_cast<const std::byte*>(out.carry_memory.above) + corner;
        result.above_plane_stride = out.carries.above->plane_stride;
    }
}

output sums_of(const problem& p, const buffers& memory) {
    return {p.table, memory.table, p.carries, memory.carries, sums_list};
}
output squares_of(const problem& p, const buffers& memory) {
    return {*p.squares, memory.squares, p.squares_carries, memory.squares_carries, squares_list};
}

/// What lies left of the part, of sums and of squares.
struct left_edges {
    host_buffer sums, squares;
};

left_edges gather_left_edges(const problem& p, const buffers& memory) {
    left_edges edges;
    if (!p.has_carries()) return edges;
    edges.sums = cpu::gather_left_edge(p.carries, memory.carries, p.image, p.table);
    if (p.squares)
        edges.squares = cpu::gather_left_edge(p.squares_carries, memory.squares_carries, p.image, *p.squares);
    return edges;
}

table_job make_job(const problem& p, const buffers& memory, const left_edges& edges, const plan& decided) {
    table_job job;
    job.image = static_cast<const std::byte*>(memory.image);
    job.image_shape = p.image;
    job.channels = p.image.channels;
    job.rows = p.table.rows - p.form.border();
    job.border = p.form.border() * p.image.channels;
    job.elements = p.table.cols * p.table.channels - job.border;
    job.streaming = decided.store == store_policy::streaming;
    job.fetch_table = decided.fetch_table;
    const auto next_pass = [&]() -> table_pass& { return job.passes[static_cast<std::size_t>(job.pass_count++)]; };
    if (p.squares) set_pass(next_pass(), *decided.set, p, squares_of(p, memory), edges.squares.data(), decided.store);
    set_pass(next_pass(), *decided.set, p, sums_of(p, memory), edges.sums.data(), decided.store);
    return job;
}

// ---- Forms with an offset or an origin ------------------------------------------------------------------------------
//
// Rows are taken from the origin downwards, and from it upwards. Pixels less the offset (above the origin: the offset
// less them) are what kernels sum; each row starts with minus the sum of its pixels left of the origin, so that sums
// are smallest at the origin in both directions:
//
//                 c0
//        up,  +   |   up, -
//     ------------+------------  r0        Entry (r, c) is the integral from the origin: with the sign of
//       down, -   |  down, +               (r - r0) * (c - c0).
//
// The border column takes what rows start with and their sums, rounded as entries are.

/// As table_job::offsets.
std::vector<double> offsets_of(const problem& p) {
    std::vector<double> offsets;
    const std::int64_t channels = p.image.channels;
    for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
        for (std::int64_t i = 0; i < 2 * channels; ++i)
            offsets.push_back(p.form.offset_of(i % channels, plane, channels));
    return offsets;
}

/// The part of a job's rows below the origin, or above it, from the origin on.
table_job side_of(const table_job& whole, const problem& p, bool upwards) {
    table_job side = whole;
    const std::int64_t from = p.form.origin.row;
    side.upwards = upwards;
    side.left_elements = p.form.origin.col * whole.channels;
    side.rows = upwards ? from : whole.rows - from;
    const std::int64_t first = upwards ? from - 1 : from;
    side.image += first * p.image.row_stride;
    if (upwards) side.image_shape.row_stride = -side.image_shape.row_stride;
    for (table_pass& pass : side.passes) {
        // Rows above the origin lie above the row of zeros, which is the border's place below it.
        pass.table += (upwards ? first - 1 : first) * pass.shape.row_stride;
        if (upwards) pass.shape.row_stride = -pass.shape.row_stride;
    }
    return side;
}

/// The row of zeros at the origin.
void write_zeros(const problem& p, const view_shape& s, void* entries) {
    auto* const row = static_cast<std::byte*>(entries) + p.form.origin.row * s.row_stride;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        std::fill_n(row + (s.planes > 1 ? plane * s.plane_stride : 0), s.cols * s.pixel_stride(), std::byte{});
}

void fill_shifted_tables(const problem& p, const buffers& memory, const plan& decided) {
    if (p.squares && !(is_floating(p.table.type) && is_floating(p.squares->type)))
        throw unsupported("squares: tables of " + std::string(name_of(p.table.type)) + " and " +
                          std::string(name_of(p.squares->type)) +
                          " are exact without an offset or an origin; those of floating types take them");
    if (p.form.border() > 0) {
        write_zeros(p, p.table, memory.table);
        if (p.squares) write_zeros(p, *p.squares, memory.squares);
    }
    const std::vector<double> offsets = offsets_of(p);
    table_job job = make_job(p, memory, {}, decided);
    job.offsets = offsets.data();
    job.offsets_are_zero = !p.form.has_offset();
    if (decided.threads > 1 && !decided.fetch_among_threads) job.fetch_table = false;
    for (const bool upwards : {false, true})
        if (const table_job side = side_of(job, p, upwards); side.rows > 0)
            cpu::compute_in_wavefront(side, decided.threads);
}

bool in_bands(const table_job& job, const plan& decided) {
    return decided.bands && cpu::fits_bands(job, decided.threads);
}

void fill_tables(const problem& p, const buffers& memory, const plan& decided) {
    if (!p.form.is_plain()) return fill_shifted_tables(p, memory, decided);
    const left_edges edges = gather_left_edges(p, memory);
    if (p.form.border() > 0) {
        cpu::write_border_row(p.carries, memory.carries, p.image, p.table, memory.table);
        if (p.squares)
            cpu::write_border_row(p.squares_carries, memory.squares_carries, p.image, *p.squares, memory.squares);
    }
    table_job job = make_job(p, memory, edges, decided);
    if (job.rows == 0) return;  // exclusive table of one row
    if (in_bands(job, decided)) return cpu::compute_in_bands(job, decided.threads);
    if (decided.threads > 1 && !decided.fetch_among_threads) job.fetch_table = false;
    cpu::compute_in_wavefront(job, decided.threads);
}

// ---- The record --------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 6> instruction_set_values{"auto",   "scalar",      "avx2",
                                                                 "avx512", "avx512-vnni", "neon"};
constexpr std::array<std::string_view, 3> scheme_values{"auto", "wavefront", "bands"};
constexpr std::array<std::string_view, 3> fetch_values{"auto", "on", "off"};
constexpr std::array<parameter, 3> parameters{
    {{"isa", "instruction set of the kernels; auto is the best that the machine has", instruction_set_values},
     {"scheme", "how threads share a table; bands only serve integer tables of one plane", scheme_values},
     {"fetch", "ask for lines of the table before they are written; auto: on Intel's processors", fetch_values}}};

const kernel_set* kernels_of(const parameter_values& values) {
    const std::uint8_t isa = values.choice[isa_position];
    return isa == 0 ? &cpu::best_kernels() : cpu::find_kernels(instruction_set_values[isa]);
}

support supports(const problem& p, const parameter_values& values) {
    const kernel_set* set = kernels_of(values);
    if (set == nullptr)
        return {false,
                "this machine or build has no " + std::string(instruction_set_values[values.choice[isa_position]])};
    if (sums_list.find(p.image.type, p.table.type) == nullptr ||
        (p.squares && squares_list.find(p.image.type, p.squares->type) == nullptr))
        return {false, "no kernel for these types"};
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    plan decided = decide(p, *kernels_of(how.parameters), how);
    if (decided.threads > 1) {
        decided.threads = std::min(decided.threads, cpu::choose_threads(decided.bytes, how.threads));
        decided.store = store_of(*decided.set, decided.bytes, decided.threads, how.store);  // of those that have time
    }
    fill_tables(p, memory, decided);
}

/// A row sum is a chain over vectors, each of which adds at most 3 times within a block, 2 across blocks and 2 to join
/// them; 1 more rounds the square or the conversion. It never exceeds the number of columns, since adding zero is
/// exact. What a row takes over from left of a part is a difference, added once.
std::int64_t addition_depth(const problem& p, const parameter_values& values) {
    const kernel_set* set = kernels_of(values);
    const auto widest = static_cast<std::int64_t>(size_of(p.squares ? p.squares->type : p.table.type));
    const auto lanes =
        std::max<std::int64_t>(static_cast<std::int64_t>(set->vector_bytes) / std::max<std::int64_t>(widest, 8), 1);
    const std::int64_t vectors =
        set->vector_bytes == 1 ? p.image.cols : (p.image.cols * p.image.channels + lanes) / lanes + 1;
    return p.image.rows + std::min(p.image.cols, vectors + 8) + (p.has_carries() ? 3 : 0);
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    return {1, p.squares ? 2.0 : 1.0, 0, cpu::most_threads(view_bytes(p.image) + view_bytes(p.table), 0)};
}

}  // namespace

constinit const algorithm_record simd_sat_record{
    .info = {.what = operation::sat,
             .name = "simd",
             .title = "row scans in vector registers, running column sums, tiles in a wavefront of threads, or bands",
             .paper = "boxsum; wavefront as in Papatriantafyllou and Sacharidis, Euro-Par 2016",
             .cost = "1 read, 1 write per element",
             .where = backend::cpu,
             .in_place = true,
             .carries = true,
             .parameters = parameters},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .shifts = true,
    .addition_depth = addition_depth,
    .cost = cost,
};

cpu_decision cpu::decision_of(const problem& p, const buffers& memory, const execution& how) {
    const plan decided = decide(p, *kernels_of(how.parameters), how);
    const table_job job = make_job(p, memory, gather_left_edges(p, memory), decided);
    if (in_bands(job, decided)) return {decided.set->name, decided.threads, decided.store, "bands"};
    return {decided.set->name, threads_in_wavefront(job, decided.threads), decided.store, "wavefront"};
}

}  // namespace boxsum
