// Tables on the GPU beside a copy of the same bytes, and beside other implementations. Prints one JSON object a line;
// scripts/bench_gpu collects them.
//
//     gpu_sat_bench [section...]      sections: table small layouts special algorithms peers filters; none: all
//
// Inputs are random and rotate through more memory than the second-level cache holds, so that every launch reads from
// memory. A figure is the median of several repetitions; runners take turns within a repetition, so that a drift of
// the clock meets all of them. What was timed is compared with the sums in double or 64-bit integers.

#include "api/registry.hpp"
#include "competitors/device_kernels.hpp"
#include "competitors/opencv_cuda.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/device_race.hpp"
#include "support/device_oracle.hpp"

#include <boxsum/device.hpp>
#include <boxsum/device_filters.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

constexpr int repetitions = 15;

/// One line of output: {"section": "table", "n": 1024, ...}
class record_line {
  public:
    record_line& text(const char* key, std::string_view value) { return raw(key, '"' + std::string(value) + '"'); }
    record_line& number(const char* key, double value) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.6g", value);
        return raw(key, digits);
    }
    void print() const {
        std::printf("{%s}\n", line_.c_str());
        std::fflush(stdout);
    }

  private:
    record_line& raw(const char* key, const std::string& value) {
        line_.append(line_.empty() ? "\"" : ", \"").append(key).append("\": ").append(value);
        return *this;
    }
    std::string line_;
};

/// Something to be timed: one launch on the buffers of a set.
struct runner {
    std::string name;
    device_launch launch;
};

/// Median microseconds a launch, for each runner; `graph`: the launches of a repetition come from a graph.
std::vector<double> times_of(const std::vector<runner>& runners, int launches, bool graph, stream_ref stream) {
    std::vector<contestant> contestants;
    for (const runner& r : runners) contestants.push_back(device_contestant(r.name, r.launch, launches, graph, stream));
    std::vector<double> medians;
    for (const spread& s : race(contestants, repetitions, device_stopwatch(stream))) medians.push_back(s.median);
    return medians;
}

/// A plan with its workspace on the buffers of several sets.
struct planned {
    planned(const buffer_sets& sets, bool squares, table_layout layout, std::string_view algorithm, stream_ref stream)
        : plan(squares ? describe(sets.image(0), sets.table(0), sets.squares(0))
                       : describe(sets.image(0), sets.table(0)),
               [&] {
                   sat_options options;
                   options.layout = layout;
                   options.algorithm = algorithm;
                   return options;
               }()),
          workspace(plan.workspace_bytes(), stream) {
        cuda::initialize_workspace_async(workspace, stream);
    }

    runner as_runner(const buffer_sets& sets, bool squares) const {
        return {std::string(plan.algorithm().name), [this, &sets, squares](int set, stream_ref s) {
                    if (squares)
                        plan.run_async(sets.image(set), sets.table(set), sets.squares(set), workspace, s);
                    else
                        plan.run_async(sets.image(set), sets.table(set), workspace, s);
                }};
    }

    cuda::sat_plan plan;
    device_buffer workspace;
};

/// Images hold integers, of either sign where the type has one, so that every sum is exact also in 32f: those of signed
/// values stay near 150 * n, far below 2^24.
std::string verdict_on(const const_any_view& image, const const_any_view& table, table_layout layout, stream_ref stream,
                       bool squares = false) {
    const view_shape& s = image.shape;
    test::device_oracle oracle(s.planes * s.rows * s.cols * s.channels, stream);
    oracle.sum(image, squares, stream);
    oracle.compare(table, layout, stream);
    const std::string wrong = oracle.result(stream);
    return wrong.empty() ? "equal" : "WRONG: " + wrong;
}

std::string verdict_on(const buffer_sets& sets, table_layout layout, stream_ref stream) {
    return verdict_on(sets.image(0), sets.table(0), layout, stream);
}

/// Once more on the buffers of the first set, and what came of it.
std::string verdict_after(const planned& plan, const buffer_sets& sets, table_layout layout, stream_ref stream) {
    plan.as_runner(sets, false).launch(0, stream);
    return verdict_on(sets, layout, stream);
}

std::vector<runner> references(type_pair types, const buffer_sets& sets) {
    const view_shape& s = sets.image(0).shape;
    const std::int64_t elements = s.planes * s.rows * s.cols * s.channels;
    std::vector<runner> all;
    if (types.input == types.table)
        all.push_back({"memcpy", [&sets, elements, types](int set, stream_ref stream) {
                           BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets.table(set).data, sets.image(set).data,
                                                           static_cast<std::size_t>(elements) * size_of(types.input),
                                                           cudaMemcpyDeviceToDevice, stream.get()));
                       }});
    for (int variant = 0; variant < streaming_variants; ++variant)
        all.push_back(
            {"streaming " + std::to_string(variant), [&sets, elements, types, variant](int set, stream_ref stream) {
                 streaming_convert(types.input, types.table, sets.image(set).data, sets.table(set).data, elements,
                                   variant, stream);
             }});
    return all;
}

struct reference_time {
    std::string name;
    double us;
};

/// 32f32f is held against the copy, everything else against the best kernel with its traffic.
reference_time best_reference(type_pair types, const std::vector<runner>& runners, const std::vector<double>& us,
                              std::size_t first) {
    std::size_t best = first;
    if (types != type_pair{dtype::f32, dtype::f32})
        for (std::size_t i = first; i < us.size(); ++i)
            if (us[i] < us[best]) best = i;
    return {runners[best].name, us[best]};
}

void compare_square(const char* section, type_pair types, std::int64_t n, bool graph, stream_ref stream,
                    std::string_view algorithm = "auto") {
    const buffer_sets sets(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
    const planned ours(sets, false, table_layout::inclusive, algorithm, stream);
    std::vector<runner> runners{ours.as_runner(sets, false)};
    for (runner& c : references(types, sets)) runners.push_back(std::move(c));
    const std::int64_t bytes = n * n * static_cast<std::int64_t>(size_of(types.input) + size_of(types.table));
    const std::vector<double> us = times_of(runners, launches_for(bytes), graph, stream);
    ours.as_runner(sets, false).launch(0, stream);
    const reference_time reference = best_reference(types, runners, us, 1);
    record_line()
        .text("section", section)
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .text("launched", graph ? "graph" : "stream")
        .text("algorithm", runners[0].name)
        .number("us", us[0])
        .text("reference", reference.name)
        .number("reference_us", reference.us)
        .number("x", us[0] / reference.us)
        .number("workspace_share", static_cast<double>(ours.plan.workspace_bytes()) /
                                       static_cast<double>(n * n * static_cast<std::int64_t>(size_of(types.table))))
        .text("check", verdict_on(sets, table_layout::inclusive, stream))
        .print();
}

// ---- sections -------------------------------------------------------------------------------------------------------

void table_section(stream_ref stream) {
    for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384, 32768})
        compare_square("table", {dtype::f32, dtype::f32}, n, false, stream);
    for (const std::int64_t n : {1024, 2048, 4096, 8192, 16384})
        compare_square("table", {dtype::u8, dtype::u32}, n, false, stream);
    for (const type_pair types : {type_pair{dtype::f32, dtype::f64}, {dtype::f64, dtype::f64}, {dtype::u8, dtype::u64}})
        for (const std::int64_t n : {4096, 8192, 16384}) compare_square("table", types, n, false, stream);
}

void small_section(stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const std::int64_t n : {64, 256, 512, 1024, 2048}) compare_square("small", types, n, true, stream);
}

void layouts_section(stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const std::int64_t n : {4096, 8192}) {
            std::deque<buffer_sets> sets;
            std::deque<planned> plans;
            std::vector<runner> runners;
            for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
                sets.emplace_back(packed(types.input, n, n),
                                  packed(types.table, table_rows(n, layout), table_cols(n, layout)), std::nullopt,
                                  stream);
                plans.emplace_back(sets.back(), false, layout, "auto", stream);
                runners.push_back(plans.back().as_runner(sets.back(), false));
            }
            // Rows of the padded table start anywhere; with the rows of a device_image they start on 256 bytes.
            const view_shape pitched = cuda::device_shape(types.table, n + 1, n + 1);
            sets.emplace_back(packed(types.input, n, n), pitched, std::nullopt, stream);
            plans.emplace_back(sets.back(), false, table_layout::padded, "auto", stream);
            runners.push_back(plans.back().as_runner(sets.back(), false));
            const std::vector<double> us = times_of(runners, 8, false, stream);
            const char* const names[] = {"inclusive", "exclusive", "padded", "padded, rows on 256 bytes"};
            constexpr table_layout layouts[] = {table_layout::inclusive, table_layout::exclusive, table_layout::padded,
                                                table_layout::padded};
            for (std::size_t i = 0; i < us.size(); ++i)
                record_line()
                    .text("section", "layouts")
                    .text("types", name_of(types))
                    .number("n", static_cast<double>(n))
                    .text("layout", names[i])
                    .number("us", us[i])
                    .number("x_of_inclusive", us[i] / us[0])
                    .text("check", verdict_after(plans[i], sets[i], layouts[i], stream))
                    .print();
        }
    // Prime extents against the next multiple of any tile.
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const auto& [prime, whole] : {std::pair<std::int64_t, std::int64_t>{4093, 4096}, {8191, 8192}}) {
            const buffer_sets odd(packed(types.input, prime, prime), packed(types.table, prime, prime), {}, stream);
            const buffer_sets even(packed(types.input, whole, whole), packed(types.table, whole, whole), {}, stream);
            const planned a(odd, false, table_layout::inclusive, "auto", stream);
            const planned b(even, false, table_layout::inclusive, "auto", stream);
            const std::vector<double> us =
                times_of({a.as_runner(odd, false), b.as_runner(even, false)}, 8, false, stream);
            record_line()
                .text("section", "prime")
                .text("types", name_of(types))
                .number("n", static_cast<double>(prime))
                .number("us", us[0])
                .number("x_of_whole_tiles", us[0] / us[1])
                .text("check", verdict_after(a, odd, table_layout::inclusive, stream))
                .print();
        }
}

/// On both tables.
std::string verdict_on_squares(const buffer_sets& sets, stream_ref stream) {
    const std::string sums = verdict_on(sets, table_layout::inclusive, stream);
    return sums != "equal" ? sums : verdict_on(sets.image(0), sets.squares(0), table_layout::inclusive, stream, true);
}

void special_case(const std::string& what, const view_shape& image, const view_shape& table,
                  const std::optional<view_shape>& squares, stream_ref stream) {
    const buffer_sets sets(image, table, squares, stream);
    const planned ours(sets, squares.has_value(), table_layout::inclusive, "auto", stream);
    std::vector<runner> runners{ours.as_runner(sets, squares.has_value())};
    const std::int64_t elements = image.planes * image.rows * image.cols * image.channels;
    for (int variant = 0; variant < streaming_variants; ++variant)
        runners.push_back({"streaming " + std::to_string(variant), [&, variant](int set, stream_ref s) {
                               if (squares)
                                   streaming_convert_twice(sets.image(set).data, sets.table(set).data,
                                                           sets.squares(set).data, elements, variant, s);
                               else
                                   streaming_convert(image.type, table.type, sets.image(set).data, sets.table(set).data,
                                                     elements, variant, s);
                           }});
    const std::vector<double> us = times_of(runners, 8, false, stream);
    const double reference = *std::min_element(us.begin() + 1, us.end());
    runners[0].launch(0, stream);
    record_line()
        .text("section", "special")
        .text("case", what)
        .text("algorithm", runners[0].name)
        .number("us", us[0])
        .number("reference_us", reference)
        .number("x", us[0] / reference)
        .text("check", squares ? verdict_on_squares(sets, stream) : verdict_on(sets, table_layout::inclusive, stream))
        .print();
}

/// A pyramid from 1024 x 1024 down to 1 x 1, or many small images: as a list, and image by image.
void list_case(const std::string& name, const std::vector<view_shape>& shapes, stream_ref stream) {
    std::deque<device_buffer> memory;
    std::vector<const_any_view> images;
    std::vector<any_view> tables;
    std::vector<sat_description> what;
    for (const view_shape& image : shapes) {
        view_shape table = packed(dtype::u32, image.rows, image.cols);
        memory.emplace_back(cuda::span_bytes(image), stream);
        test::fill_exact({memory.back().data(), image}, 0, memory.size(), stream);
        images.push_back({memory.back().data(), image});
        memory.emplace_back(cuda::span_bytes(table), stream);
        tables.push_back({memory.back().data(), table});
        what.push_back(describe(images.back(), tables.back()));
    }
    const cuda::sat_list_plan list(what);
    std::vector<cuda::sat_plan> alone;
    std::size_t bytes = list.workspace_bytes();
    for (const sat_description& one : what) bytes = std::max(bytes, alone.emplace_back(one).workspace_bytes());
    const device_buffer workspace(bytes, stream);
    cuda::initialize_workspace_async(workspace, stream);
    const std::vector<runner> runners = {
        {"list", [&](int, stream_ref s) { list.run_async(images, tables, {}, workspace, s); }},
        {"one by one", [&](int, stream_ref s) {
             for (std::size_t i = 0; i < alone.size(); ++i) alone[i].run_async(images[i], tables[i], workspace, s);
         }}};
    for (const bool graph : {false, true}) {
        const std::vector<double> us = times_of(runners, 16, graph, stream);
        std::string verdict = "equal";  // of the list, whose tables are cleared before
        for (const any_view& table : tables)
            BOXSUM_CUDA_TRY(cudaMemsetAsync(table.data, 0, cuda::span_bytes(table.shape), stream.get()));
        runners[0].launch(0, stream);
        for (std::size_t i = 0; i < tables.size() && verdict == "equal"; ++i)
            verdict = verdict_on(images[i], tables[i], table_layout::inclusive, stream);
        record_line()
            .text("section", "special")
            .text("case", name)
            .text("launched", graph ? "graph" : "calls")
            .number("images", static_cast<double>(shapes.size()))
            .number("us", us[0])
            .number("one_by_one_us", us[1])
            .text("check", verdict)
            .print();
    }
}

void special_section(stream_ref stream) {
    special_case("squares 8u32u64u 8192", packed(dtype::u8, 8192, 8192), packed(dtype::u32, 8192, 8192),
                 packed(dtype::u64, 8192, 8192), stream);
    special_case("1024 planes of 256 x 256 8u32u", packed(dtype::u8, 256, 256, 1, 1024),
                 packed(dtype::u32, 256, 256, 1, 1024), {}, stream);
    std::vector<view_shape> pyramid, icons;
    for (std::int64_t n = 1024; n > 0; n /= 2) pyramid.push_back(packed(dtype::u8, n, n));
    for (std::int64_t i = 0; i < 100; ++i) icons.push_back(packed(dtype::u8, 60 + i, 200 - i));
    list_case("pyramid 8u32u from 1024 x 1024", pyramid, stream);
    list_case("100 images 8u32u of about 110 x 150", icons, stream);
    for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}})
        for (const std::int64_t channels : {2, 3, 4})
            special_case(std::to_string(channels) + " channels " + name_of(types) + " 4096",
                         packed(types.input, 4096, 4096, channels), packed(types.table, 4096, 4096, channels), {},
                         stream);
}

void algorithms_section(stream_ref stream) {
    for (const algorithm_record* record : registry(operation::sat)) {
        if (record->info.where != backend::cuda || !record->info.built) continue;
        for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
            for (const std::int64_t n : {1024, 4096, 16384})
                compare_square("algorithms", types, n, false, stream, record->info.name);
    }
}

void peer_line(const std::string& name, type_pair types, std::int64_t n, double us, double reference,
               const std::string& verdict) {
    record_line()
        .text("section", "peers")
        .text("peer", name)
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .number("us", us)
        .number("x", us / reference)
        .text("check", verdict)
        .print();
}

void peers_section(stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const std::int64_t n : {1024, 4096, 8192, 16384}) {
            // NPP's table is padded; the others leave its last row and column alone.
            const buffer_sets sets(packed(types.input, n, n), packed(types.table, n + 1, n + 1), {}, stream);
            const buffer_sets inclusive(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
            const planned ours(inclusive, false, table_layout::inclusive, "auto", stream);
            std::vector<runner> runners = references(types, inclusive);
            const std::size_t first = runners.size();
            runners.push_back(ours.as_runner(inclusive, false));
            runners.push_back({"cub-two-pass", [&](int set, stream_ref s) {
                                   cub_two_pass(types.input, sets.image(set).data, sets.table(set).data, n, s);
                               }});
            if (npp_available() && types.input == dtype::u8)
                runners.push_back({"npp nppiIntegral_8u32s", [&](int set, stream_ref s) {
                                       npp_integral(sets.image(set).data, sets.table(set).data, n, s);
                                   }});
            if (opencv_cuda_available() && types.input == dtype::u8)
                runners.push_back({"opencv cuda cv::cuda::integral", [&](int set, stream_ref s) {
                                       opencv_cuda_integral(sets.image(set).data, sets.table(set).data, n, s);
                                   }});
            const std::vector<double> us = times_of(runners, 4, false, stream);
            std::vector<double> reference_us(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(first));
            const double reference = best_reference(types, runners, reference_us, 0).us;
            for (std::size_t i = first; i < us.size(); ++i) {
                runners[i].launch(0, stream);
                const bool padded = runners[i].name.starts_with("npp") || runners[i].name.starts_with("opencv");
                const any_view table = i == first ? inclusive.table(0)
                                       : padded   ? sets.table(0)
                                                  : any_view{sets.table(0).data, packed(types.table, n, n)};
                peer_line(runners[i].name, types, n, us[i], reference,
                          verdict_on(i == first ? inclusive.image(0) : sets.image(0), table,
                                     padded ? table_layout::padded : table_layout::inclusive, stream));
            }
        }
    if (!npp_available()) record_line().text("section", "peers").text("peer", "npp").text("note", "not found").print();
    if (!opencv_cuda_available())
        record_line().text("section", "peers").text("peer", "opencv cuda").text("note", opencv_cuda_absent).print();
}

/// Wall-clock milliseconds, the best of a few.
template <typename F>
double best_milliseconds(F f) {
    double best = 1e300;
    for (int i = 0; i < 5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
    }
    return best;
}

/// On 300 windows inside the image, wherever a generator of random numbers puts them.
std::string verdict_on_means(const void* image, const void* means, std::int64_t rows, std::int64_t cols,
                             std::int64_t radius) {
    const auto* const pixels = static_cast<const std::uint8_t*>(image);
    const auto* const found = static_cast<const std::uint8_t*>(means);
    std::mt19937_64 random(static_cast<std::uint64_t>(radius));
    std::uniform_int_distribution<std::int64_t> any_row(radius, rows - 1 - radius), any_col(radius, cols - 1 - radius);
    for (int i = 0; i < 300; ++i) {
        const std::int64_t row = any_row(random), col = any_col(random), side = 2 * radius + 1;
        std::int64_t sum = 0;
        for (std::int64_t r = row - radius; r <= row + radius; ++r)
            for (std::int64_t c = col - radius; c <= col + radius; ++c) sum += pixels[r * cols + c];
        if (found[row * cols + col] != (2 * sum + side * side) / (2 * side * side))
            return "WRONG at row " + std::to_string(row) + ", column " + std::to_string(col);
    }
    return "equal in 300 windows";
}

void filters_section(stream_ref stream) {
    const std::int64_t rows = 32768, cols = 32768;
    const view_shape shape = packed(dtype::u8, rows, cols);
    const std::size_t bytes = cuda::span_bytes(shape);
    const pinned_buffer from(bytes), to(bytes);
    std::memset(to.data(), 0, bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        static_cast<std::uint8_t*>(from.data())[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);

    // What the link does both ways at once.
    const cuda::stream up, down;
    const device_buffer a(bytes, up), b(bytes, down);
    up.synchronize();
    down.synchronize();
    const double link = best_milliseconds([&] {
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(a.data(), from.data(), bytes, cudaMemcpyHostToDevice, up.get()));
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(to.data(), b.data(), bytes, cudaMemcpyDeviceToHost, down.get()));
        up.synchronize();
        down.synchronize();
    });
    std::vector<std::uint8_t> pageable_from(bytes), pageable_to(bytes, 2);
    std::memcpy(pageable_from.data(), from.data(), bytes);
    const auto page_locked = [&](const std::string& filter, const view_shape& s, std::int64_t radius) {
        box_filter_options options;
        options.radius = {radius, radius};
        const double pinned = best_milliseconds([&] {
            cuda::box_filter({from.data(), s}, {to.data(), s}, options, stream);
        });
        record_line()
            .text("section", "filters")
            .text("filter", filter)
            .number("n", static_cast<double>(s.cols))
            .number("radius", static_cast<double>(radius))
            .number("ms", pinned)
            .number("link_ms", link)
            .number("of_link", link / pinned)
            .text("check", s.type == dtype::u8 ? verdict_on_means(from.data(), to.data(), s.rows, s.cols, radius)
                                               : "by gpu_filters_test")
            .print();
    };
    for (const std::int64_t radius : {1, 15, 128, 250}) page_locked("box 8u, page-locked", shape, radius);
    try {  // as many bytes of wider pixels, in half as many rows, or half as many of both
        page_locked("box 16u of 16384 rows, page-locked", packed(dtype::u16, rows / 2, cols), 15);
        page_locked("box 32f of 16384 rows, page-locked", packed(dtype::f32, rows / 2, cols / 2), 15);
    } catch (const unsupported&) {  // BOXSUM_TYPES has no table for them
    }
    box_filter_options options;
    options.radius = {15, 15};
    const double pageable = best_milliseconds([&] {
        cuda::box_filter({pageable_from.data(), shape}, {pageable_to.data(), shape}, options, stream);
    });
    record_line()
        .text("section", "filters")
        .text("filter", "box 8u, pageable")
        .number("n", static_cast<double>(rows))
        .number("radius", 15)
        .number("ms", pageable)
        .number("link_ms", link)
        .number("of_link", link / pageable)
        .text("check", verdict_on_means(pageable_from.data(), pageable_to.data(), rows, cols, 15))
        .print();

    // The same image on the device, where nothing travels.
    const device_buffer image(bytes, stream), result(4 * bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(image.data(), from.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
    const auto resident = [&](const char* filter, double radius, bool means, auto run) {
        const double ms = best_milliseconds(run);
        if (means) {
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(to.data(), result.data(), bytes, cudaMemcpyDeviceToHost, stream.get()));
            stream.synchronize();
        }
        record_line()
            .text("section", "filters")
            .text("filter", filter)
            .number("n", static_cast<double>(rows))
            .number("radius", radius)
            .number("ms", ms)
            .number("gigapixels_per_second", static_cast<double>(rows * cols) / ms / 1e6)
            .text("check", means
                               ? verdict_on_means(from.data(), to.data(), rows, cols, static_cast<std::int64_t>(radius))
                               : "by gpu_filters_test")
            .print();
    };
    const const_any_view pixels{image.data(), shape};
    const any_view bytes_out{result.data(), shape}, floats_out{result.data(), packed(dtype::f32, rows, cols)};
    for (const std::int64_t radius : {1, 15, 250}) {
        options.radius = {radius, radius};
        resident("box 8u, on the device", static_cast<double>(radius), true,
                 [&] { cuda::box_filter(pixels, bytes_out, options, stream); });
    }
    const window_size window{31, 31};
    resident("Sauvola 8u, on the device", 15, false,
             [&] { cuda::adaptive_threshold(pixels, bytes_out, {.window = window}, stream); });
    resident("local contrast 8u to 32f, on the device", 15, false,
             [&] { cuda::local_contrast(pixels, floats_out, {.window = window}, stream); });
    const device_buffer radii(bytes, stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(radii.data(), 15, bytes, stream.get()));
    resident("box 8u, a radius map of 15, on the device", 15, true, [&] {
        cuda::variable_box_filter(pixels, {radii.data(), shape}, bytes_out, {}, stream);
    });
}

struct section {
    const char* name;
    void (*run)(stream_ref);
};

constexpr section sections[] = {{"table", table_section},          {"small", small_section},
                                {"layouts", layouts_section},      {"special", special_section},
                                {"peers", peers_section},          {"filters", filters_section},
                                {"algorithms", algorithms_section}};

int run(int count, char** names) {
    cuda::set_device(cuda::device_from_text("cuda"));
    const cuda::stream stream;
    for (const section& s : sections) {
        const bool wanted = count == 0 || std::any_of(names, names + count,
                                                      [&](const char* name) { return std::strcmp(name, s.name) == 0; });
        if (!wanted) continue;
        try {
            s.run(stream);
        } catch (const error& e) {  // the other sections still count
            std::string message = e.what();
            std::replace(message.begin(), message.end(), '"', '\'');
            record_line().text("section", s.name).text("error", message).print();
        }
    }
    return 0;
}

}  // namespace
}  // namespace boxsum::bench

int main(int count, char** arguments) {
    try {
        return boxsum::bench::run(count - 1, arguments + 1);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "boxsum: error: %s\n", e.what());
        return 1;
    }
}
