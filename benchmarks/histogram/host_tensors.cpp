#include "histogram/host_tensors.hpp"

#include "histogram/rows.hpp"
#include "measure/pipeline_runs.hpp"
#include "measure/plain_histogram.hpp"
#include "measure/rounds.hpp"
#include "measure/statistics.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/integral_histogram.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace boxsum::bench {
namespace {

constexpr double slow_us = 50'000;  // fewer rounds from here on
constexpr int rounds_of_slow = 3;
constexpr double very_slow_us = 250'000;  // from here on the run that is compared is the only one

struct candidate {
    histogram_row* row;
    std::function<void()> run;
};

void fill_times(histogram_row& row, const spread& us, double scale) {
    row.us = us.median * scale;
    row.low_us = us.low * scale;
    row.high_us = us.high * scale;
    row.samples = us.samples;
}

/// Times candidates in turn; `scale` computations of what is run make the row's.
void race_rows(const std::vector<candidate>& all, int rounds, double round_ms, double scale) {
    std::vector<contestant> contestants;
    for (const candidate& c : all)
        contestants.push_back(round_ms > 0 ? host_contestant(c.row->algorithm, c.run, round_ms)
                                           : contestant{c.row->algorithm, c.run});
    const std::vector<spread> times = race(contestants, rounds, host_us);
    for (std::size_t i = 0; i < all.size(); ++i) fill_times(*all[i].row, times[i], scale);
}

}  // namespace

std::vector<int> cpu_degrees(int several) {
    std::vector<int> degrees{1};
    for (const int paper : {8, 16})
        if (paper < several) degrees.push_back(paper);
    if (several > 1) degrees.push_back(several);
    return degrees;
}

std::int64_t measured_bins(const tensor_case& c, int threads) {
    std::int64_t bins = c.bins;
    while (bins % 2 == 0 && bins / 2 >= threads && c.rows * c.cols * bins * 4 > most_host_bytes) bins /= 2;
    return bins;
}

int several_threads(const histogram_bench_options& options) {
    return options.threads > 0 ? options.threads : describe_cpu().threads;
}

std::vector<histogram_row> measure_on_host(const tensor_case& c, const histogram_bench_options& options) {
    std::vector<histogram_row> rows;
    const auto add = [&](const char* algorithm, int threads) {
        rows.push_back(row_for("tensor", backend::cpu, c.rows, c.cols, c.bins, algorithm));
        rows.back().threads = threads;
        rows.back().launched = "host";
    };
    const int several = several_threads(options);
    for (const char* algorithm : {"sequential", "cpu"})
        for (const int threads : cpu_degrees(several)) add(algorithm, threads);
    const std::int64_t bins = measured_bins(c, several);
    try {
        const std::vector<std::uint8_t> pixels = random_pixels(c.rows * c.cols);
        const image_view<const std::uint8_t> image(pixels.data(), c.rows, c.cols);
        // The first bins of all; the other pixels are counted nowhere.
        const binning ranges =
            binning::uniform(bins, 0, 256.0 * static_cast<double>(bins) / static_cast<double>(c.bins));
        histogram_table<std::uint32_t> tensor(bins, c.rows, c.cols), expected(bins, c.rows, c.cols);
        plain_histogram<std::uint32_t>(image, c.bins, expected.view().entries());
        const tensor_view<std::uint32_t> entries = tensor.view().entries();
        const double scale = static_cast<double>(c.bins) / static_cast<double>(bins);
        std::vector<candidate> quick, slow;
        for (histogram_row& row : rows) {
            if (bins != c.bins) {
                row.measured_bins = bins;
                row.note = "measured with " + std::to_string(bins) + " of the bins, and scaled";
            }
            histogram_options how;
            how.algorithm = row.algorithm;
            how.threads = row.threads;
            const auto run = [&image, &ranges, &tensor, how] { integral_histogram({image}, ranges, {tensor}, how); };
            try {
                std::memset(entries.data(), 0xa5, static_cast<std::size_t>(entries.shape().plane_stride));
                const double once_us = host_us(run);
                const bool right = same_tensor<std::uint32_t>(entries, std::as_const(expected).view().entries());
                row.check = right ? "equal" : "wrong: differs from a plain loop's";
                if (!right) continue;
                if (once_us > very_slow_us)
                    fill_times(row, spread_of({once_us}), scale);
                else
                    (once_us > slow_us ? slow : quick).push_back({&row, run});
            } catch (...) {
                failed(row);
            }
        }
        race_rows(quick, options.rounds, options.round_ms, scale);
        race_rows(slow, std::min(options.rounds, rounds_of_slow), 0, scale);
    } catch (...) {
        for (histogram_row& row : rows)
            if (!row.us && !row.wrong()) failed(row);
    }
    memory_pool::shared().trim();
    return rows;
}

}  // namespace boxsum::bench
