#include "verify/conformance.hpp"

#include "core/validate.hpp"
#include "verify/expectation.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace boxsum {
namespace {

constexpr std::byte poison{0xa5};
constexpr std::size_t guard = 256;  // poisoned bytes before and after a block

std::int64_t stride_of(std::int64_t row_bytes, std::int64_t gap, std::int64_t element) {
    return gap < 0 ? (row_bytes + 63) / 64 * 64 : row_bytes + gap * element;
}

view_shape shape_of(const conformance_case& c, dtype type, bool is_table) {
    view_shape s;
    s.type = type;
    s.planes = c.planes;
    s.channels = c.channels;
    const table_form form = c.layout;
    s.rows = is_table ? form.table_extent(c.rows) : c.rows;
    s.cols = is_table ? form.table_extent(c.cols) : c.cols;
    const auto element = static_cast<std::int64_t>(size_of(type));
    s.row_stride = stride_of(s.cols * s.channels * element, is_table ? c.table_gap : c.image_gap, element);
    s.plane_stride = s.rows * s.row_stride + (s.planes > 1 ? c.plane_gap * element : 0);
    return s;
}

std::size_t span_bytes(const view_shape& s) {
    return static_cast<std::size_t>((s.planes - 1) * s.plane_stride + (s.rows - 1) * s.row_stride +
                                    s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type)));
}

/// The same channels and planes, rows x cols, with gaps.
view_shape carry_shape(const conformance_case& c, dtype type, std::int64_t rows, std::int64_t cols, std::int64_t gap) {
    const auto element = static_cast<std::int64_t>(size_of(type));
    view_shape s{type, c.planes, rows, cols, c.channels, 0, 0};
    s.row_stride = (cols * c.channels + gap) * element;
    s.plane_stride = rows * s.row_stride + element;
    return s;
}

/// What the record is given of the whole table around the part.
carry_shapes carries_of(const conformance_case& c, const view_shape& table) {
    carry_shapes shapes;
    if (c.carries == carry_place::border) {
        shapes.above = shapes.left = table;
        shapes.above->rows = shapes.left->cols = 1;
        shapes.left->rows = c.rows;
        return shapes;
    }
    // The corner is zero without columns to the left, and then may be left out.
    const bool corner = c.cols_left > 0 || c.seed % 2 == 0;
    if (c.rows_above > 0) shapes.above = carry_shape(c, table.type, 1, c.cols + (corner ? 1 : 0), 0);
    if (c.cols_left > 0) shapes.left = carry_shape(c, table.type, c.rows, 1, static_cast<std::int64_t>(c.seed % 3));
    return shapes;
}

host_block make_block(const view_shape& s, std::int64_t offset_elements) {
    host_block block;
    block.offset = guard + static_cast<std::size_t>(offset_elements) * size_of(s.type);
    block.bytes.assign(block.offset + span_bytes(s) + guard + 64, poison);
    const auto address = reinterpret_cast<std::uintptr_t>(block.bytes.data());
    block.first = block.offset + (64 - address % 64) % 64;
    return block;
}

/// Bytes outside the elements must still be poison: those before the first row, between rows, and after the last.
std::optional<std::string> check_gaps(std::string_view name, const host_block& block, const view_shape& s) {
    const std::byte* const first = block.bytes.data() + block.first;
    const std::byte* gap = block.bytes.data();
    const auto row_bytes = s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
    const auto untouched_until = [&](const std::byte* end) -> std::optional<std::string> {
        for (; gap < end; ++gap)
            if (*gap != poison)
                return std::string(name) + ": byte " + std::to_string(gap - first) +
                       " from its first element was written, but belongs to no element";
        return {};
    };
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r) {
            const std::byte* const row = first + plane * s.plane_stride + r * s.row_stride;
            if (auto wrong = untouched_until(row)) return wrong;
            gap = row + row_bytes;
        }
    return untouched_until(block.bytes.data() + block.bytes.size());
}

std::string extent_text(std::int64_t gap, std::int64_t offset) {
    return (gap < 0 ? std::string("aligned rows") : "gap " + std::to_string(gap)) + " offset " + std::to_string(offset);
}

}  // namespace

std::string describe(const conformance_case& c) {
    const std::string types =
        c.squares ? name_of(squares_triple{c.input, c.table, *c.squares}) : name_of(type_pair{c.input, c.table});
    return types + " " + std::string(name_of(c.layout)) + " " + std::to_string(c.planes) + " x " +
           std::to_string(c.rows) + " x " + std::to_string(c.cols) + " x " + std::to_string(c.channels) + ", image " +
           extent_text(c.image_gap, c.image_offset) + ", table " + extent_text(c.table_gap, c.table_offset) +
           (c.planes > 1 && c.plane_gap != 1 ? ", plane gap " + std::to_string(c.plane_gap) : "") +
           (c.in_place ? ", in place" : "") +
           (c.rows_above > 0 || c.cols_left > 0
                ? ", below " + std::to_string(c.rows_above) + " rows and right of " + std::to_string(c.cols_left) +
                      " columns" + (c.carries == carry_place::border ? " that are in its border" : "")
                : "") +
           ", " + std::string(name_of(c.contents)) + " seed " + std::to_string(c.seed);
}

problem problem_of(const conformance_case& c) {
    problem p = make_problem(
        shape_of(c, c.input, false), c.in_place ? [&] {
            view_shape s = shape_of(c, c.input, false);
            s.type = c.table;
            return s;
        }() : shape_of(c, c.table, true),
        c.squares ? std::optional<view_shape>(shape_of(c, *c.squares, true)) : std::nullopt, c.layout);
    p.in_place = c.in_place;
    if (c.rows_above > 0 || c.cols_left > 0) {
        p.carries = carries_of(c, p.table);
        if (p.squares) p.squares_carries = carries_of(c, *p.squares);
    }
    return p;
}

carry_data carry_pointers(const carry_shapes& shapes, const void* above, const void* left, const void* table,
                          const view_shape& table_shape) {
    const auto* const entries = static_cast<const std::byte*>(table);
    carry_data data;
    if (shapes.above) data.above = above != nullptr ? above : entries;
    if (shapes.left) data.left = left != nullptr ? left : entries + table_shape.row_stride;
    return data;
}

void run_on_host(const algorithm_record& record, const problem& p, host_memory& memory, const execution& how) {
    const auto first = [](host_block& b) -> void* { return b.bytes.empty() ? nullptr : b.data(); };
    buffers all;
    all.image = memory.image.data();
    all.table = p.in_place ? memory.image.data() : memory.table.data();
    all.carries =
        carry_pointers(p.carries, first(memory.carries.above), first(memory.carries.left), all.table, p.table);
    if (p.squares) {
        all.squares = memory.squares.data();
        all.squares_carries = carry_pointers(p.squares_carries, first(memory.squares_carries.above),
                                             first(memory.squares_carries.left), all.squares, *p.squares);
    }
    record.enqueue(p, all, how);
}

namespace {

/// The image of a case: all of it, or a part of a larger one, of which the expectations know the rest.
struct case_image {
    host_block block;
    expectation sums;
    std::optional<expectation> squares;
};

case_image make_image(const conformance_case& c, const problem& p) {
    host_block block = make_block(p.image, c.image_offset);
    view_shape whole = p.image;
    whole.rows += c.rows_above;
    whole.cols += c.cols_left;
    const auto element = static_cast<std::int64_t>(size_of(whole.type));
    const std::int64_t pixel = whole.channels * element;
    whole.row_stride = whole.cols * pixel;
    whole.plane_stride = whole.rows * whole.row_stride;
    std::vector<std::byte> bytes(span_bytes(whole));
    fill({bytes.data(), whole}, c.contents, c.seed);
    for (std::int64_t plane = 0; plane < whole.planes; ++plane)
        for (std::int64_t r = 0; r < p.image.rows; ++r)
            std::memcpy(
                block.data() + plane * p.image.plane_stride + r * p.image.row_stride,
                bytes.data() + plane * whole.plane_stride + (c.rows_above + r) * whole.row_stride + c.cols_left * pixel,
                static_cast<std::size_t>(p.image.cols * pixel));
    const const_any_view view{bytes.data(), whole};
    expectation sums(p, view, c.rows_above, c.cols_left, false);
    std::optional<expectation> squares;
    if (p.squares) squares.emplace(p, view, c.rows_above, c.cols_left, true);
    return {std::move(block), std::move(sums), std::move(squares)};
}

/// The carries of one table, in blocks of their own or in the table's border.
host_carries make_carries(const conformance_case& c, const carry_shapes& shapes, const expectation& whole,
                          std::byte* table, const view_shape& table_shape) {
    host_carries carries;
    if (c.carries == carry_place::border) {
        whole.put_entries(c.rows_above - 1, c.cols_left - 1, {table, *shapes.above});
        whole.put_entries(c.rows_above, c.cols_left - 1, {table + table_shape.row_stride, *shapes.left});
        return carries;
    }
    if (shapes.above) {
        carries.above = make_block(*shapes.above, c.table_offset);
        whole.put_entries(c.rows_above - 1, c.cols_left - shapes.corners(c.cols),
                          {carries.above.data(), *shapes.above});
    }
    if (shapes.left) {
        carries.left = make_block(*shapes.left, 1);
        whole.put_entries(c.rows_above, c.cols_left - 1, {carries.left.data(), *shapes.left});
    }
    return carries;
}

}  // namespace

std::optional<std::string> check_record(const algorithm_record& record, const conformance_case& c, const execution& how,
                                        const record_runner& run) {
    const problem p = problem_of(c);
    case_image image = make_image(c, p);
    const expectation& sums = image.sums;
    const std::optional<expectation>& squares = image.squares;
    host_memory memory;
    memory.image = std::move(image.block);
    if (!p.in_place) memory.table = make_block(p.table, c.table_offset);
    if (p.squares) memory.squares = make_block(*p.squares, c.table_offset);
    if (p.has_carries()) {
        memory.carries = make_carries(c, p.carries, sums, p.in_place ? nullptr : memory.table.data(), p.table);
        if (p.squares)
            memory.squares_carries = make_carries(c, p.squares_carries, *squares, memory.squares.data(), *p.squares);
    }

    const std::vector<std::byte> image_before = memory.image.bytes;
    const auto bytes_of_carries = [&] {
        std::vector<std::byte> all;
        for (const host_carries* carries : {&memory.carries, &memory.squares_carries})
            for (const host_block* block : {&carries->above, &carries->left})
                all.insert(all.end(), block->bytes.begin(), block->bytes.end());
        return all;
    };
    const std::vector<std::byte> carries_before = bytes_of_carries();
    run(record, p, memory, how);

    const std::int64_t depth = record.addition_depth(p, how.parameters);
    host_block& table = p.in_place ? memory.image : memory.table;
    std::optional<std::string> wrong = sums.mismatch(table.data(), depth);
    if (!wrong && p.squares) wrong = squares->mismatch(memory.squares.data(), depth);
    // Standard libraries compare vectors of std::byte a byte at a time.
    if (!wrong && !p.in_place && std::memcmp(memory.image.bytes.data(), image_before.data(), image_before.size()) != 0)
        wrong = "image: was changed";
    if (!wrong && bytes_of_carries() != carries_before) wrong = "carries: were changed";
    if (!wrong) wrong = check_gaps("table", table, p.table);
    if (!wrong && p.squares) wrong = check_gaps("squares", memory.squares, *p.squares);
    if (wrong) *wrong = std::string(record.info.name) + ", " + describe(c) + ": " + *wrong;
    return wrong;
}

namespace {

struct extents {
    std::int64_t rows, cols;
};

constexpr std::array<extents, 22> full_shapes{{{1, 1},    {1, 2},    {2, 1},     {1, 257},   {1031, 1},  {3, 5},
                                               {7, 33},   {31, 31},  {32, 32},   {33, 65},   {63, 127},  {64, 128},
                                               {65, 129}, {127, 63}, {128, 256}, {129, 255}, {255, 129}, {257, 513},
                                               {1, 4099}, {521, 17}, {17, 1021}, {300, 700}}};
constexpr std::array<extents, 8> quick_shapes{
    {{1, 1}, {1, 257}, {257, 1}, {33, 65}, {64, 128}, {129, 255}, {257, 513}, {300, 700}}};

struct memory_layout {
    std::int64_t image_gap, table_gap, image_offset, table_offset;
};
constexpr std::array<memory_layout, 6> memory_layouts{
    {{-1, -1, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 1}, {3, 1, 0, 3}, {-1, 5, 2, 0}, {16, -1, 16, 16}}};

struct multiplicity {
    std::int64_t channels, planes;
};
constexpr std::array<multiplicity, 6> multiplicities{{{1, 1}, {3, 1}, {1, 3}, {4, 2}, {2, 1}, {1, 1}}};

/// The axes beside types, layout and extents. Their lengths are coprime with one another or small.
void take_turn(conformance_case& c, std::size_t turn, std::span<const pattern> patterns) {
    const memory_layout& m = memory_layouts[(turn + turn / 6) % memory_layouts.size()];
    c.image_gap = m.image_gap;
    c.table_gap = m.table_gap;
    c.image_offset = m.image_offset;
    c.table_offset = m.table_offset;
    const multiplicity& k = multiplicities[(turn + turn / 7) % multiplicities.size()];
    c.channels = k.channels;
    c.planes = k.planes;
    c.plane_gap = static_cast<std::int64_t>((turn + turn / 4) % 2);
    c.contents = patterns[(turn + turn / 5) % patterns.size()];
    c.seed = turn + 1;
}

}  // namespace

std::vector<conformance_case> conformance_cases(dtype input, dtype table, std::optional<dtype> squares, effort e) {
    const std::span<const extents> shapes = e == effort::full ? std::span<const extents>(full_shapes) : quick_shapes;
    const std::span<const pattern> patterns = patterns_for(input);
    std::vector<conformance_case> cases;
    std::size_t turn = 0;
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded})
        for (const extents& shape : shapes) {
            const std::size_t runs = e == effort::full ? 3 : 2;
            for (std::size_t i = 0; i < runs; ++i, ++turn) {
                conformance_case c;
                c.input = input;
                c.table = table;
                c.squares = squares;
                c.layout = layout;
                c.rows = shape.rows;
                c.cols = shape.cols;
                take_turn(c, turn, patterns);
                cases.push_back(c);
                if (layout == table_layout::inclusive && i == 0 && !squares && size_of(input) == size_of(table)) {
                    c.in_place = true;
                    cases.push_back(c);
                }
            }
        }
    return cases;
}

std::vector<conformance_case> part_cases(dtype input, dtype table, std::optional<dtype> squares, effort e) {
    struct place {
        std::int64_t rows_above, cols_left, rows, cols;
    };
    static constexpr place places[]{{3, 2, 33, 65},    {5, 0, 64, 128},   {0, 7, 129, 63},  {1, 1, 1, 1},
                                    {40, 37, 1, 257},  {2, 300, 257, 33}, {64, 64, 300, 1}, {31, 33, 67, 700},
                                    {129, 5, 17, 513}, {0, 257, 128, 256}};
    const std::size_t count = e == effort::full ? std::size(places) : 4;
    const std::span<const pattern> patterns = patterns_for(input);
    std::vector<conformance_case> cases;
    std::size_t turn = 0;
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded})
        for (std::size_t i = 0; i < count; ++i, ++turn) {
            const place& at = places[i];
            conformance_case c;
            c.input = input;
            c.table = table;
            c.squares = squares;
            c.layout = layout;
            c.rows = at.rows;
            c.cols = at.cols;
            c.rows_above = at.rows_above;
            c.cols_left = at.cols_left;
            take_turn(c, turn, patterns);
            cases.push_back(c);
            if (layout == table_layout::padded && at.rows_above > 0 && at.cols_left > 0) {
                c.carries = carry_place::border;
                cases.push_back(c);
            }
            if (layout == table_layout::inclusive && !squares && size_of(input) == size_of(table)) {
                c.in_place = true;
                cases.push_back(c);
            }
        }
    return cases;
}

std::vector<conformance_case> conformance_cases(const algorithm_record& record, dtype input, dtype table,
                                                std::optional<dtype> squares, effort e) {
    std::vector<conformance_case> cases = conformance_cases(input, table, squares, e);
    if (record.info.carries) {
        const std::vector<conformance_case> parts = part_cases(input, table, squares, e);
        cases.insert(cases.end(), parts.begin(), parts.end());
    }
    return cases;
}

}  // namespace boxsum
