#pragma once

#include "core/algorithm_record.hpp"
#include "verify/patterns.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Runs records against the definition. Used by the conformance tests, by `verify()` and by the benchmarks, so that
/// they check the same thing.
namespace boxsum {

/// Where the carries of a part lie.
enum class carry_place : std::uint8_t {
    apart,   ///< in memory of their own
    border,  ///< they are the first row and column of the part itself (padded, with a row above and a column left)
};

/// One run of a record: which types, shape, memory layout and contents.
struct conformance_case {
    dtype input = dtype::u8;
    dtype table = dtype::u32;
    std::optional<dtype> squares;
    table_layout layout = table_layout::inclusive;
    std::int64_t rows = 1;
    std::int64_t cols = 1;
    std::int64_t channels = 1;
    std::int64_t planes = 1;
    /// Elements between rows beyond the row itself, for the image and for the tables; -1: rows start on 64-byte
    /// boundaries.
    std::int64_t image_gap = 0;
    std::int64_t table_gap = 0;
    std::int64_t plane_gap = 1;  ///< elements between planes beyond their rows
    /// Elements before the first one, from a 64-byte boundary: how misaligned the base pointers are.
    std::int64_t image_offset = 0;
    std::int64_t table_offset = 0;
    bool in_place = false;
    /// The case is a part of a larger image, which has so many rows above it and columns left of it: the record gets
    /// carries where there are any, of the whole image's table, and must make a part of that.
    std::int64_t rows_above = 0;
    std::int64_t cols_left = 0;
    carry_place carries = carry_place::apart;
    pattern contents = pattern::random;
    std::uint64_t seed = 1;
};

std::string describe(const conformance_case& c);

/// The memory of one case, on the host: blocks with the bytes around and between the rows poisoned.
struct host_block {
    std::vector<std::byte> bytes;
    std::size_t offset = 0;  ///< of the first element from bytes.data(), which is aligned to 64 bytes

    std::byte* data() { return bytes.data() + first; }
    std::size_t first = 0;  ///< offset plus what aligns bytes.data()
};

/// Empty where there is no such carry, or where it is the first row or column of its table.
struct host_carries {
    host_block above, left;
};

struct host_memory {
    host_block image;
    host_block table;    ///< unused when in place
    host_block squares;  ///< empty without squares
    host_carries carries;
    host_carries squares_carries;
};

/// Where a record finds the carries of a table, by where their blocks begin; null for blocks that are empty.
carry_data carry_pointers(const carry_shapes& shapes, const void* above, const void* left, const void* table,
                          const view_shape& table_shape);

/// Runs a record on host blocks: directly for CPU records, through copies of the whole blocks for device records.
using record_runner = std::function<void(const algorithm_record&, const problem&, host_memory&, const execution&)>;

/// CPU records: calls enqueue on the blocks.
void run_on_host(const algorithm_record& record, const problem& p, host_memory& memory, const execution& how);

/// Builds the case on poisoned memory, runs the record, and checks: every entry of the table(s) against the
/// definition, bytes around and between rows untouched, image untouched. Nothing when all is well, else what was wrong,
/// with the first wrong entry. The case must be supported.
std::optional<std::string> check_record(const algorithm_record& record, const conformance_case& c,
                                        const execution& how = {}, const record_runner& run = run_on_host);

/// The problem of a case, as check_record builds it.
problem problem_of(const conformance_case& c);

enum class effort : std::uint8_t {
    quick,  ///< for `boxsum verify`: a few seconds a record
    full,   ///< for the tests
};

/// The cases of one (input, table[, squares]) combination: layouts x shapes x memory layouts x patterns, chosen so that
/// every value of each occurs with every layout, and shapes sit at the edges of tiles of 16 to 256.
std::vector<conformance_case> conformance_cases(dtype input, dtype table, std::optional<dtype> squares, effort e);

/// Parts of larger images, for records that take carries: with either carry or both, of all layouts.
std::vector<conformance_case> part_cases(dtype input, dtype table, std::optional<dtype> squares, effort e);

/// The cases that a record must pass: with parts, where it takes carries.
std::vector<conformance_case> conformance_cases(const algorithm_record& record, dtype input, dtype table,
                                                std::optional<dtype> squares, effort e);

}  // namespace boxsum
