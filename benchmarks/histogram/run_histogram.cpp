#include "histogram/run_histogram.hpp"

#include "histogram/answers.hpp"
#include "histogram/device_half.hpp"
#include "histogram/host_tensors.hpp"
#include "histogram/pipelines.hpp"
#include "histogram/plan.hpp"
#include "program/origin.hpp"
#include "program/target.hpp"

#include <boxsum/cuda/device.hpp>

#include <CLI/CLI.hpp>

#include <utility>

namespace boxsum::bench {
namespace {

constexpr const char* footer =
    R"(Repeats the figures of Poostchi et al. 2017 on this machine and prints a line for each row of the record (--json), of
which scripts/paper_docs.py makes the papers' tables. Results are compared with other computations in the same run; a wrong one gets
no time and exit code 1. A record that exists is extended where it is of the same commit, machine and toolkit. Without a
GPU the CPU's rows are measured, and the others say that they are not.

Experiments: sizes (figure 7), parts (8), tuning (9, 10), transfers (11), buffers (13), rates (15), large (16, 17),
threads (19), vga (20), answers (beyond the paper).

Examples:
  boxsum bench hist --json hist.json
  boxsum bench hist --device cpu --quick
  boxsum bench hist --experiments large --bins 32,128 --json hist.json)";

std::string text_of(std::int64_t rows, std::int64_t cols, std::int64_t bins) {
    return std::to_string(rows) + " x " + std::to_string(cols) + ", " + std::to_string(bins) + " bins";
}

bench_record measure(const histogram_bench_options& options, const save_part& save) {
    const target where = target_of(options.device);
    const histogram_cases cases = cases_of(options, where.where);
    bench_record record;
    record.kind = histogram_kind;
    record.origin = origin_of(options.output.commit, where.where, where.device);
    record.settings = "median of " + std::to_string(options.rounds) + " interleaved rounds, streams of up to " +
                      std::to_string(options.frames) + " frames, 1 and " + std::to_string(several_threads(options)) +
                      " threads on the CPU";
    if (where.where == backend::cuda)
        record.settings += ", " + std::to_string(cuda::device_count()) +
                           (cuda::device_count() == 1 ? " device present" : " devices present");
    const auto keep = [&](std::vector<histogram_row> rows) {
        for (histogram_row& row : rows) record.histograms.push_back(std::move(row));
        record.date = now_utc();
        (void)save(record);
    };
    for (const tensor_case& c : cases.tensors) {
        progress(options.output, text_of(c.rows, c.cols, c.bins));
        if (where.where == backend::cuda) keep(measure_on_device(c, options));
        if (c.on_host) keep(measure_on_host(c, options));
    }
    for (const stream_case& c : cases.streams) {
        progress(options.output, "stream of images, " + text_of(c.rows, c.cols, c.bins));
        keep(measure_stream(c, options, where));
    }
    for (const answer_case& c : cases.answers) {
        progress(options.output, "answers to a stream of images, " + text_of(c.rows, c.cols, c.bins));
        keep(measure_answers(c, options, where));
    }
    result_memory memory(cases.large, where.where == backend::cuda);
    for (const large_case& c : cases.large) {
        progress(options.output, "bins as tasks, " + text_of(c.rows, c.cols, c.bins));
        keep(measure_large(c, options, where, memory));
    }
    record.date = now_utc();
    return record;
}

}  // namespace

const CLI::App* add_histogram_command(CLI::App& app, histogram_bench_options& options) {
    CLI::App* const hist = app.add_subcommand("hist", "Integral histograms: the figures of Poostchi et al. 2017");
    hist->footer(footer);
    hist->add_option("--experiments", options.experiments, "which: all, or names, separated by commas")->delimiter(',');
    hist->add_option("--sizes", options.sizes, "edge lengths of square images, e.g. 256,1k (default: 256 to 2k)")
        ->delimiter(',');
    hist->add_option("--bins", options.bins, "of the experiments that vary them (default: 16,32,64,128)")
        ->delimiter(',');
    hist->add_option("--device", options.device, "auto, cpu, cuda, cuda:N")->capture_default_str();
    hist->add_option("--rounds", options.rounds, "interleaved rounds; medians over them")
        ->check(CLI::Range(1, 1001))
        ->capture_default_str();
    hist->add_option("--round-ms", options.round_ms, "about how long a candidate computes in a round, on the CPU")
        ->check(CLI::Range(0.001, 10000.0))
        ->capture_default_str();
    hist->add_option("--frames", options.frames, "of a stream of images, at most")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    hist->add_option("--threads", options.threads, "of the CPU's rows with several; 0: all of the machine")
        ->check(CLI::Range(0, 256))
        ->capture_default_str();
    hist->add_flag("--quick", options.quick, "small images and short streams: a look, not the paper's figures");
    add_output_options(*hist, options.output);
    return hist;
}

cli::exit_code run_histogram(const histogram_bench_options& options) {
    histogram_bench_options chosen = options;
    if (options.quick) {
        chosen.rounds = std::min(options.rounds, 3);
        chosen.frames = std::min(options.frames, 8);
        chosen.round_ms = std::min(options.round_ms, 1.0);
    }
    return report_run(chosen.output, histogram_kind, [&](const save_part& save) { return measure(chosen, save); });
}

}  // namespace boxsum::bench
