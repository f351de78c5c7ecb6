#pragma once

// What a table takes over from the larger table that it is a part of (table_carries): the row above it, and what each
// of its rows adds left of it.
//
//     S(r, c) = S(r - 1, c) + (B(r) - B(r - 1)) + sum of the part's own row r up to c,    B(r) = S(r, C - 1)
//
// So the row above is a tile's `above`, and B(r) - B(r - 1) is the row sum that its kernel starts from: a part costs no
// pass over its entries.

#include "core/problem.hpp"
#include "cpu/table_job.hpp"

#include <boxsum/table.hpp>

#include <cstdint>

namespace boxsum::cpu {

/// The entries of the whole table left of the part, packed: for each plane the corner, then those of its rows; of all
/// channels. Copied before anything is written, since they may be the first column of the part itself. Empty without
/// carries.
host_buffer gather_left_edge(const carry_shapes& shapes, const carry_data& data, const view_shape& image,
                             const view_shape& table);

/// Whether all that rows add is an integer from `least` to `most`: kernels that scan rows in 32 bits need that.
bool row_sums_within(const void* left_edge, const view_shape& image, dtype table, std::int64_t least,
                     std::int64_t most);

/// The first row of tables with a border: the corner and `above`, or zeros.
void write_border_row(const carry_shapes& shapes, const carry_data& data, const view_shape& image,
                      const view_shape& table, void* entries);

/// What each of `rows` rows from `row` on adds left of the part, where the pass's kernels look for it.
void put_row_sums(const table_job& job, const table_pass& pass, std::int64_t plane, std::int64_t row, std::int64_t rows,
                  void* row_sums);

/// Of a job with an origin: sums the first `rows` rows of a tile left of it into `t.carry`, from where they start, and
/// sets the tile's border column, which goes to `border`: what all rows up to here start with.
void start_rows_at_origin(const table_job& job, const table_pass& pass, tile& t, std::int64_t rows, void* border);

/// Adds what the part takes over to a table row that was made without: the row `row` - 1, for the tile that begins with
/// `row`. The table is an integer one.
void add_edges(const table_job& job, const table_pass& pass, std::int64_t row, void* row_above);

}  // namespace boxsum::cpu
