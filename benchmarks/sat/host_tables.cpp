#include "sat/host_tables.hpp"

#include "api/registry.hpp"
#include "competitors/host_competitors.hpp"
#include "core/validate.hpp"
#include "core/visit_types.hpp"
#include "measure/host_data.hpp"
#include "measure/rounds.hpp"

#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <cstring>
#include <thread>

namespace boxsum::bench {
namespace {

constexpr int poison = 0xa5;

/// The reference's table of one image, padded; without its first row and column it is the inclusive one.
struct expectation {
    host_buffer memory;
    any_view padded;
    const_any_view inclusive;
};

expectation expect(const const_any_view& image, dtype type) {
    expectation e;
    const view_shape shape = aligned_shape(type, image.shape.rows + 1, image.shape.cols + 1, 1);
    e.memory = memory_pool::shared().acquire(static_cast<std::size_t>(shape.plane_stride));
    e.padded = {e.memory.data(), shape};
    sat({image}, {{e.padded, table_layout::padded}}, {.algorithm = "reference"});
    view_shape inner = shape;
    --inner.rows;
    --inner.cols;
    e.inclusive = {static_cast<const std::byte*>(e.memory.data()) + shape.row_stride + size_of(type), inner};
    return e;
}

/// Every element read and written once in the table's type: the traffic of a table without its sums.
void convert(const const_any_view& from, const any_view& to) {
    visit_type_pair(all_type_pairs{}, {from.shape.type, to.shape.type}, [&]<typename In, typename Out>() {
        const auto* const in = static_cast<const In*>(from.data);
        auto* const out = static_cast<Out*>(to.data);
        for (std::int64_t i = 0; i < from.shape.rows * from.shape.cols; ++i)
            if constexpr (std::is_same_v<In, float16>)
                out[i] = to_float(in[i]);
            else
                out[i] = static_cast<Out>(in[i]);
    });
}

/// Copies on as many threads as the algorithms use, as one thread may not fill the memory's bandwidth.
void copy_bytes(void* to, const void* from, std::size_t bytes, int threads) {
    if (threads <= 1) {
        std::memcpy(to, from, bytes);
        return;
    }
    std::vector<std::jthread> team;
    const std::size_t part = (bytes + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
    for (std::size_t first = 0; first < bytes; first += part)
        team.emplace_back([=] {
            std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                        std::min(part, bytes - first));
        });
}

table_row row_for(const sat_case& c, const std::string& what, const std::string& algorithm,
                  const std::string& parameters, const std::string& note = {}) {
    table_row row;
    row.what = what;
    row.backend = "cpu";
    row.types = name_of(c.types);
    row.rows = c.rows;
    row.cols = c.cols;
    row.algorithm = algorithm;
    row.parameters = parameters;
    row.launched = "host";
    row.note = note;
    return row;
}

}  // namespace

void blur_by_definition(const any_view& padded, const any_view& result) {
    const std::int64_t rows = result.shape.rows, cols = result.shape.cols;
    const image_view<const std::uint32_t> t(static_cast<const std::uint32_t*>(padded.data), rows + 1, cols + 1,
                                            padded.shape.row_stride);
    const image_view<std::uint8_t> out(static_cast<std::uint8_t*>(result.data), rows, cols, result.shape.row_stride);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const std::int64_t top = std::max<std::int64_t>(r - blur_radius, 0),
                               bottom = std::min(r + blur_radius + 1, rows);
            const std::int64_t left = std::max<std::int64_t>(c - blur_radius, 0),
                               right = std::min(c + blur_radius + 1, cols);
            const std::uint32_t sum = t(bottom, right) - t(top, right) - t(bottom, left) + t(top, left);
            const auto n = static_cast<std::uint32_t>((bottom - top) * (right - left));
            out(r, c) = static_cast<std::uint8_t>((2 * sum + n) / (2 * n));
        }
}

void check_and_race(std::vector<host_candidate>& candidates, const sat_bench_options& options) {
    std::vector<contestant> contestants;
    std::vector<host_candidate*> right;
    for (host_candidate& c : candidates) {
        for (const auto& [data, bytes] : c.written) std::memset(data, poison, bytes);
        try {
            c.run();
        } catch (const std::exception& e) {
            c.row.check = "wrong: it failed: " + std::string(e.what());
            continue;
        }
        if (!same_table(c.result, c.expected)) {
            c.row.check = "wrong: differs from the reference";
            continue;
        }
        c.row.check = "equal";
        right.push_back(&c);
        contestants.push_back(host_contestant(c.row.algorithm, c.run, options.round_ms));
    }
    const std::vector<spread> times = race(contestants, options.rounds, host_us);
    for (std::size_t i = 0; i < times.size(); ++i) {
        right[i]->row.us = times[i].median;
        right[i]->row.low_us = times[i].low;
        right[i]->row.high_us = times[i].high;
        right[i]->row.rounds = times[i].samples;
    }
}

std::vector<table_row> measure_on_host(const sat_case& c, const sat_bench_options& options, bool variants_too) {
    memory_pool& pool = memory_pool::shared();
    std::vector<table_row> not_run;
    const view_shape in_shape = aligned_shape(c.types.input, c.rows, c.cols, 1);
    const view_shape out_shape = aligned_shape(c.types.table, c.rows, c.cols, 64);
    const view_shape padded_shape = aligned_shape(c.types.table, c.rows + 1, c.cols + 1, 1);
    const host_buffer in = pool.acquire(static_cast<std::size_t>(in_shape.plane_stride));
    const host_buffer out = pool.acquire(
        static_cast<std::size_t>(std::max({out_shape.plane_stride, padded_shape.plane_stride, in_shape.plane_stride})));
    fill_random(in.data(), c.types.input, c.rows * c.cols);
    const const_any_view image{in.data(), in_shape};
    const any_view table{out.data(), out_shape}, padded{out.data(), padded_shape};
    const expectation expected = expect(image, c.types.table);
    const std::vector<std::pair<void*, std::size_t>> written{{out.data(), out.size()}};

    std::vector<host_candidate> candidates;
    const view_shape packed_shape = aligned_shape(c.types.table, c.rows, c.cols, 1);
    host_buffer converted;
    if (c.copy && variants_too && c.types.input != c.types.table) {
        converted = pool.acquire(static_cast<std::size_t>(packed_shape.plane_stride));
        convert(image, {converted.data(), packed_shape});
        candidates.push_back({row_for(c, "copy", "duplication", "", "every element read and converted, one thread"),
                              [&] {
                                  convert(image, {out.data(), packed_shape});
                              },
                              {out.data(), packed_shape},
                              {converted.data(), packed_shape},
                              written});
    }
    if (c.copy && variants_too && c.types.input == c.types.table)
        candidates.push_back({row_for(c, "copy", "duplication", "", "memcpy"),
                              [&] {
                                  copy_bytes(out.data(), in.data(), static_cast<std::size_t>(in_shape.plane_stride),
                                             options.threads);
                              },
                              {out.data(), in_shape},
                              image,
                              written});
    if (variants_too)
        for (const variant& v : c.variants) {
            sat_options how;
            how.algorithm = v.algorithm;
            how.parameters = v.parameters;
            how.threads = options.threads;
            const algorithm_record& record = *find_record(operation::sat, v.algorithm);
            const problem p = make_problem(in_shape, out_shape, {}, table_layout::inclusive);
            const parameter_values values = parse_parameters(record, v.parameters);
            table_row row = row_for(c, "table", v.algorithm, v.parameters);
            if (const support s = check_support(record, p, values); !s) {
                row.note = s.reason;
                row.launched.clear();
                not_run.push_back(std::move(row));
                continue;
            }
            candidates.push_back({std::move(row), [&image, &table, how] { sat({image}, {{table}}, how); }, table,
                                  expected.inclusive, written});
        }
    for (const host_competitor& other : host_competitors()) {
        if (std::find(c.competitors.begin(), c.competitors.end(), other.name) == c.competitors.end()) continue;
        table_row row = row_for(c, "table", other.name, "", other.title);
        if (const support s = other.supports(c.types); !s) {
            row.note = s.reason;
            row.launched.clear();
            not_run.push_back(std::move(row));
            continue;
        }
        const bool is_padded = other.layout == table_layout::padded;
        candidates.push_back(
            {std::move(row), [&, run = other.run, is_padded] { run(image, is_padded ? padded : table); },
             is_padded ? padded : table, is_padded ? const_any_view(expected.padded) : expected.inclusive, written});
    }

    host_buffer blurred, blur_expected;
    const any_view blur{(blurred = pool.acquire(static_cast<std::size_t>(c.blur ? in_shape.plane_stride : 0))).data(),
                        in_shape};
    if (c.blur && variants_too) {
        blur_expected = pool.acquire(static_cast<std::size_t>(in_shape.plane_stride));
        blur_by_definition(expected.padded, {blur_expected.data(), in_shape});
        filter_options window;
        window.window = window_radius(blur_radius);
        window.threads = options.threads;
        candidates.push_back({row_for(c, "box-blur", "box_filter", "", "running sums, without a table"),
                              [&image, &blur, window] { box_filter({image}, {blur}, window); },
                              blur,
                              {blur_expected.data(), in_shape},
                              {{blurred.data(), blurred.size()}}});
    }
    check_and_race(candidates, options);

    std::vector<table_row> rows;
    for (host_candidate& candidate : candidates) rows.push_back(std::move(candidate.row));
    std::move(not_run.begin(), not_run.end(), std::back_inserter(rows));
    pool.trim();
    return rows;
}

}  // namespace boxsum::bench
