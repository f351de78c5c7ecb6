// The CPU backend beside OpenCV's cv::integral and the streaming limit of the same traffic: one process, candidates in
// turn, random data, reused aligned output on huge pages, pinned threads, medians. Every output is compared with the
// reference before it is timed.

#include "competitors/opencv_python.hpp"
#include "cpu/core_latency.hpp"
#include "cpu/costly_filters.hpp"
#include "cpu/many_callers.hpp"
#include "cpu/streaming_limit.hpp"
#include "cpu/window_filters.hpp"
#include "measure/host_data.hpp"
#include "measure/io_error.hpp"
#include "measure/rounds.hpp"
#if defined(BOXSUM_BENCH_OPENCV)
#include "competitors/opencv_integral.hpp"
#endif

#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/table.hpp>
#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

using json = nlohmann::ordered_json;

struct settings {
    std::vector<std::string> types;
    std::vector<std::int64_t> sizes;
    std::vector<int> threads;
    std::vector<std::string> only;
    std::string isa = "auto";
    std::string layout = "inclusive";
    std::string rows = "aligned";
    std::string python = "python3";
    std::string store = "auto";
    std::string parameters;
    int rounds = 11;
    double round_ms = 4;
    bool all = false;
    bool avx2 = true;
    bool raw = false;
    std::string json_path;

    bool wants(const char* group) const {
        return only.empty() || std::find(only.begin(), only.end(), group) != only.end();
    }
};

struct target {
    double speedup = 0;  ///< over OpenCV; 0: none
    double share = 0;    ///< of the streaming limit; 0: none
    double newest = 0;   ///< speedup over Python's OpenCV; 0: none
};

/// Below, the newest OpenCV is left out: a call from Python costs as much as the table.
constexpr std::int64_t least_size_of_newest = 256;

/// Rows that start on multiples of 64 bytes, or packed ones.
enum class row_starts { aligned, packed };

struct bench_case {
    dtype input;
    dtype table;
    std::optional<dtype> squares;
    std::int64_t size;
    int threads;
    target goal;
    table_layout layout = table_layout::inclusive;
    row_starts rows = row_starts::aligned;
};

std::string types_of(const bench_case& c) {
    return c.squares ? name_of(squares_triple{c.input, c.table, *c.squares}) : name_of(type_pair{c.input, c.table});
}

/// The table of the foundation's issue. AVX2 rows only count against OpenCV's AVX2 path.
std::vector<bench_case> standard_cases(bool all) {
    std::vector<bench_case> cases;
    const auto add = [&](dtype in, dtype out, std::optional<dtype> sq, std::int64_t size, int threads, target goal) {
        cases.push_back({in, out, sq, size, threads, goal});
    };
    using enum dtype;
    for (const std::int64_t size : {512, 1024}) add(u8, u32, {}, size, 1, {1.8, 0.85});
    if (all) add(u8, u32, {}, 2048, 1, {});
    for (const std::int64_t size : {4096, 8192}) add(u8, u32, {}, size, 1, {1.4, 0.92});
    for (const std::int64_t size : {512, 1024}) add(f32, f32, {}, size, 1, {6.5, 0.85});
    if (all) add(f32, f32, {}, 2048, 1, {});
    for (const std::int64_t size : {4096, 8192}) add(f32, f32, {}, size, 1, {3.2, 0.9});
    for (const std::int64_t size : {512, 1024}) add(f32, f64, {}, size, 1, {3.7, 0.7});
    if (all) add(f32, f64, {}, 2048, 1, {});
    for (const std::int64_t size : {4096, 8192}) add(f32, f64, {}, size, 1, {2.5, 0.92});
    // OpenCV's own layout.
    const auto add_packed = [&](dtype in, dtype out, std::int64_t size, double newest) {
        const double share = size >= 4096 ? 0.92 : 0;
        cases.push_back({in, out, {}, size, 1, {0, share, newest}, table_layout::padded, row_starts::packed});
    };
    for (const std::int64_t size : {512, 1024, 2048, 4096, 8192}) {
        add_packed(u8, u32, size, size <= 1024 ? 1.5 : 1.4);
        if (size != 2048) add_packed(f32, f32, size, size <= 1024 ? 1.6 : 1.7);
        if (size != 2048) add_packed(f32, f64, size, 2.5);
    }
    // A call on a small image costs no more than OpenCV's from C++.
    for (const std::int64_t size : {16, 32, 64, 128, 256})
        for (const type_pair t : {type_pair{u8, u32}, type_pair{f32, f32}, type_pair{f32, f64}})
            cases.push_back({t.input, t.table, {}, size, 1, {1}, table_layout::padded, row_starts::packed});
    add(u8, u32, u64, 1024, 1, {3.5, 0.7});
    add(u8, u32, u64, 4096, 1, {3.5, 0.85});
    if (all)
        for (const std::int64_t size : {256, 512, 1024, 2048}) {
            add(u8, u32, {}, size, 2, {});
            add(f32, f32, {}, size, 2, {});
            add(f32, f64, {}, size, 2, {});
        }
    for (const std::int64_t size : {4096, 8192}) {
        add(u8, u32, {}, size, 2, {0, 0.85});
        add(f32, f32, {}, size, 2, {0, 0.85});
        add(f32, f64, {}, size, 2, {0, 0.85});
    }
    add(u8, u32, u64, 4096, 2, {0, 0.85});
    if (all) {
        for (const type_pair t : type_pairs()) add(t.input, t.table, {}, 1024, 1, {});
        for (const squares_triple t : squares_triples()) add(t.input, t.table, t.squares, 1024, 1, {});
    }
    return cases;
}

std::vector<bench_case> avx2_cases() {
    using enum dtype;
    return {{u8, u32, {}, 512, 1, {1.3, 0}}, {u8, u32, {}, 1024, 1, {1.5, 0}}, {u8, u32, {}, 4096, 1, {}},
            {u8, f32, {}, 512, 1, {}},       {u8, f32, {}, 4096, 1, {}},       {f32, f32, {}, 512, 1, {}},
            {f32, f32, {}, 1024, 1, {}},     {f32, f64, {}, 1024, 1, {}},      {u8, u32, u64, 1024, 1, {}}};
}

/// Whether the row shows what a part of a larger image costs beside a whole one.
bool shows_part(const bench_case& c) {
    return c.size >= 1024 && !c.squares;
}

/// The groups of --only.
bool wanted(const bench_case& c, const settings& s) {
    if (c.size < 512) return s.wants("small");
    if (c.rows == row_starts::packed) return s.wants("packed");
    return s.wants("aligned") || (s.wants("parts") && c.threads == 1 && shows_part(c));
}

std::vector<bench_case> chosen_cases(const settings& s) {
    if (s.types.empty()) {
        std::vector<bench_case> cases = s.isa == "avx2" ? avx2_cases() : standard_cases(s.all);
        for (bench_case& c : cases)
            if (c.rows == row_starts::aligned) c.layout = *layout_from_name(s.layout);
        std::erase_if(cases, [&](const bench_case& c) {
            return !wanted(c, s) ||
                   (!s.sizes.empty() && std::find(s.sizes.begin(), s.sizes.end(), c.size) == s.sizes.end()) ||
                   (!s.threads.empty() && std::find(s.threads.begin(), s.threads.end(), c.threads) == s.threads.end());
        });
        return cases;
    }
    std::vector<bench_case> cases;
    for (const std::string& name : s.types) {
        const std::size_t before = cases.size();
        const auto add = [&](dtype in, dtype out, std::optional<dtype> squares) {
            for (const std::int64_t size : s.sizes.empty() ? std::vector<std::int64_t>{512, 1024, 4096} : s.sizes)
                for (const int threads : s.threads.empty() ? std::vector<int>{1} : s.threads)
                    cases.push_back({in,
                                     out,
                                     squares,
                                     size,
                                     threads,
                                     {},
                                     *layout_from_name(s.layout),
                                     s.rows == "packed" ? row_starts::packed : row_starts::aligned});
        };
        for (const type_pair t : type_pairs())
            if (name_of(t) == name) add(t.input, t.table, {});
        for (const squares_triple t : squares_triples())
            if (name_of(t) == name) add(t.input, t.table, t.squares);
        if (cases.size() == before) throw invalid_argument("--types: '" + name + "' is no type pair or triple");
    }
    return cases;
}

/// What a part of n x n pixels takes over: the corner and n entries above it, then n to its left, 100 a pixel.
void fill_carries(void* data, dtype type, std::int64_t n) {
    const auto fill = [&]<typename T>(T* entries) {
        for (std::int64_t i = 0; i <= n; ++i) entries[i] = static_cast<T>(100 * i);
        for (std::int64_t i = 0; i < n; ++i) entries[n + 1 + i] = static_cast<T>(100 * (i + 1));
    };
    if (type == dtype::f32)
        fill(static_cast<float*>(data));
    else if (type == dtype::f64)
        fill(static_cast<double*>(data));
    else if (size_of(type) == 4)
        fill(static_cast<std::uint32_t*>(data));
    else
        fill(static_cast<std::uint64_t*>(data));
}

table_carries carries_in(const void* data, dtype type, std::int64_t n) {
    const auto element = static_cast<std::int64_t>(size_of(type));
    return {{data, {type, 1, 1, n + 1, 1, (n + 1) * element, 0}},
            {static_cast<const std::byte*>(data) + (n + 1) * element, {type, 1, n, 1, 1, element, 0}}};
}

json run_case(const bench_case& c, const settings& s, opencv_python& newest) {
    memory_pool& pool = memory_pool::shared();
    const table_form form = c.layout;
    const std::int64_t alignment = c.rows == row_starts::aligned ? 64 : 1;
    const view_shape in_shape = aligned_shape(c.input, c.size, c.size, 1);
    const view_shape out_shape =
        aligned_shape(c.table, form.table_extent(c.size), form.table_extent(c.size), alignment);
    // The padded table of OpenCV needs a little more than ours.
    const auto bytes = [&](std::size_t element) {
        return static_cast<std::size_t>((c.size + 64) * (c.size + 64)) * element + 4096;
    };
    const host_buffer in = pool.acquire(bytes(size_of(c.input)));
    const host_buffer out = pool.acquire(bytes(size_of(c.table)));
    const host_buffer squares = pool.acquire(c.squares ? bytes(8) : 0);
    std::memset(in.data(), 0, in.size());
    std::memset(out.data(), 0, out.size());
    std::memset(squares.data(), 0, squares.size());
    fill_random(in.data(), c.input, c.size * c.size);
    const const_any_view image{in.data(), in_shape};
    const any_view table{out.data(), out_shape};
    sat_outputs outputs{.sums = {table, form}};
    if (c.squares)
        outputs.squares = {{squares.data(), aligned_shape(*c.squares, out_shape.rows, out_shape.cols, alignment)},
                           form};

    sat_options options;
    if (s.isa != "auto" || !s.parameters.empty()) {  // else as callers have them: the text takes time to read
        options.algorithm = "simd";
        options.parameters = "isa=" + s.isa + (s.parameters.empty() ? "" : "," + s.parameters);
    }
    options.threads = c.threads;
    options.store = s.store == "auto"     ? store_policy::automatic
                    : s.store == "cached" ? store_policy::cached
                                          : store_policy::streaming;
    const auto run_ours = [&] { sat({image}, outputs, options); };
    run_ours();
    bool correct = true;
    {
        const host_buffer expected = pool.acquire(static_cast<std::size_t>(out_shape.plane_stride));
        const view_shape& squares_shape = outputs.squares.entries.shape;
        const host_buffer expected_squares =
            pool.acquire(c.squares ? static_cast<std::size_t>(squares_shape.plane_stride) : 0);
        sat_outputs want{.sums = {{expected.data(), out_shape}, form}};
        if (c.squares) want.squares = {{expected_squares.data(), squares_shape}, form};
        sat({image}, want, {.algorithm = "reference"});
        correct = same_table(table, want.sums.entries) &&
                  (!c.squares || same_table(outputs.squares.entries, want.squares.entries));
    }
    pool.trim();

    std::vector<contestant> candidates;
    const auto add = [&](std::string name, std::function<void()> run) {
        candidates.push_back(host_contestant(std::move(name), std::move(run), s.round_ms));
    };
    add("boxsum", run_ours);
    // The same image as a part of a larger one. Behind the whole, as that has left the table in the caches, which the
    // limits' streaming stores take out of them.
    const host_buffer carried = pool.acquire(static_cast<std::size_t>(2 * c.size + 1) * size_of(c.table));
    fill_carries(carried.data(), c.table, c.size);
    const sat_inputs part{.image = image, .carries = carries_in(carried.data(), c.table, c.size)};
    const bool has_part = shows_part(c);
    if (has_part) add("part", [&] { sat(part, outputs, options); });
    const traffic t{in.data(),
                    out.data(),
                    squares.data(),
                    static_cast<int>(size_of(c.input)),
                    static_cast<int>(size_of(c.table)),
                    c.squares ? static_cast<int>(size_of(*c.squares)) : 0};
    for (const limit_stores stores : {limit_stores::cached, limit_stores::fetched, limit_stores::streaming})
        add("limit", [&, stores] { run_streaming_limit(t, c.size * c.size, stores, c.threads); });
#if defined(BOXSUM_BENCH_OPENCV)
    const bool opencv = opencv_has_integral(c.input, c.table, c.squares);
    if (opencv) add("OpenCV", [&] { run_opencv_integral(image, c.table, out.data(), c.squares, squares.data()); });
#endif
    if (c.size >= least_size_of_newest && !c.squares &&
        newest.prepare("integral", name_of(type_pair{c.input, c.table}), c.size))
        candidates.push_back(newest.turns(s.round_ms));
    const double latency = c.threads > 1 ? round_trip_ns() : 0;
    const std::vector<spread> times = race(candidates, s.rounds, newest.watch());

    const double ours = times[0].median;
    const std::size_t limits = has_part ? 2 : 1;
    const double cached = times[limits].median, fetched = times[limits + 1].median,
                 streaming = times[limits + 2].median;
    const double limit = std::min({cached, fetched, streaming});
    const cpu_decision decided = decide_sat({image}, {.sums = outputs.sums}, options);
    json row;
    row["types"] = types_of(c);
    row["size"] = c.size;
    row["layout"] = name_of(c.layout);
    row["rows"] = c.rows == row_starts::aligned ? "aligned" : "packed";
    row["threads"] = c.threads;
    row["instruction_set"] = decided.instruction_set;
    row["store"] = decided.store == store_policy::streaming ? "streaming" : "cached";
    row["scheme"] = decided.scheme;
    row["correct"] = correct;
    row["boxsum_us"] = ours;
    row["limit_us"] = limit;
    row["limit_cached_us"] = cached;
    row["limit_fetched_us"] = fetched;
    row["limit_streaming_us"] = streaming;
    row["share_of_limit"] = limit / ours;
    if (has_part) {
        row["part_us"] = times[1].median;
        row["part_over_whole"] = times[1].median / ours;
    }
    for (std::size_t i = limits + 3; i < times.size(); ++i) {
        const std::string name = candidates[i].name == "OpenCV" ? "opencv" : "newest";
        row[name + "_us"] = times[i].median;
        row["speedup_over_" + name] = times[i].median / ours;
    }
    if (latency > 0) row["round_trip_ns"] = latency;
    if (c.goal.speedup > 0) row["target_speedup"] = c.goal.speedup;
    if (c.goal.share > 0) row["target_share"] = c.goal.share;
    if (c.goal.newest > 0) row["target_newest"] = c.goal.newest;
    return row;
}

std::string goal_text(const json& row, const char* value, const char* goal) {
    if (!row.contains(value)) return "-";
    char text[64];
    if (!row.contains(goal)) {
        std::snprintf(text, sizeof text, "%.2f", row[value].get<double>());
    } else {
        const double got = row[value];
        const double wanted = row[goal];
        std::snprintf(text, sizeof text, "%.2f (>= %.2f: %s)", got, wanted, got >= wanted ? "yes" : "no");
    }
    return text;
}

void print_header() {
    std::printf(
        "| types | size | rows | threads | isa, stores | boxsum us | limit us | OpenCV us | newest us | against OpenCV "
        "| "
        "against newest | share of limit | part over whole | round trip ns "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

void print_row(const json& row) {
    const auto number = [&](const char* name) -> std::string {
        if (!row.contains(name)) return "-";
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", row[name].get<double>());
        return text;
    };
    std::printf("| %s | %lld^2 | %s | %d | %s, %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
                row["types"].get<std::string>().c_str(), static_cast<long long>(row["size"].get<std::int64_t>()),
                row["rows"].get<std::string>().c_str(), row["threads"].get<int>(),
                row["instruction_set"].get<std::string>().c_str(),
                (row["store"].get<std::string>() + (row["scheme"] == "bands" ? ", bands" : "")).c_str(),
                row["correct"].get<bool>() ? "" : ", WRONG RESULT", number("boxsum_us").c_str(),
                number("limit_us").c_str(), number("opencv_us").c_str(), number("newest_us").c_str(),
                goal_text(row, "speedup_over_opencv", "target_speedup").c_str(),
                goal_text(row, "speedup_over_newest", "target_newest").c_str(),
                goal_text(row, "share_of_limit", "target_share").c_str(),
                goal_text(row, "part_over_whole", "target_part").c_str(), number("round_trip_ns").c_str());
    std::fflush(stdout);
}

/// OpenCV chooses its instructions when it is loaded, so its AVX2 path needs a process of its own.
json run_avx2_child(const settings& s) {
    char self[4096];
    const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) throw io_error("/proc/self/exe cannot be read");
    self[length] = '\0';
    ::setenv("BOXSUM_BENCH_SELF", self, 1);
    std::FILE* const pipe =
        ::popen(("OPENCV_CPU_DISABLE=AVX512-SKX \"$BOXSUM_BENCH_SELF\" --isa avx2 --no-avx2 --raw --python '' "
                 "--rounds " +
                 std::to_string(s.rounds))
                    .c_str(),
                "r");
    if (pipe == nullptr) throw io_error("the process for the AVX2 comparison cannot be started");
    std::string text;
    char part[4096];
    for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
    if (::pclose(pipe) != 0) throw std::runtime_error("the process for the AVX2 comparison failed");
    return json::parse(text);
}

json describe_machine() {
    const cpu_info& cpu = describe_cpu();
    json m;
    m["boxsum"] = version();
    m["instruction_set"] = cpu.instruction_set;
    m["threads"] = cpu.threads;
    m["l1_bytes"] = cpu.l1_bytes;
    m["l2_bytes"] = cpu.l2_bytes;
    m["l3_bytes"] = cpu.l3_bytes;
    m["l3_cpus"] = cpu.l3_cpus;
    m["streaming_from_bytes"] = cpu.streaming_from_bytes;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.rfind("model name", 0) == 0 || line.rfind("cpu family", 0) == 0 || line.rfind("model\t", 0) == 0) {
            const std::size_t colon = line.find(':');
            std::string key = line.substr(0, line.find('\t'));
            if (!m.contains(key) && colon + 2 <= line.size()) m[key] = line.substr(colon + 2);
        }
#if defined(BOXSUM_BENCH_OPENCV)
    m["opencv"] = opencv_version();
#endif
    return m;
}

/// Before threads are pinned: callers would inherit the one processor of the first.
json run_callers(const settings& s) {
    json rows = json::array();
    if (!s.raw)
        std::printf(
            "| types | size | callers | us a table, in turn | all at once | over in turn "
            "|\n|---|---|---|---|---|---|\n");
    for (const std::int64_t size : {256, 512, 1024})
        for (const int callers : {2, 8, 32}) {
            const callers_times times = time_callers({dtype::u8, dtype::u32}, size, callers, s.rounds, s.round_ms);
            json row;
            row["types"] = "8u32u";
            row["size"] = size;
            row["callers"] = callers;
            row["correct"] = times.correct;
            row["in_turn_us"] = times.in_turn_us.median;
            row["together_us"] = times.together_us.median;
            row["together_over_in_turn"] = times.together_us.median / times.in_turn_us.median;
            row["target_most"] = 1.05;
            if (!s.raw)
                std::printf("| 8u32u | %lld^2 | %d | %.1f | %.1f | %.2f (<= 1.05: %s)%s |\n",
                            static_cast<long long>(size), callers, times.in_turn_us.median, times.together_us.median,
                            row["together_over_in_turn"].get<double>(),
                            row["together_over_in_turn"].get<double>() <= 1.05 ? "yes" : "no",
                            times.correct ? "" : " WRONG RESULT");
            std::fflush(stdout);
            rows.push_back(std::move(row));
        }
    if (!s.raw) std::printf("\n");
    return rows;
}

/// 32 bins of 512 rows, one thread, past the caches: tensors whose rows start anywhere beside ones on multiples of 64
/// bytes, by time a pixel.
json run_histograms(const settings& s) {
    constexpr std::int64_t rows = 512, bins = 32, widest = 720;
    struct shape {
        std::int64_t cols;
        table_layout layout;
        std::int64_t alignment;
    };
    constexpr shape shapes[] = {{512, table_layout::inclusive, 64}, {513, table_layout::inclusive, 64},
                                {513, table_layout::inclusive, 1},  {512, table_layout::padded, 1},
                                {600, table_layout::padded, 1},     {720, table_layout::padded, 1}};
    memory_pool& pool = memory_pool::shared();
    const host_buffer pixels = pool.acquire(rows * widest);
    fill_random(pixels.data(), dtype::u8, rows * widest);
    const host_buffer tensor = pool.acquire(static_cast<std::size_t>(bins * (rows + 1) * (widest + 64) * 4));
    std::memset(tensor.data(), 0, tensor.size());
    const binning rule = binning::uniform(bins, 0, 256);
    std::vector<contestant> candidates;
    for (const shape& c : shapes)
        candidates.push_back(host_contestant(
            "boxsum",
            [&, c] {
                const std::int64_t border = c.layout == table_layout::padded ? 1 : 0, n = c.cols + border;
                const std::int64_t row = (n * 4 + c.alignment - 1) / c.alignment * c.alignment,
                                   bin = row * (rows + border);
                const any_histogram_view out{
                    {tensor.data(), {dtype::u32, 1, bins, rows + border, n, row, bin, bin * bins}}, c.layout};
                integral_histogram(
                    {image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(pixels.data()), rows, c.cols)},
                    rule, {out}, {.threads = 1, .store = store_policy::streaming});
            },
            s.round_ms));
    const std::vector<spread> times =
        race(candidates, s.rounds, [](const std::function<void()>& run) { return host_us(run); });
    json result = json::array();
    if (!s.raw)
        std::printf(
            "| 8u, 32 bins, 512 rows | columns | rows | us | a pixel, over the first |\n|---|---|---|---|---|\n");
    for (std::size_t i = 0; i < times.size(); ++i) {
        const shape& c = shapes[i];
        json row;
        row["cols"] = c.cols;
        row["layout"] = name_of(c.layout);
        row["rows"] = c.alignment == 64 ? "aligned" : "packed";
        row["us"] = times[i].median;
        row["over_aligned"] = times[i].median / static_cast<double>(c.cols) / (times[0].median / 512.0);
        row["target_most"] = 1.1;
        if (!s.raw)
            std::printf("| %s | %lld | %s | %.0f | %.2f (<= 1.10: %s) |\n", std::string(name_of(c.layout)).c_str(),
                        static_cast<long long>(c.cols), c.alignment == 64 ? "aligned" : "packed", times[i].median,
                        row["over_aligned"].get<double>(), row["over_aligned"].get<double>() <= 1.1 ? "yes" : "no");
        result.push_back(std::move(row));
    }
    if (!s.raw) std::printf("\n");
    return result;
}

/// Tables with an offset or an origin beside the plain one, padded, one thread.
json run_forms(const settings& s) {
    using enum dtype;
    memory_pool& pool = memory_pool::shared();
    json result = json::array();
    if (!s.raw) std::printf("| types | size | form | us, plain | us | over plain |\n|---|---|---|---|---|---|\n");
    for (const std::int64_t size : {512, 1024, 4096})
        for (const type_pair t : {type_pair{u8, s32}, type_pair{s16, s32}, type_pair{f32, f32}, type_pair{f32, f64}}) {
            const auto image_element = static_cast<std::int64_t>(size_of(t.input));
            const std::int64_t row = ((size + 1) * static_cast<std::int64_t>(size_of(t.table)) + 63) / 64 * 64;
            const host_buffer pixels = pool.acquire(static_cast<std::size_t>(size * size * image_element));
            fill_random(pixels.data(), t.input, size * size);
            const host_buffer entries = pool.acquire(static_cast<std::size_t>((size + 1) * row));
            std::memset(entries.data(), 0, entries.size());
            const const_any_view image{pixels.data(), {t.input, 1, size, size, 1, size * image_element}};
            struct named_form {
                const char* name;
                table_form form;
            };
            const named_form forms[] = {{"plain", table_layout::padded},
                                        {"offset", {table_layout::padded, {}, 100}},
                                        {"origin", {table_layout::padded, {size / 2, size / 2}}},
                                        {"both", {table_layout::padded, {size / 2, size / 2}, 100}}};
            std::vector<contestant> candidates;
            for (const named_form& f : forms)
                candidates.push_back(host_contestant(
                    "boxsum",
                    [&, f] {
                        const any_view out{entries.data(), {t.table, 1, size + 1, size + 1, 1, row}};
                        sat({image}, {{out, f.form}}, {.threads = 1});
                    },
                    s.round_ms));
            const std::vector<spread> times =
                race(candidates, s.rounds, [](const std::function<void()>& call) { return host_us(call); });
            for (std::size_t i = 1; i < times.size(); ++i) {
                json line;
                line["types"] = name_of(t);
                line["size"] = size;
                line["form"] = forms[i].name;
                line["plain_us"] = times[0].median;
                line["us"] = times[i].median;
                line["over_plain"] = times[i].median / times[0].median;
                line["target_most"] = 1.05;
                if (!s.raw)
                    std::printf("| %s | %lld^2 | %s | %.0f | %.0f | %.2f (<= 1.05: %s) |\n", name_of(t).c_str(),
                                static_cast<long long>(size), forms[i].name, times[0].median, times[i].median,
                                line["over_plain"].get<double>(),
                                line["over_plain"].get<double>() <= 1.05 ? "yes" : "no");
                std::fflush(stdout);
                result.push_back(std::move(line));
            }
        }
    if (!s.raw) std::printf("\n");
    return result;
}

/// "1.52 (<= 1.60: yes)"
std::string ratio_text(const marked_ratio& r) {
    char text[64];
    if (r.target == 0)
        std::snprintf(text, sizeof text, "%.2f", r.value);
    else
        std::snprintf(text, sizeof text, "%.2f (%s %.2f: %s)", r.value, r.at_most ? "<=" : ">=", r.target,
                      r.is_reached() ? "yes" : "no");
    return text;
}

json row_of(const filter_time& t) {
    json row;
    row["group"] = t.group;
    row["filter"] = t.filter;
    row["pixels"] = t.pixels;
    row["size"] = t.size;
    row["radius"] = t.radius;
    row["threads"] = t.threads;
    row["instruction_set"] = t.instruction_set;
    row["correct"] = t.correct;
    if (!t.correct) return row;
    row["boxsum_us"] = t.us;
    if (t.copy_us > 0) row["copy_us"] = t.copy_us;
    if (t.peer_us > 0) {
        row["opencv"] = t.peer;
        row["opencv_us"] = t.peer_us;
    }
    if (t.newest_us > 0) {
        row["newest"] = t.newest;
        row["newest_us"] = t.newest_us;
    }
    for (const marked_ratio& r : t.ratios) {
        row[r.name] = r.value;
        if (r.target > 0) row[r.target_name] = r.target;
    }
    return row;
}

/// Filters of windows, in few rounds: some minutes in all.
json run_filters(const settings& s, opencv_python& newest, int most_threads) {
    json result = json::array();
    const auto take = [&](const filter_time& t) {
        if (!s.raw && result.empty())
            std::printf(
                "| filter | pixels | size | radius | threads, isa | boxsum us | copy us | OpenCV us | newest us "
                "| ratios |\n|---|---|---|---|---|---|---|---|---|---|\n");
        std::string ratios;
        for (const marked_ratio& r : t.ratios)
            ratios += (ratios.empty() ? "" : ", ") + std::string(r.name) + " " + ratio_text(r);
        if (!s.raw)
            std::printf("| %s%s | %s | %lld^2 | %lld | %d, %s | %.0f | %.0f | %.0f | %.0f | %s |\n", t.filter.c_str(),
                        t.correct ? "" : ", WRONG RESULT", t.pixels.c_str(), static_cast<long long>(t.size),
                        static_cast<long long>(t.radius), t.threads, t.instruction_set.c_str(), t.us, t.copy_us,
                        t.peer_us, t.newest_us, ratios.c_str());
        std::fflush(stdout);
        result.push_back(row_of(t));
    };
    const filter_settings settings{[&](std::string_view group) { return s.wants(std::string(group).c_str()); }, take,
                                   &newest, std::min(s.rounds, 5), most_threads};
    time_window_filters(settings);
    time_costly_filters(settings);
    if (!s.raw && !result.empty()) std::printf("\n");
    return result;
}

int run(const settings& s) {
    const bool with_callers = s.types.empty() && s.isa == "auto" && s.wants("callers");
    const json callers = with_callers ? run_callers(s) : json::array();
    const int pinned = pin_threads();
    json report;
    report["machine"] = describe_machine();
    report["pinned_threads"] = pinned;
    opencv_python newest(s.python);
    if (newest.version().empty())
        std::fprintf(stderr, "bench_cpu: the newest OpenCV is left out: %s\n", newest.absent().c_str());
    else
        report["machine"]["newest_opencv"] = newest.version() + ", called from Python";
    if (s.types.empty() && s.isa == "auto" && s.wants("histograms")) report["histograms"] = run_histograms(s);
    if (s.types.empty() && s.isa == "auto" && s.wants("forms")) report["forms"] = run_forms(s);
    bool correct = true;
    if (s.types.empty() && s.isa == "auto") {
        json filters = run_filters(s, newest, pinned);
        if (!filters.empty()) report["filters"] = std::move(filters);
    }
    for (const json& row : report.value("filters", json::array())) correct = correct && row["correct"].get<bool>();
    report["rows"] = json::array();
    if (!s.raw) {
        std::printf("machine: %s\n\n", report["machine"].dump().c_str());
        print_header();
    }
    if (with_callers) report["callers"] = callers;
    for (const json& row : callers) correct = correct && row["correct"].get<bool>();
    const auto take = [&](json row) {
        correct = correct && row["correct"].get<bool>();
        if (!s.raw) print_row(row);
        report["rows"].push_back(std::move(row));
    };
    for (const bench_case& c : chosen_cases(s))
        if (c.threads <= std::max(pinned, 1)) take(run_case(c, s, newest));
    const bool has_avx2 =
        std::count(describe_cpu().instruction_sets.begin(), describe_cpu().instruction_sets.end(), "avx2") > 0;
    if (s.avx2 && s.types.empty() && s.isa == "auto" && s.wants("avx2") && has_avx2) {
        const json child = run_avx2_child(s);  // outlives the loop, unlike a temporary in its head
        for (const json& row : child["rows"]) take(row);
    }
    if (s.raw) std::cout << report.dump() << '\n';
    if (!s.json_path.empty()) {
        std::ofstream file(s.json_path);
        file << report.dump(2) << '\n';
        if (!file.flush()) throw io_error("--json: '" + s.json_path + "' cannot be written");
    }
    return correct ? 0 : 1;
}

}  // namespace
}  // namespace boxsum::bench

int main(int argc, char** argv) {
    boxsum::bench::settings s;
    CLI::App app{"Measures the CPU backend beside OpenCV and the streaming limit of the same traffic."};
    app.add_option("--types", s.types, "type pairs or triples, e.g. 8u32u,8u32u64u (default: the table of targets)")
        ->delimiter(',');
    app.add_option("--sizes", s.sizes, "edge lengths of square images")->delimiter(',')->check(CLI::Range(1, 1 << 16));
    app.add_option("--threads", s.threads, "thread counts")->delimiter(',')->check(CLI::Range(1, 256));
    app.add_option("--only", s.only,
                   "groups of the table of targets: aligned, packed (OpenCV's own layout), parts (a part beside the "
                   "whole), small, callers (many threads at once), histograms (of any width), forms (with an offset or "
                   "an origin), avx2; filters (windows around all pixels), filters-avx2, filters-threads (two), "
                   "filters-small (images), filters-flat (images whose pixels are all alike), filters-costly (guided, "
                   "non-local means, blobs)")
        ->delimiter(',')
        ->check(
            CLI::IsMember({"aligned", "packed", "parts", "small", "callers", "histograms", "forms", "avx2", "filters",
                           "filters-avx2", "filters-threads", "filters-small", "filters-flat", "filters-costly"}));
    app.add_option("--isa", s.isa, "auto, scalar, avx2, avx512, avx512-vnni, neon");
    app.add_option("--layout", s.layout)->check(CLI::IsMember({"inclusive", "exclusive", "padded"}));
    app.add_option("--rows", s.rows, "of tables of --types: aligned to 64 bytes, or packed")
        ->check(CLI::IsMember({"aligned", "packed"}));
    app.add_option("--python", s.python, "interpreter whose cv2 is the newest OpenCV; '' leaves it out");
    app.add_option("--store", s.store)->check(CLI::IsMember({"auto", "cached", "streaming"}));
    app.add_option("--parameters", s.parameters, "more of the algorithm's, e.g. scheme=bands,fetch=off");
    app.add_option("--rounds", s.rounds, "interleaved rounds; medians over them")->check(CLI::Range(1, 1001));
    app.add_flag("--all", s.all, "also sizes, thread counts and types without a target");
    app.add_flag("!--no-avx2", s.avx2, "leave out the AVX2 comparison");
    app.add_flag("--raw", s.raw, "print JSON instead of the table");
    app.add_option("--json", s.json_path, "also write the results to this file");
    CLI11_PARSE(app, argc, argv);
    try {
        return boxsum::bench::run(s);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_cpu: error: %s\n", e.what());
        return 1;
    }
}
