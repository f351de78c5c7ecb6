#include "sat/device_tables.hpp"

#include "api/registry.hpp"
#include "competitors/device_kernels.hpp"
#include "competitors/host_competitors.hpp"
#include "competitors/opencv_cuda.hpp"
#include "core/validate.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/device_race.hpp"
#include "measure/rounds.hpp"
#include "sat/device_blur.hpp"
#include "sat/host_tables.hpp"
#include "support/device_oracle.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <exception>
#include <memory>

namespace boxsum::bench {
namespace {

constexpr int poison = 0xa5;
constexpr std::int64_t replayed_up_to = 2048;  // from here on a launch costs little beside its work
constexpr std::int64_t host_up_to = 4096;      // the CPU's rows must not take the GPU's time
constexpr std::int64_t opencv_up_to = 20480;   // every fourth thousand, in few rounds
constexpr int opencv_rounds = 3;

/// A round of one candidate is about that long, or one launch: slow exhibits on large images would take the time of
/// all.
constexpr double round_ms = 8;

/// What takes turns in a case.
struct device_candidate {
    table_row row;
    device_launch launch;
    const buffer_sets* sets = nullptr;
    table_layout layout = table_layout::inclusive;
    bool capturable = true;
    int launches = 1;  ///< of a round
};

/// How many of at most `most` launches a round has, by the time of the second: the first loads kernels.
int launches_of(const device_candidate& c, int most, cuda::stream_ref stream) {
    c.launch(0, stream);
    const double once_us = device_stopwatch(stream)([&] { c.launch(1, stream); });
    return computations_for(once_us, round_ms, most);
}

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

table_row row_for(const sat_case& c, const std::string& algorithm, const std::string& parameters = {},
                  const std::string& note = {}) {
    table_row row;
    row.backend = "cuda";
    row.types = name_of(c.types);
    row.rows = c.rows;
    row.cols = c.cols;
    row.algorithm = algorithm;
    row.parameters = parameters;
    row.note = note;
    return row;
}

/// A registered algorithm on a workspace of its own. Exhibits ("scratch") are called without the runtime's clearing of
/// the workspace behind them, which is the library's contract with its users and no part of the papers' algorithms.
device_launch launch_of(const algorithm_record& record, const problem& p, const parameter_values& values,
                        const buffer_sets& sets, cuda::stream_ref stream) {
    const std::size_t bytes = cuda::total_workspace_bytes(record, record.workspace_bytes(p, values));
    const auto workspace = std::make_shared<cuda::device_buffer>(bytes, stream);
    cuda::initialize_workspace_async(workspace->data(), workspace->size(), stream);
    return [&record, p, values, &sets, workspace, bytes](int i, cuda::stream_ref on) {
        execution how;
        how.parameters = values;
        how.stream = on;
        how.workspace = bytes == 0 ? nullptr : workspace->data();
        how.workspace_bytes = bytes;
        record.enqueue(p, {sets.image(i).data, sets.table(i).data, nullptr}, cuda::behind_header(how));
    };
}

void add_variants(const sat_case& c, const buffer_sets& sets, cuda::stream_ref stream,
                  std::vector<device_candidate>& candidates, std::vector<table_row>& not_run) {
    const problem p = make_problem(sets.image(0).shape, sets.table(0).shape, {}, table_layout::inclusive);
    for (const variant& v : c.variants) {
        const algorithm_record& record = *find_record(operation::sat, v.algorithm);
        const parameter_values values = parse_parameters(record, v.parameters);
        table_row row = row_for(c, v.algorithm, v.parameters);
        if (const support s = check_support(record, p, values); !s) {
            row.note = s.reason;
            not_run.push_back(std::move(row));
            continue;
        }
        if (record.cost != nullptr) {
            const algorithm_cost cost = record.cost(p, values);
            row.reads = cost.reads_per_element;
            row.writes = cost.writes_per_element;
            row.launches = cost.launches;
            row.threads = cost.threads;
        }
        candidates.push_back({std::move(row), launch_of(record, p, values, sets, stream), &sets});
    }
}

void add_copies(const sat_case& c, const buffer_sets& sets, std::vector<device_candidate>& candidates) {
    const auto add = [&](const std::string& note, device_launch launch) {
        table_row row = row_for(c, "duplication", {}, note);
        row.what = "copy";
        candidates.push_back({std::move(row), std::move(launch), &sets});
    };
    const type_pair types = c.types;
    const std::int64_t elements = c.rows * c.cols;
    if (types.input == types.table)
        add("cudaMemcpyAsync", [&sets, types, elements](int i, cuda::stream_ref stream) {
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets.table(i).data, sets.image(i).data,
                                            static_cast<std::size_t>(elements) * size_of(types.input),
                                            cudaMemcpyDeviceToDevice, stream.get()));
        });
    else if (has_streaming_convert(types.input, types.table) && elements % 4 == 0)
        for (int variant = 0; variant < streaming_variants; ++variant)
            add("a kernel that reads and converts every element, the best of three",
                [&sets, types, elements, variant](int i, cuda::stream_ref stream) {
                    streaming_convert(types.input, types.table, sets.image(i).data, sets.table(i).data, elements,
                                      variant, stream);
                });
}

void add_competitors(const sat_case& c, const buffer_sets& inclusive, const buffer_sets* padded,
                     std::vector<device_candidate>& candidates, std::vector<table_row>& not_run) {
    const bool bytes_to_words =
        c.types == type_pair{dtype::u8, dtype::s32} || c.types == type_pair{dtype::u8, dtype::u32};
    const std::int64_t n = c.cols;  // those that take one edge length are of experiments with squares
    const auto refuse = [&](const std::string& name, const std::string& why) {
        not_run.push_back(row_for(c, name, {}, why));
    };
    if (has(c.competitors, "npp")) {
        if (!npp_available())
            refuse("npp", "NPP was not found when this was built");
        else if (!bytes_to_words && c.types != type_pair{dtype::u8, dtype::f32})
            refuse("npp", "NPP computes 8u32s and 8u32f alone");
        else
            candidates.push_back(
                {row_for(c, "npp", {},
                         c.types.table == dtype::f32 ? "nppiIntegral_8u32f_C1R_Ctx" : "nppiIntegral_8u32s_C1R_Ctx"),
                 [padded, n, out = c.types.table](int i, cuda::stream_ref stream) {
                     npp_integral(out, padded->image(i).data, padded->table(i).data, n, stream);
                 },
                 padded, table_layout::padded});
    }
    if (has(c.competitors, "opencv-cuda")) {
        if (!opencv_cuda_available())
            refuse("opencv-cuda", opencv_cuda_absent);
        else if (!bytes_to_words)
            refuse("opencv-cuda", "cv::cuda::integral computes 8u32s alone");
        else
            candidates.push_back({row_for(c, "opencv-cuda", {}, "cv::cuda::integral"),
                                  [padded, n](int i, cuda::stream_ref stream) {
                                      opencv_cuda_integral(padded->image(i).data, padded->table(i).data, n, stream);
                                  },
                                  padded, table_layout::padded, false});
    }
    if (has(c.competitors, "cub-two-pass")) {
        if (!bytes_to_words && c.types != type_pair{dtype::f32, dtype::f32})
            refuse("cub-two-pass", "the two passes are compiled for 8u32u and 32f32f");
        else
            candidates.push_back({row_for(c, "cub-two-pass"),
                                  [&inclusive, n, type = c.types.input](int i, cuda::stream_ref stream) {
                                      cub_two_pass(type, inclusive.image(i).data, inclusive.table(i).data, n, stream);
                                  },
                                  &inclusive});
    }
}

/// What set 0 must hold. Copies are not compared: they do no sums.
class expected_tables {
  public:
    expected_tables(const sat_case& c, cuda::stream_ref stream) : oracle_(c.rows * c.cols, stream) {}

    std::string check(const device_candidate& c, cuda::stream_ref stream) {
        if (summed_ != c.sets) {
            oracle_.sum(c.sets->image(0), false, stream);
            summed_ = c.sets;
        }
        oracle_.compare(c.sets->table(0), c.layout, stream);
        const std::string wrong = oracle_.result(stream);
        return wrong.empty() ? "equal" : "wrong: " + wrong;
    }

  private:
    test::device_oracle oracle_;
    const buffer_sets* summed_ = nullptr;
};

/// Kernels of one call, counted and looked at; for broken-down algorithms timed one by one.
void look_inside(device_candidate& c, bool broken_down, int rounds, cuda::stream_ref stream, bench_record& record) {
    if (!c.capturable || c.row.what != "table") return;
    const auto call = [&](int i) { c.launch(i, stream); };
    const captured_graph one([&] { call(0); }, stream);
    c.row.measured_launches = one.kernels();
    c.row.measured_memsets = one.memsets();
    if (one.kernels() == 0) return;

    std::vector<pass_row> passes;
    for (std::int64_t k = 0; k < std::min<std::int64_t>(one.kernels(), 16);
         ++k) {  // a launch per diagonal says no more
        pass_row pass;
        pass.types = c.row.types;
        pass.rows = c.row.rows;
        pass.cols = c.row.cols;
        pass.algorithm = c.row.algorithm;
        pass.parameters = c.row.parameters;
        pass.pass = static_cast<int>(k) + 1;
        try {
            const kernel_facts facts = one.facts(k);
            pass.kernel = facts.name;
            pass.grid = facts.grid;
            pass.block = facts.block;
            pass.registers = facts.registers;
            pass.static_shared_bytes = facts.static_shared_bytes;
            pass.dynamic_shared_bytes = facts.dynamic_shared_bytes;
            pass.local_bytes = facts.local_bytes;
        } catch (const cuda_error& e) {
            pass.note = e.what();
        }
        passes.push_back(std::move(pass));
    }
    // Kernels that wait for flags must not run without the memset that clears them.
    if (broken_down && one.memsets() == 0 && one.others() == 0 && one.kernels() <= 16) {
        captured_graph many(
            [&] {
                for (int i = 0; i < c.launches; ++i) call(i);
            },
            stream);
        for (pass_row& pass : passes) {
            many.enable_kernels(one.kernels(), pass.pass - 1);
            const std::vector<contestant> alone{{c.row.algorithm, [&] { many.launch(stream); }, c.launches}};
            const spread us = race(alone, rounds, device_stopwatch(stream))[0];
            pass.us = us.median;
        }
    }
    for (pass_row& pass : passes) append_pass(record.passes, std::move(pass));
}

/// Runs and checks what is timed; the right ones then take turns.
void check_and_race(std::vector<device_candidate>& candidates, const sat_case& c, const sat_bench_options& options,
                    cuda::stream_ref stream) {
    const auto element_bytes = static_cast<std::int64_t>(size_of(c.types.input) + size_of(c.types.table));
    const int launches = launches_for(c.rows * c.cols * element_bytes);
    const bool graph = std::max(c.rows, c.cols) <= replayed_up_to;
    expected_tables expected(c, stream);
    std::vector<contestant> contestants;
    std::vector<device_candidate*> right;
    for (device_candidate& candidate : candidates) {
        const any_view result = candidate.sets->table(0);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(result.data, poison, cuda::span_bytes(result.shape), stream.get()));
        try {
            const bool captured = graph && candidate.capturable;
            candidate.launches = launches_of(candidate, launches, stream);
            contestant timed =
                device_contestant(candidate.row.algorithm, candidate.launch, candidate.launches, captured, stream);
            if (candidate.row.what == "table") {
                BOXSUM_CUDA_TRY(cudaMemsetAsync(result.data, poison, cuda::span_bytes(result.shape), stream.get()));
                timed.run();
                candidate.row.check = expected.check(candidate, stream);
            }
            candidate.row.launched = captured ? "graph" : "stream";
            if (candidate.row.wrong()) continue;
            contestants.push_back(std::move(timed));
            right.push_back(&candidate);
        } catch (const std::exception& e) {
            candidate.row.check = "wrong: it failed: " + std::string(e.what());
        }
    }
    const std::vector<spread> times = race(contestants, options.rounds, device_stopwatch(stream));
    for (std::size_t i = 0; i < times.size(); ++i) {
        right[i]->row.us = times[i].median;
        right[i]->row.low_us = times[i].low;
        right[i]->row.high_us = times[i].high;
        right[i]->row.rounds = times[i].samples;
    }
    stream.synchronize();
}

/// Of several copies the fastest is the reference.
void keep_best_copy(std::vector<device_candidate>& candidates) {
    const device_candidate* best = nullptr;
    for (const device_candidate& c : candidates)
        if (c.row.what == "copy" && c.row.us && (best == nullptr || *c.row.us < *best->row.us)) best = &c;
    if (best == nullptr) return;
    const table_row row = best->row;
    std::erase_if(candidates, [](const device_candidate& c) { return c.row.what == "copy"; });
    candidates.insert(candidates.begin(), device_candidate{row, {}, nullptr});
}

void measure_tables(const sat_case& c, const sat_bench_options& options, cuda::stream_ref stream,
                    bench_record& record) {
    std::vector<table_row> not_run;
    std::vector<device_candidate> candidates;
    const buffer_sets inclusive(packed(c.types.input, c.rows, c.cols), packed(c.types.table, c.rows, c.cols), {},
                                stream);
    const bool wants_padded = has(c.competitors, "npp") || has(c.competitors, "opencv-cuda");
    const std::unique_ptr<buffer_sets> padded =
        wants_padded && c.types.input == dtype::u8
            ? std::make_unique<buffer_sets>(packed(c.types.input, c.rows, c.cols),
                                            packed(c.types.table, c.rows + 1, c.cols + 1), std::nullopt, stream)
            : nullptr;
    if (c.copy) add_copies(c, inclusive, candidates);
    add_variants(c, inclusive, stream, candidates, not_run);
    add_competitors(c, inclusive, padded.get(), candidates, not_run);
    check_and_race(candidates, c, options, stream);

    for (device_candidate& candidate : candidates) {
        if (!candidate.row.us) continue;
        try {
            look_inside(candidate, has(c.broken_down, candidate.row.algorithm), options.rounds, stream, record);
        } catch (const std::exception& e) {
            candidate.row.note +=
                (candidate.row.note.empty() ? "" : "; ") + std::string("its kernels were not looked at: ") + e.what();
        }
    }
    if (c.blur) measure_blurs(c, options, stream, record);
    keep_best_copy(candidates);
    for (device_candidate& candidate : candidates) record.tables.push_back(std::move(candidate.row));
    std::move(not_run.begin(), not_run.end(), std::back_inserter(record.tables));
}

}  // namespace

void measure_on_device(const sat_case& c, const sat_bench_options& options, bench_record& record) {
    const cuda::stream stream;
    try {
        measure_tables(c, options, stream, record);
    } catch (const out_of_memory& e) {  // a smaller device: the other cases still count
        for (const variant& v : c.variants) record.tables.push_back(row_for(c, v.algorithm, v.parameters, e.what()));
    }
    const std::int64_t n = std::max(c.rows, c.cols);
    sat_case on_host = c;
    sat_bench_options how = options;
    const auto leave_out = [&](const std::string& name, const std::string& why) {
        if (!has(on_host.competitors, name)) return;
        std::erase(on_host.competitors, name);
        record.tables.push_back(row_for(c, name, {}, why));
    };
    if (n > host_up_to) {
        leave_out("serial-cpu", "beside a GPU it is measured up to 4K");
        if (n % host_up_to != 0 || n > opencv_up_to)
            leave_out("opencv-cpu", "beside a GPU it is measured up to 4K, and every 4K up to 20K");
        for (const host_competitor& other : host_competitors())  // before an image is made for it
            if (const support possible = other.supports(c.types); !possible) leave_out(other.name, possible.reason);
        how.rounds = std::min(how.rounds, opencv_rounds);
        if (!has(on_host.competitors, "opencv-cpu")) return;
    }
    for (table_row& row : measure_on_host(on_host, how, false)) record.tables.push_back(std::move(row));
}

}  // namespace boxsum::bench
