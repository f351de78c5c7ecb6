// The integral histogram of the CPU backend beside a plain loop, the paper's sequential algorithm, and the time that
// writing its output alone takes: one process, candidates in turn, random pixels, reused aligned output on huge pages,
// medians. Every output is compared with the plain loop's before it is timed.

#include "histogram/write_limit.hpp"
#include "measure/io_error.hpp"
#include "measure/plain_histogram.hpp"
#include "measure/rounds.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace boxsum::bench {
namespace {

using json = nlohmann::ordered_json;

struct settings {
    std::vector<std::int64_t> sizes{256, 512, 1024};
    std::vector<std::int64_t> bins{32};
    std::vector<int> threads{1, 2};
    std::vector<std::string> isa{"auto", "avx2"};
    std::string type = "32u";
    std::string store = "auto";
    int rounds = 11;
    double round_ms = 20;
    bool sequential = false;
    std::string json_path;
};

template <typename Entry>
std::vector<json> run_case(std::int64_t size, std::int64_t bins, int threads, const settings& s) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size * size));
    std::mt19937_64 generate(1);
    for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(generate() >> 56);
    const image_view<const std::uint8_t> image(pixels.data(), size, size);
    const binning ranges = binning::uniform(bins, 0, 256);
    histogram_table<Entry> tensor(bins, size, size);
    {
        Entry* const first = tensor.view().entries().data();
        std::memset(first, 1, static_cast<std::size_t>(tensor.view().entries().shape().plane_stride));
    }

    histogram_options options;
    options.threads = threads;
    options.store = s.store == "auto"     ? store_policy::automatic
                    : s.store == "cached" ? store_policy::cached
                                          : store_policy::streaming;
    struct subject {
        std::string name;
        std::function<void()> run;
    };
    std::vector<subject> subjects;
    const auto add = [&](const std::string& name, const std::string& algorithm, const std::string& parameters) {
        subjects.push_back({name, [&, algorithm, parameters] {
                                histogram_options o = options;
                                o.algorithm = algorithm;
                                o.parameters = parameters;
                                integral_histogram({image}, ranges, {tensor}, o);
                            }});
    };
    for (const std::string& isa : s.isa) add("cpu, isa " + isa, "cpu", "isa=" + isa);
    if (s.sequential) add("sequential", "sequential", "");
    bool correct = true;
    {
        histogram_table<Entry> expected(bins, size, size);
        plain_histogram<Entry>(image, bins, expected.view().entries());
        for (const subject& c : subjects) {
            c.run();
            correct = correct && same_tensor<Entry>(std::as_const(tensor).view().entries(),
                                                    std::as_const(expected).view().entries());
        }
    }
    memory_pool::shared().trim();
    const auto bytes = static_cast<std::size_t>(tensor.view().entries().shape().plane_stride);
    void* const out = tensor.view().entries().data();
    std::vector<contestant> contestants;
    for (const subject& c : subjects) contestants.push_back(host_contestant(c.name, c.run, s.round_ms));
    const std::size_t behind = contestants.size();
    contestants.push_back(host_contestant(
        "naive", [&] { plain_histogram<Entry>(image, bins, tensor.view().entries()); }, s.round_ms));
    for (const fill_kind kind : {fill_kind::cached, fill_kind::streaming, fill_kind::memset})
        contestants.push_back(host_contestant(
            "fill", [=] { run_write_limit(out, bytes, kind, threads); }, s.round_ms));
    const std::vector<spread> times = race(contestants, s.rounds, host_us);

    const double naive_us = times[behind].median;
    double limit = times[behind + 1].median;
    for (std::size_t i = behind + 2; i < times.size(); ++i) limit = std::min(limit, times[i].median);
    std::vector<json> rows;
    for (std::size_t i = 0; i < behind; ++i) {
        const double us = times[i].median;
        json row;
        row["algorithm"] = contestants[i].name;
        row["size"] = size;
        row["bins"] = bins;
        row["type"] = name_of(dtype_of<Entry>);
        row["threads"] = threads;
        row["correct"] = correct;
        row["us"] = us;
        row["limit_us"] = limit;
        row["limit_cached_us"] = times[behind + 1].median;
        row["limit_streaming_us"] = times[behind + 2].median;
        row["limit_memset_us"] = times[behind + 3].median;
        row["share_of_limit"] = limit / us;
        row["naive_us"] = naive_us;
        row["speedup_over_naive"] = naive_us / us;
        rows.push_back(row);
    }
    return rows;
}

int run(const settings& s) {
    json report;
    report["boxsum"] = version();
    report["instruction_set"] = describe_cpu().instruction_set;
    report["l3_bytes"] = describe_cpu().l3_bytes;
    report["rows"] = json::array();
    std::printf(
        "| algorithm | size, bins | entries | threads | us | limit us | share of limit | naive us | x naive |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    bool correct = true;
    for (const std::int64_t size : s.sizes)
        for (const std::int64_t bins : s.bins)
            for (const int threads : s.threads)
                for (const json& row : s.type == "32u" ? run_case<std::uint32_t>(size, bins, threads, s)
                                                       : run_case<std::uint16_t>(size, bins, threads, s)) {
                    std::printf("| %s%s | %lld^2 x %lld | %s | %d | %.1f | %.1f | %.2f | %.1f | %.2f |\n",
                                row["algorithm"].get<std::string>().c_str(),
                                row["correct"].get<bool>() ? "" : " WRONG RESULT", static_cast<long long>(size),
                                static_cast<long long>(bins), s.type.c_str(), threads, row["us"].get<double>(),
                                row["limit_us"].get<double>(), row["share_of_limit"].get<double>(),
                                row["naive_us"].get<double>(), row["speedup_over_naive"].get<double>());
                    std::fflush(stdout);
                    correct = correct && row["correct"].get<bool>();
                    report["rows"].push_back(row);
                }
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
    CLI::App app{"Measures integral histograms on the CPU beside a plain loop and the time to write their output."};
    app.add_option("--sizes", s.sizes, "edge lengths of square images")->delimiter(',')->check(CLI::Range(1, 1 << 14));
    app.add_option("--bins", s.bins)->delimiter(',')->check(CLI::Range(1, 256));
    app.add_option("--threads", s.threads, "thread counts")->delimiter(',')->check(CLI::Range(1, 256));
    app.add_option("--isa", s.isa, "auto, scalar, avx2, avx512")->delimiter(',');
    app.add_option("--type", s.type, "of the entries; 16u takes images of up to 255^2")
        ->check(CLI::IsMember({"32u", "16u"}));
    app.add_option("--store", s.store)->check(CLI::IsMember({"auto", "cached", "streaming"}));
    app.add_option("--rounds", s.rounds, "interleaved rounds; medians over them")->check(CLI::Range(1, 1001));
    app.add_flag("--sequential", s.sequential, "also the paper's Algorithm 1");
    app.add_option("--json", s.json_path, "also write the results to this file");
    CLI11_PARSE(app, argc, argv);
    try {
        return boxsum::bench::run(s);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_histogram: error: %s\n", e.what());
        return 1;
    }
}
