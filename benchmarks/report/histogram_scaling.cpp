// Figures 16, 17, 19 and 20 of Poostchi et al. 2017: several devices, and speed-ups over the CPU.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/histogram_query.hpp"
#include "report/histogram_sections.hpp"
#include "report/query.hpp"

#include <algorithm>
#include <cstdio>

namespace boxsum::bench {
namespace {

/// A rate as the paper prints it: "0.73", "300.4".
std::string plain_number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", value);
    return digits;
}

std::optional<double> over(std::optional<double> slow_us, std::optional<double> fast_us) {
    return slow_us && fast_us ? std::optional(*slow_us / *fast_us) : std::nullopt;
}

std::optional<double> us_of(const histogram_row* row) {
    return row != nullptr ? row->us : std::nullopt;
}

/// The same image and result by one worker.
const histogram_row* by_one_worker(const bench_record& record, const histogram_row& row) {
    for (const histogram_row& r : record.histograms)
        if (r.what == row.what && r.backend == row.backend && r.rows == row.rows && r.cols == row.cols &&
            r.bins == row.bins && r.workers == 1)
            return &r;
    return nullptr;
}

cell links_cell(const histogram_row& r) {
    const auto share = over(r.link_us, r.us), share_at_once = over(r.links_at_once_us, r.us);
    if (!share) return {"-", emphasis::muted};
    if (!share_at_once || r.workers == 1) return {three_digits(*share)};
    return {three_digits(*share) + " (" + three_digits(*share_at_once) + ")"};
}

void add_printed_speedups(section& s) {
    const auto& figure = printed("poostchi-2017")["figure_17"];
    table t{"As printed: 128 bins",
            {"image", "frames a second", "over 1 thread of a CPU", "over 16 threads"},
            {},
            place_of(figure) + ".",
            1};
    for (const auto& row : figure["images"]) {
        const auto value = [&](const char* key, const char* behind) {
            return row.contains(key) ? cell{plain_number(row[key].get<double>()) + behind} : cell{"-", emphasis::muted};
        };
        t.rows.push_back({{row["image"].get<std::string>() + ", " + std::to_string(row["cols"].get<int>()) + " x " +
                           std::to_string(row["rows"].get<int>())},
                          value("frames_per_second", ""),
                          value("speedup_1_thread", "X"),
                          value("speedup_16_threads", "X")});
    }
    s.blocks.push_back(std::move(t));
}

}  // namespace

section histogram_large_section(const bench_record& record) {
    section s{"figures-16-17", "Figures 16 and 17: large images, bins as tasks", {}};
    const std::vector<histogram_line> cpus = cpu_lines(record);
    int most_devices = 0;
    for (const histogram_row& r : record.histograms)
        if (r.what.starts_with("tasks") && r.backend == "cuda") most_devices = std::max(most_devices, r.workers);
    s.blocks.push_back(paragraph{
        most_devices == 0   ? "No GPU in this record: the workers are the CPU's, and the GPUs' rows are not measured."
        : most_devices == 1 ? "Only one GPU was present, so nothing is said here of several; the paper had four."
                            : std::to_string(most_devices) + " GPUs were present; the paper had four."});
    table t{"This machine: one image, bins in tasks on a queue",
            {"image", "result", "bins", "workers", "tasks", "seconds", "frames a second", "over 1 worker",
             "image up, ms", "of the links", "pinning, s, apart"},
            {},
            "Kept: the result stays where it was computed. Host: it ends in host memory, for GPUs in memory that was "
            "page-locked before, once for all rows; pinning is that of the image. Of the links: the time of the "
            "tensor's copies alone, at the sum of what the links of the GPUs bring one at a time, over that of the "
            "whole; in brackets at what they bring at once. "
            "Histograms of boxes were compared with a direct count.",
            2};
    for (const histogram_line& cpu : cpus) t.head.push_back("over " + cpu.name);
    for (const histogram_row& r : record.histograms) {
        if (!r.what.starts_with("tasks")) continue;
        const histogram_row* const one = by_one_worker(record, r);
        const std::string name = r.image + ", " + std::to_string(r.cols) + " x " + std::to_string(r.rows);
        std::vector<cell> cells{{name},
                                {r.what == "tasks-kept" ? "kept" : "host"},
                                {std::to_string(r.bins)},
                                {std::to_string(r.workers) + (r.backend == "cpu" ? " CPU" : " GPU")},
                                {r.tasks ? std::to_string(*r.tasks) : "-"}};
        if (r.wrong())
            cells.push_back({"wrong", emphasis::wrong});
        else
            cells.push_back(r.us ? cell{three_digits(*r.us / 1e6)} : cell{"-", emphasis::muted});
        cells.push_back(number_cell(r.us ? std::optional(1e6 / *r.us) : std::nullopt));
        cells.push_back(number_cell(over(us_of(one), r.us)));
        cells.push_back(number_cell(r.upload_us ? std::optional(*r.upload_us / 1e3) : std::nullopt));
        cells.push_back(links_cell(r));
        cells.push_back(number_cell(r.pinning_us ? std::optional(*r.pinning_us / 1e6) : std::nullopt));
        for (const histogram_line& cpu : cpus)
            cells.push_back(number_cell(over(us_of(tensor_row(record, cpu, {r.rows, r.cols, r.bins})), r.us)));
        t.rows.push_back(std::move(cells));
    }
    if (most_devices == 0) {
        std::vector<cell> cells = not_measured("any image", t.head.size());
        cells[3] = {"GPU"};
        t.rows.push_back(std::move(cells));
    }
    s.blocks.push_back(std::move(t));
    for (const histogram_row& r : record.histograms)
        if (r.measured_bins) {
            s.blocks.push_back(paragraph{
                "Tensors of more than 1 GB were measured on the CPU with a part of their bins, and the time scaled: "
                "bins are computed one by one."});
            break;
        }
    add_printed_speedups(s);
    return s;
}

section histogram_speedup_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_19"];
    section s{"figure-19", "Figure 19: speed-up over the CPU", {}};
    s.blocks.push_back(
        paragraph{"As printed: \"" + figure["text"].get<std::string>() + "\" (" + place_of(figure) + ")."});
    const std::vector<std::int64_t> sizes = square_sizes(record);
    const bins_at at = varied_bins(record);
    for (const bool over_sizes : {true, false}) {
        table t{over_sizes ? "This machine: frame rate of the GPU, copies included, over the CPU's, 32 bins"
                           : "This machine: the same at " + std::to_string(at.size) + " x " + std::to_string(at.size) +
                                 ", over bins",
                over_sizes ? with_sizes({"GPU", "CPU"}, sizes) : std::vector<std::string>{"GPU", "CPU"},
                {},
                "",
                2};
        line_chart chart{over_sizes ? "Speed-up over the CPU, 32 bins" : "Speed-up over the CPU, over bins",
                         over_sizes ? "rows = columns" : "bins",
                         "speed-up",
                         {}};
        if (!over_sizes)
            for (const std::int64_t b : at.bins) t.head.push_back(std::to_string(b) + " bins");
        for (const char* gpu : {"wf-tis", "fast"})
            for (const histogram_line& cpu : cpu_lines(record)) {
                std::vector<cell> cells{{gpu}, {cpu.name}};
                series speedups{std::string(gpu) + " / " + (cpu.threads == 1 ? cpu.algorithm : cpu.name), {}};
                for (const std::int64_t value : over_sizes ? sizes : at.bins) {
                    const histogram_size size =
                        over_sizes ? histogram_size{value, value, paper_bins} : histogram_size{at.size, at.size, value};
                    const auto ratio =
                        over(us_of(tensor_row(record, cpu, size)), frame_us(record, {gpu, "cuda", gpu, 0}, size));
                    cells.push_back(value_cell(ratio));
                    if (ratio) speedups.points.push_back({static_cast<double>(value), *ratio});
                }
                t.rows.push_back(std::move(cells));
                if (speedups.points.size() > 1) chart.lines.push_back(std::move(speedups));
            }
        if (t.rows.empty())
            for (const char* gpu : {"wf-tis", "fast"}) t.rows.push_back(not_measured(gpu, t.head.size()));
        s.blocks.push_back(std::move(t));
        if (!chart.lines.empty()) s.blocks.push_back(std::move(chart));
    }
    return s;
}

section histogram_vga_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_20"];
    section s{"figure-20", "Figure 20: 640 x 480, 32 bins", {}};
    const histogram_size size{figure["rows"], figure["cols"], figure["bins"]};
    table t{"Frames a second",
            {"computation", "machine", "frames a second", "of the paper's"},
            {},
            place_of(figure) + "; " + figure["lost"].get<std::string>() +
                ". A frame takes the longer of its kernels and its copies, as in the paper; a stream was really sent "
                "through the pipeline. The paper's is " +
                plain_number(figure["speedup_1_thread"].get<double>()) + " times its CPU with one thread.",
            2};
    const double paper = figure["frames_per_second"];
    t.rows.push_back({{"wf-tis, as printed"}, {figure["machine"].get<std::string>()}, {plain_number(paper)}, {"1.00"}});
    const auto add = [&](const std::string& name, const std::string& machine, std::optional<double> us) {
        t.rows.push_back({{name},
                          {machine},
                          value_cell(us ? std::optional(1e6 / *us) : std::nullopt),
                          value_cell(us ? std::optional(1e6 / *us / paper) : std::nullopt)});
    };
    const std::string gpu = record.origin.backend == "cuda" ? record.origin.device : "GPU";
    for (const char* name : {"wf-tis", "fast"}) add(name, gpu, frame_us(record, {name, "cuda", name, 0}, size));
    for (const histogram_row& r : record.histograms)
        if (r.what == "frames" && r.buffers == 2 && histogram_size{r.rows, r.cols, r.bins} == size)
            add(r.algorithm + ", a stream with 2 buffers", r.backend == "cuda" ? gpu : record.origin.host, r.us);
    for (const histogram_line& cpu : cpu_lines(record))
        add(cpu.name, record.origin.host, us_of(tensor_row(record, cpu, size)));
    s.blocks.push_back(std::move(t));
    return s;
}

}  // namespace boxsum::bench
