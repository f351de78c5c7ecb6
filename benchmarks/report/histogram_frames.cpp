// Figures 11, 13 and 15 of Poostchi et al. 2017: transfers, buffers and frame rates.

#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/histogram_query.hpp"
#include "report/histogram_sections.hpp"
#include "report/query.hpp"

#include <algorithm>
#include <set>

namespace boxsum::bench {
namespace {

std::optional<double> rate_of(std::optional<double> us) {
    return us ? std::optional(1e6 / *us) : std::nullopt;
}

/// Streams of a size, by algorithm, bins and buffers.
std::vector<const histogram_row*> streams_of(const bench_record& record, std::int64_t rows, std::int64_t cols) {
    std::vector<const histogram_row*> found;
    for (const histogram_row& r : record.histograms)
        if (r.what == "frames" && r.rows == rows && r.cols == cols) found.push_back(&r);
    return found;
}

/// What one line of rates is over.
struct rate_axis {
    std::string caption, x_label;
    std::vector<std::int64_t> values;
    std::function<histogram_size(std::int64_t)> size_of;
    std::vector<std::string> head;
};

void add_rates(section& s, const bench_record& record, const rate_axis& over, const std::string& note) {
    table t{"This machine: frames a second, " + over.caption, over.head, {}, note, 1};
    line_chart chart{"Frames a second, " + over.caption, over.x_label, "frames a second", {}};
    const auto add = [&](const std::string& name, const std::function<std::optional<double>(histogram_size)>& us_of,
                         const std::function<bool(histogram_size)>& was_tried) {
        std::vector<cell> cells{{name}};
        series rates{name, {}};
        for (const std::int64_t value : over.values) {
            const auto rate = rate_of(us_of(over.size_of(value)));
            cells.push_back(value_cell(rate, was_tried(over.size_of(value))));
            if (rate) rates.points.push_back({static_cast<double>(value), *rate});
        }
        t.rows.push_back(std::move(cells));
        if (!rates.points.empty()) chart.lines.push_back(std::move(rates));
    };
    for (const histogram_line& line : all_lines(record))
        add(
            line.name, [&](const histogram_size& size) { return frame_us(record, line, size); },
            [&](const histogram_size& size) { return tensor_row(record, line, size) != nullptr; });
    std::vector<std::string> algorithms;
    for (const histogram_row& r : record.histograms)
        if (r.what == "frames" && r.buffers == 2 &&
            std::find(algorithms.begin(), algorithms.end(), r.algorithm) == algorithms.end())
            algorithms.push_back(r.algorithm);
    for (const std::string& algorithm : algorithms) {
        const auto stream = [&](const histogram_size& size) -> const histogram_row* {
            for (const histogram_row* r : streams_of(record, size.rows, size.cols))
                if (r->bins == size.bins && r->buffers == 2 && r->algorithm == algorithm) return r;
            return nullptr;
        };
        add(
            algorithm + ", 2 buffers",
            [&](const histogram_size& size) {
                const histogram_row* const r = stream(size);
                return r != nullptr ? r->us : std::nullopt;
            },
            [&](const histogram_size& size) { return stream(size) != nullptr; });
    }
    s.blocks.push_back(std::move(t));
    if (over.values.size() > 1 && !chart.lines.empty()) s.blocks.push_back(std::move(chart));
}

}  // namespace

section histogram_transfers_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_11"];
    section s{"figure-11", "Figure 11: computing against copying", {}};
    s.blocks.push_back(
        paragraph{"As printed: \"" + figure["text"].get<std::string>() + "\" (" + place_of(figure) + ")."});
    table t{"This machine: ms, 32 bins",
            {"size", "algorithm", "kernels", "image to the device", "tensor to the host", "longer"},
            {},
            "Copies from and to page-locked memory.",
            2};
    bar_chart bars{"Kernels and copies, 32 bins", "ms", {"image to the device", "tensor to the host", "kernels"}, {}};
    for (const std::int64_t n : square_sizes(record)) {
        const histogram_size size{n, n, paper_bins};
        const auto up = plain_us(record, "upload", size), down = plain_us(record, "download", size);
        if (!up || !down) continue;
        const std::string name = size_text(static_cast<double>(n)) + "^2";
        bars.bars.push_back({name + ", copies", {*up / 1000, *down / 1000}});
        for (const histogram_line& line : gpu_lines()) {
            const histogram_row* const row = tensor_row(record, line, size);
            if (row == nullptr) continue;
            const bool timed = row->us.has_value();
            t.rows.push_back(
                {{name},
                 {line.name},
                 ms_cell(row),
                 {three_digits(*up / 1000)},
                 {three_digits(*down / 1000)},
                 timed ? cell{*row->us > *up + *down ? "kernels" : "copies"} : cell{"-", emphasis::muted}});
            if (timed) bars.bars.push_back({name + ", " + line.name, {0, 0, *row->us / 1000}});
        }
    }
    if (t.rows.empty())
        for (const histogram_line& line : gpu_lines()) {
            std::vector<cell> cells = not_measured("-", 6);
            cells[1] = {line.name};
            t.rows.push_back(std::move(cells));
        }
    s.blocks.push_back(std::move(t));
    if (!bars.bars.empty()) s.blocks.push_back(std::move(bars));
    return s;
}

section histogram_buffers_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_13"];
    const std::int64_t rows = figure["rows"], cols = figure["cols"];
    section s{"figure-13", "Figure 13: one buffer and two, a stream of HD images", {}};
    std::string as_printed;
    for (const auto& row : figure["gains"])
        as_printed.append(as_printed.empty() ? "" : ", ")
            .append(row["printed"].get<std::string>())
            .append(" with ")
            .append(std::to_string(row["bins"].get<int>()))
            .append(" bins");
    s.blocks.push_back(
        paragraph{"As printed: the gain of dual-buffering is " + as_printed + " (" + place_of(figure) + ")."});
    table t{"This machine: frames of 1280 x 720 with their tensors in host memory",
            {"algorithm", "bins", "frames", "1 buffer, frames a second", "2 buffers", "gain", "of the link", "overlap",
             "read, ms a frame", "upload", "compute", "download"},
            {},
            "What is behind the gain is of 2 buffers. Of the link: the tensor's copy alone over the elapsed time; "
            "overlap: the busy time of all stages over the elapsed.",
            1};
    line_chart chart{"Frames a second of 1280 x 720 over bins", "bins", "frames a second", {}};
    const std::vector<const histogram_row*> streams = streams_of(record, rows, cols);
    std::vector<std::string> algorithms;
    std::set<std::int64_t> bins;
    for (const histogram_row* r : streams) {
        bins.insert(r->bins);
        if (std::find(algorithms.begin(), algorithms.end(), r->algorithm) == algorithms.end())
            algorithms.push_back(r->algorithm);
    }
    const auto find = [&](const std::string& algorithm, std::int64_t b, int buffers) -> const histogram_row* {
        for (const histogram_row* r : streams)
            if (r->algorithm == algorithm && r->bins == b && r->buffers == buffers) return r;
        return nullptr;
    };
    for (const std::string& algorithm : algorithms) {
        for (const int buffers : {1, 2}) {
            series rates{algorithm + (buffers == 1 ? ", 1 buffer" : ", 2 buffers"), {}};
            for (const std::int64_t b : bins)
                if (const histogram_row* const r = find(algorithm, b, buffers); r != nullptr && r->us)
                    rates.points.push_back({static_cast<double>(b), 1e6 / *r->us});
            if (!rates.points.empty()) chart.lines.push_back(std::move(rates));
        }
        for (const std::int64_t b : bins) {
            const histogram_row *const one = find(algorithm, b, 1), *const two = find(algorithm, b, 2);
            const auto us = [](const histogram_row* r) { return r != nullptr ? r->us : std::nullopt; };
            const auto ms = [](const std::optional<double>& busy) {
                return busy ? cell{three_digits(*busy / 1000)} : cell{"-", emphasis::muted};
            };
            const auto stage = [&](std::optional<double> histogram_row::*busy) {
                return ms(two != nullptr ? two->*busy : std::nullopt);
            };
            t.rows.push_back(
                {{algorithm},
                 {std::to_string(b)},
                 {std::to_string(two != nullptr   ? two->samples
                                 : one != nullptr ? one->samples
                                                  : 0)},
                 value_cell(rate_of(us(one))),
                 value_cell(rate_of(us(two))),
                 value_cell(us(one) && us(two) ? std::optional(*us(one) / *us(two)) : std::nullopt),
                 value_cell(two != nullptr && two->us && two->link_us ? std::optional(*two->link_us / *two->us)
                                                                      : std::nullopt),
                 value_cell(two != nullptr ? two->overlap : std::nullopt),
                 stage(&histogram_row::read_us),
                 stage(&histogram_row::upload_us),
                 stage(&histogram_row::compute_us),
                 stage(&histogram_row::download_us)});
        }
    }
    if (record.origin.backend == "cpu" || t.rows.empty())
        for (const char* name : {"wf-tis", "fast"}) {
            std::vector<cell> cells = not_measured(name, t.head.size());
            for (const std::size_t i : {1u, 2u}) cells[i] = {"-", emphasis::muted};
            t.rows.push_back(std::move(cells));
        }
    s.blocks.push_back(std::move(t));
    if (bins.size() > 1 && !chart.lines.empty()) s.blocks.push_back(std::move(chart));
    return s;
}

section histogram_rates_section(const bench_record& record) {
    const auto& figure = printed("poostchi-2017")["figure_15"];
    section s{"figure-15", "Figure 15: frames a second over sizes and bins", {}};
    std::string as_printed;
    for (const auto& row : figure["rates"])
        as_printed.append(as_printed.empty() ? "" : ", ")
            .append(std::to_string(row["frames_per_second"].get<int>()))
            .append(" on a ")
            .append(row["machine"].get<std::string>());
    s.blocks.push_back(paragraph{"As printed: 512 x 512 with 32 bins, WF-TiS: " + as_printed + " frames a second; \"" +
                                 figure["text"].get<std::string>() + "\" (" + place_of(figure) + ")."});
    const std::string note =
        "As in the paper, a frame takes the longer of its kernels and its copies (image and tensor); on the CPU there "
        "are no copies. What has 2 buffers is a stream that was really sent "
        "through the pipeline.";
    const std::vector<std::int64_t> sizes = square_sizes(record);
    add_rates(s, record,
              {"32 bins, over sizes", "rows = columns", sizes,
               [](std::int64_t n) {
                   return histogram_size{n, n, paper_bins};
               },
               with_sizes({"algorithm"}, sizes)},
              note);
    const bins_at at = varied_bins(record);
    rate_axis over{std::to_string(at.size) + " x " + std::to_string(at.size) + ", over bins",
                   "bins",
                   at.bins,
                   [at](std::int64_t b) {
                       return histogram_size{at.size, at.size, b};
                   },
                   {"algorithm"}};
    for (const std::int64_t b : at.bins) over.head.push_back(std::to_string(b) + " bins");
    add_rates(s, record, over, note);
    return s;
}

}  // namespace boxsum::bench
