#include "histogram/plan.hpp"

#include "api/registry.hpp"
#include "errors.hpp"
#include "program/target.hpp"

#include <algorithm>

namespace boxsum::bench {
namespace {

using names = std::vector<std::string>;

constexpr std::int64_t paper_bins = 32;
constexpr int frames_of_rates = 40;
constexpr std::int64_t tuned_size = 512;  // of figures 9, 10, 15 (c, d) and 19 (b)

bool has(const names& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/// The paper's four from slow to fast, then ours.
std::vector<histogram_variant> every_algorithm() {
    std::vector<histogram_variant> all;
    for (const algorithm_record* r : registry(operation::histogram))
        if (r->info.where == backend::cuda) all.push_back({std::string(r->info.name)});
    std::reverse(all.begin(), all.end());
    return all;
}

/// Every block and tile of wf-tis.
std::vector<histogram_variant> every_wave_front() {
    std::vector<histogram_variant> all;
    const algorithm_record& record = *find_record(operation::histogram, "wf-tis");
    for (std::size_t tile = 0; tile < record.info.parameters[0].values.size(); ++tile)
        for (std::size_t threads = 0; threads < record.info.parameters[1].values.size(); ++threads) {
            parameter_values values;
            values.choice[0] = static_cast<std::uint8_t>(tile);
            values.choice[1] = static_cast<std::uint8_t>(threads);
            const bool is_default = values == parameter_values{};  // measured without naming it
            all.push_back({"wf-tis", is_default ? std::string() : format_parameters(record, values)});
        }
    return all;
}

class case_list {
  public:
    explicit case_list(backend where) : where_(where) {}

    tensor_case& tensor(std::int64_t rows, std::int64_t cols, std::int64_t bins) {
        for (tensor_case& c : cases_.tensors)
            if (c.rows == rows && c.cols == cols && c.bins == bins) return c;
        cases_.tensors.push_back({rows, cols, bins});
        cases_.tensors.back().on_host = where_ == backend::cpu;
        return cases_.tensors.back();
    }

    void add(tensor_case& c, const std::vector<histogram_variant>& variants) {
        if (where_ == backend::cpu) return;
        for (const histogram_variant& v : variants)
            if (std::find(c.variants.begin(), c.variants.end(), v) == c.variants.end()) c.variants.push_back(v);
    }

    void stream(std::int64_t rows, std::int64_t cols, std::int64_t bins, const std::vector<int>& buffers,
                int most_frames) {
        for (stream_case& c : cases_.streams)
            if (c.rows == rows && c.cols == cols && c.bins == bins) {
                for (const int b : buffers)
                    if (std::find(c.buffers.begin(), c.buffers.end(), b) == c.buffers.end()) c.buffers.push_back(b);
                return;
            }
        cases_.streams.push_back(
            {rows, cols, bins, buffers, where_ == backend::cpu ? names{"cpu"} : names{"wf-tis", "fast"}, most_frames});
    }

    void large(const large_case& c) { cases_.large.push_back(c); }

    /// Small ones first: whatever goes wrong with the largest, the others are measured by then.
    histogram_cases finished() {
        const auto entries = [](const auto& c) { return c.rows * c.cols * c.bins; };
        const auto smaller = [&](const auto& a, const auto& b) { return entries(a) < entries(b); };
        std::stable_sort(cases_.tensors.begin(), cases_.tensors.end(), smaller);
        std::stable_sort(cases_.streams.begin(), cases_.streams.end(), smaller);
        std::stable_sort(cases_.large.begin(), cases_.large.end(), smaller);
        return std::move(cases_);
    }

  private:
    backend where_;
    histogram_cases cases_;
};

}  // namespace

const std::vector<std::string>& histogram_experiment_names() {
    static const names all{"sizes", "parts", "tuning",  "transfers", "buffers",
                           "rates", "large", "threads", "vga",       "answers"};
    return all;
}

histogram_cases cases_of(const histogram_bench_options& options, backend where) {
    for (const std::string& name : options.experiments)
        if (name != "all" && !has(histogram_experiment_names(), name)) {
            std::string known;
            for (const std::string& e : histogram_experiment_names()) known.append(known.empty() ? "" : ", ").append(e);
            throw cli::usage_error("--experiments: there is no '" + name + "'; there are " + known);
        }
    for (const std::int64_t b : options.bins)
        if (b < 1 || b > 1024)
            throw cli::usage_error("--bins: " + std::to_string(b) + " is no number of bins from 1 to 1024");
    const auto wanted = [&](const char* name) {
        return options.experiments.empty() || has(options.experiments, "all") || has(options.experiments, name);
    };
    std::vector<std::int64_t> sizes = parse_sizes(options.sizes), bins = options.bins;
    const bool quick = options.quick;
    if (sizes.empty())
        sizes = quick ? std::vector<std::int64_t>{128, 256} : std::vector<std::int64_t>{256, 512, 1024, 2048};
    if (bins.empty()) bins = quick ? std::vector<std::int64_t>{8, 16} : std::vector<std::int64_t>{16, 32, 64, 128};
    const std::vector<std::int64_t> two_sizes =
        quick ? std::vector<std::int64_t>{128, 256} : std::vector<std::int64_t>{512, 1024};
    const std::vector<histogram_variant> all = every_algorithm(), best{{"wf-tis"}, {"fast"}};

    case_list list(where);
    if (wanted("sizes"))
        for (const std::int64_t n : sizes) list.add(list.tensor(n, n, paper_bins), all);
    for (const std::int64_t n : two_sizes) {
        if (wanted("parts")) {
            list.add(list.tensor(n, n, paper_bins), all);
            list.tensor(n, n, paper_bins).parts = true;
        }
        if (wanted("transfers")) {
            list.add(list.tensor(n, n, paper_bins), all);
            list.tensor(n, n, paper_bins).transfers = true;
        }
    }
    if (wanted("tuning")) list.add(list.tensor(tuned_size, tuned_size, paper_bins), every_wave_front());
    for (const bool rates : {true, false}) {
        if (!wanted(rates ? "rates" : "threads")) continue;
        const auto add = [&](std::int64_t n, std::int64_t b) {
            tensor_case& c = list.tensor(n, n, b);
            list.add(c, rates ? all : best);
            c.transfers = true;
            c.on_host = true;
            if (rates) list.stream(n, n, b, {2}, frames_of_rates);
        };
        for (const std::int64_t n : sizes) add(n, paper_bins);
        for (const std::int64_t b : bins) add(tuned_size, b);
    }
    if (wanted("vga")) {
        tensor_case& c = list.tensor(480, 640, paper_bins);
        list.add(c, best);
        c.transfers = c.on_host = true;
        list.stream(480, 640, paper_bins, {2}, frames_of_rates);
    }
    if (wanted("buffers"))
        for (const std::int64_t b : bins) list.stream(720, 1280, b, {1, 2}, 0);
    if (wanted("large")) {
        const std::vector<large_case> images{
            {"HD", 720, 1280}, {"FHD", 1080, 1920}, {"HXGA", 3072, 4096}, {"WHSXGA", 4800, 6400}, {"64MB", 8192, 8192}};
        for (const large_case& image : images) {
            const bool small = image.rows <= 1080;
            if (quick && image.name != "HD") continue;
            std::vector<std::int64_t> counts = bins;
            if (!small) counts = {paper_bins, 128};
            for (const std::int64_t b : counts) list.large({image.name, image.rows, image.cols, b});
            list.tensor(image.rows, image.cols, counts.back()).on_host = true;
        }
    }
    histogram_cases cases = list.finished();
    if (wanted("answers"))
        cases.answers.push_back(quick ? answer_case{180, 320, 8, {2, 4}}
                                      : answer_case{720, 1280, paper_bins, {2, 4, 8}});
    return cases;
}

}  // namespace boxsum::bench
