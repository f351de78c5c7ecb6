#include "cmd_hist.hpp"

#include "box_counts.hpp"
#include "box_list.hpp"
#include "box_statistics.hpp"
#include "compute.hpp"
#include "cuda_device.hpp"
#include "device.hpp"
#include "image_io/codecs.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "text_output.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/integral_histogram.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace boxsum::cli {
namespace {

constexpr const char* hist_footer =
    R"(A box is row,col,rows,cols: its first row and column and its extents, in pixels of the image; without one, the whole
image. A CSV file has one box a line. Every channel is counted by itself, with --page all those of every page.
Few or small boxes are counted in the image, many boxes in integral histograms of the part that they lie in, as many
bins at a time as memory holds; a GPU and --algorithm always make the latter.
Bins are ranges of equal width over [lo, hi); values outside are counted nowhere, or with --clamp in the first and last
bin. Without --range it is all values of images of 8u and 16u; others need it.

Examples:
  boxsum hist photo.png --bins 8 --box 10,20,50,70
  boxsum hist depth.tiff --bins 64 --range 0.5,4 --boxes boxes.csv --csv > histograms.csv
  boxsum hist photo.png --grey --bins 16 --tensor histograms.npy)";

std::optional<std::pair<double, double>> parse_range(std::string_view text) {
    std::pair<double, double> range;
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return {};
    const auto parse = [](std::string_view part, double& value) {
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        return error == std::errc() && end == part.data() + part.size();
    };
    if (!parse(text.substr(0, comma), range.first) || !parse(text.substr(comma + 1), range.second)) return {};
    return range;
}

binning binning_for(const hist_options& options, dtype type) {
    std::pair<double, double> range{0, type == dtype::u8 ? 256 : 65536};
    if (options.range)
        range = *options.range;
    else if (type != dtype::u8 && type != dtype::u16)
        throw usage_error("--range: needed for an image of " + std::string(name_of(type)));
    try {
        return binning::uniform(options.bins, range.first, range.second,
                                options.clamp ? out_of_range::clamped : out_of_range::ignored);
    } catch (const invalid_argument& e) {
        throw usage_error(std::string("--") + e.what());
    }
}

/// counts[channel][box * bins + bin]
using channel_counts = std::vector<std::vector<std::uint64_t>>;

/// The counts of the boxes in one-channel images, one after the other.
using counter = std::function<std::vector<std::uint32_t>(const const_any_view& pixels, const binning& bins)>;

histogram_options options_of(const hist_options& options) {
    histogram_options how;
    how.algorithm = options.algorithm;
    how.parameters = joined_parameters(operation::histogram, options.algorithm, options.parameters);
    how.threads = bounded_threads(options.threads);
    return how;
}

counter counter_on_cpu(const histogram_options& how, std::int64_t bins, const box& part,
                       const std::vector<box>& boxes) {
    const auto tensor = std::make_shared<histogram_table<std::uint32_t>>(bins, part.rows, part.cols);
    return [=, &boxes](const const_any_view& pixels, const binning& which) {
        integral_histogram({pixels}, which, {*tensor}, how);
        std::vector<std::uint32_t> counts(boxes.size() * static_cast<std::size_t>(bins));
        box_histograms<std::uint32_t>(*tensor, boxes, counts);
        return counts;
    };
}

/// The tensor stays on the device: boxes go there, and counts come back.
counter counter_on_gpu(const std::string& device, const histogram_options& how, std::int64_t bins, const box& part,
                       const std::vector<box>& boxes) {
    cuda::set_device(device_from_text(device));
    const auto stream = std::make_shared<cuda::stream>();
    const auto tensor = std::make_shared<cuda::histogram_table<std::uint32_t>>(bins, part.rows, part.cols, *stream);
    return [=, &boxes](const const_any_view& pixels, const binning& which) {
        cuda::integral_histogram({pixels}, which, {*tensor}, *stream, how);
        std::vector<std::uint32_t> counts(boxes.size() * static_cast<std::size_t>(bins));
        cuda::box_histograms<std::uint32_t>(*tensor, boxes, counts, *stream);
        return counts;
    };
}

/// Bins [first, first + count) of an image of bin numbers.
binning group_of(std::int64_t first, std::int64_t count) {
    return binning::uniform(count, static_cast<double>(first), static_cast<double>(first + count));
}

double tensor_bytes(const box& part) {  // of one bin
    return static_cast<double>(part.rows + 1) * static_cast<double>(part.cols + 1) * sizeof(std::uint32_t);
}

/// As many bins as a moderate tensor has, and one that half of the free memory holds, the groups being of one size. One
/// tensor serves all groups: to look at the image again for each takes less time than memory that is used only once.
std::int64_t bins_at_once(const box& part, std::int64_t bins) {
    constexpr double moderate = 512 << 20;
    const double left = static_cast<double>(memory_limit() - std::min(memory_limit(), memory_in_use()));
    const auto most = static_cast<std::int64_t>(std::min(moderate, left / 2) / tensor_bytes(part));
    if (most >= bins) return bins;
    const std::int64_t groups = (bins + std::max<std::int64_t>(1, most) - 1) / std::max<std::int64_t>(1, most);
    return (bins + groups - 1) / groups;
}

/// From integral histograms of the part that the boxes lie in, a group of bins after the other.
channel_counts count_in_tensors(const std::string& device, const histogram_options& how, const image& source,
                                const binning& bins, const box& part, const std::vector<box>& boxes) {
    std::vector<box> inside = boxes;
    for (box& b : inside) {
        b.row -= part.row;
        b.col -= part.col;
    }
    const std::int64_t n = bins.bins(), group = bins_at_once(part, n);
    const memory_reservation tensor(static_cast<std::uint64_t>(static_cast<double>(group) * tensor_bytes(part)),
                                    "an integral histogram of " + std::to_string(group) + " bins");
    const counter count_boxes_in =
        device == "cpu" ? counter_on_cpu(how, group, part, inside) : counter_on_gpu(device, how, group, part, inside);
    channel_counts counts;
    for (std::int64_t channel = 0; channel < source.view.shape.channels; ++channel) {
        const writable_image numbers = bin_numbers(source, channel, bins, part);
        auto& all = counts.emplace_back(boxes.size() * static_cast<std::size_t>(n));
        for (std::int64_t first = 0; first < n; first += group) {
            const std::vector<std::uint32_t> some = count_boxes_in(numbers.view, group_of(first, group));
            for (std::size_t i = 0; i < boxes.size(); ++i)
                for (std::int64_t k = 0; k < std::min(group, n - first); ++k)
                    all[i * static_cast<std::size_t>(n) + static_cast<std::size_t>(first + k)] =
                        some[i * static_cast<std::size_t>(group) + static_cast<std::size_t>(k)];
        }
    }
    return counts;
}

channel_counts count(const hist_options& options, const histogram_options& how, const image& source,
                     const binning& bins, const std::vector<box>& boxes) {
    const std::string device = chosen_device(options.device);
    const box_extent extent = extent_of(boxes);
    const bool chosen = device != "cpu" || options.algorithm != "auto";
    // An entry of a tensor costs about a third of a pixel that is counted.
    constexpr double pixels_per_entry = 0.3;
    const double entries = tensor_bytes(extent.around) / sizeof(std::uint32_t) * static_cast<double>(bins.bins());
    if (chosen || extent.pixels > pixels_per_entry * entries)
        return count_in_tensors(device, how, source, bins, extent.around, boxes);
    channel_counts counts;
    for (std::int64_t channel = 0; channel < source.view.shape.channels; ++channel)
        counts.push_back(count_boxes(source, channel, bins, boxes));
    return counts;
}

/// The integral histogram of an image of one channel as an array of bins x rows x cols of 32u, inclusive; as many bins
/// at a time as memory holds.
void write_tensor(const hist_options& options, const histogram_options& how, const image& source, const binning& bins) {
    const view_shape& s = source.view.shape;
    if (s.channels != 1)
        throw input_error("--tensor: '" + input_name(options.input) + "' has " + std::to_string(s.channels) +
                          " channels; choose one with --band or --grey");
    if (chosen_device(options.device) != "cpu") throw unsupported("--tensor: is made by the CPU");
    output_file out(options.tensor);
    const std::array<std::int64_t, 3> extents = {bins.bins(), s.rows, s.cols};
    write_npy_header(out, dtype::u32, extents);
    const box all{0, 0, s.rows, s.cols};
    const std::int64_t group = bins_at_once(all, bins.bins());
    const memory_reservation memory(static_cast<std::uint64_t>(static_cast<double>(group) * tensor_bytes(all)),
                                    "an integral histogram of " + std::to_string(group) + " bins");
    const writable_image numbers = bin_numbers(source, 0, bins, all);
    histogram_table<std::uint32_t> tensor(group, s.rows, s.cols);
    for (std::int64_t first = 0; first < bins.bins(); first += group) {
        integral_histogram({numbers.view}, group_of(first, group), {tensor}, how);
        for (std::int64_t b = 0; b < std::min(group, bins.bins() - first); ++b) {
            const auto bin = tensor.view().entries().bin(b);
            for (std::int64_t r = 0; r < s.rows; ++r)
                out.write(std::as_bytes(std::span(bin.row(r), static_cast<std::size_t>(s.cols))));
        }
    }
    out.commit();
}

double lower_edge(const binning& bins, std::int64_t bin) {
    const double share = static_cast<double>(bin) / static_cast<double>(bins.bins());
    return bin == bins.bins() ? bins.hi() : bins.lo() + share * (bins.hi() - bins.lo());
}

/// A line per box and channel.
std::string as_csv(const binning& bins, const box_list& list, const channel_counts& counts) {
    const std::vector<box>& boxes = list.boxes;
    const auto n = static_cast<std::size_t>(bins.bins());
    std::string text;
    for (const std::string& name : list.headings()) text.append(text.empty() ? "" : ",").append(csv_cell(name));
    for (std::size_t b = 0; b < n; ++b) text.append(",bin").append(std::to_string(b));
    text.append("\n");
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            for (const std::string& cell : list.cells_of(i, c)) text.append(csv_cell(cell)).append(",");
            for (std::size_t b = 0; b < n; ++b)
                text.append(std::to_string(counts[c][i * n + b])).append(b + 1 < n ? "," : "\n");
        }
    return text;
}

/// A line per bin, with a column per box and channel under the box's five numbers.
std::string as_text(const binning& bins, const box_list& list, const channel_counts& counts) {
    const std::vector<box>& boxes = list.boxes;
    const auto n = static_cast<std::size_t>(bins.bins());
    std::vector<std::vector<std::string>> rows;
    for (const std::string& name : list.headings()) rows.push_back({name, "", ""});
    rows.push_back({"bin", "from", "below"});
    for (std::size_t b = 0; b < n; ++b) {
        const auto bin = static_cast<std::int64_t>(b);
        rows.push_back({std::to_string(b), text_of(lower_edge(bins, bin)), text_of(lower_edge(bins, bin + 1))});
    }
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            const std::vector<std::string> head = list.cells_of(i, c);
            for (std::size_t r = 0; r < head.size(); ++r) rows[r].push_back(head[r]);
            rows[head.size()].push_back("count");
            for (std::size_t b = 0; b < n; ++b)
                rows[head.size() + 1 + b].push_back(std::to_string(counts[c][i * n + b]));
        }
    return aligned(rows);
}

exit_code print_as_json(const hist_options& options, const view_shape& shape, const binning& bins, const box_list& list,
                        const channel_counts& counts) {
    nlohmann::ordered_json report{{"input", {{"path", options.input}}}};
    report["input"].update(json_of(shape));
    report["bins"] = bins.bins();
    report["range"] = {bins.lo(), bins.hi()};
    report["clamped"] = options.clamp;
    report["boxes"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < list.boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            const auto first = counts[c].begin() + static_cast<std::ptrdiff_t>(i) * bins.bins();
            nlohmann::ordered_json entry = list.json_of(i, c);
            entry["counts"] = std::vector<std::uint64_t>(first, first + bins.bins());
            report["boxes"].push_back(std::move(entry));
        }
    return print_json(report);
}

}  // namespace

void setup_hist(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<hist_options>();
    CLI::App* command = app.add_subcommand("hist", "Histograms of boxes");
    command->add_option("IN", options->input, "image file; - is standard input")->required();
    command->add_option("--bins", options->bins, "number of bins, 1 to 1024 (default: 32)")
        ->check(CLI::Range(1, static_cast<int>(binning::max_bins)));
    add_parsed(*command, "--range", options->range, parse_range, "is not lo,hi with two numbers",
               "lo,hi: the values that are counted");
    command->add_flag("--clamp", options->clamp, "count values outside the range in the first and last bin");
    add_boxes(*command, options->boxes);
    command->add_option("--boxes", options->boxes_file, "CSV file of boxes, or -")->check(some_text);
    command->add_option("--algorithm", options->algorithm, "see 'boxsum algorithms --operation histogram'");
    command->add_option("--param", options->parameters, "name=value of the algorithm; may be repeated")
        ->allow_extra_args(false);
    command
        ->add_option("--tensor", options->tensor,
                     "write the integral histogram to this NPY file: bins x rows x cols, 32u")
        ->check(some_text);
    add_source_options(*command, options->source);
    add_device_options(*command, options->device, options->threads);
    CLI::Option* json = command->add_flag("--json", options->json, "results as JSON");
    command->add_flag("--csv", options->csv, "results as CSV")->excludes(json);
    command->footer(hist_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_hist(*options); }; });
}

exit_code run_hist(const hist_options& options) {
    if (options.input == "-" && options.boxes_file == "-")
        throw usage_error("standard input can be only one of the inputs");
    const histogram_options how = options_of(options);
    box_list list;
    list.boxes = options.boxes;
    if (!options.boxes_file.empty()) read_boxes(options.boxes_file, list);

    const bool all = options.source.page == all_pages;
    if (all && !options.tensor.empty()) throw usage_error("--tensor: is of one page, not of --page all");
    box_list asked;
    channel_counts counts;
    std::optional<binning> bins;
    view_shape shape;
    progress busy;
    for (const source_options& page : page_by_page(options.input, options.source)) {
        busy.phase("reading " + input_name(options.input));
        const image source = read_source(options.input, page);
        const view_shape& s = source.view.shape;
        box_list here = list;
        if (here.boxes.empty()) here.boxes.push_back({0, 0, s.rows, s.cols});
        const binning of_page = binning_for(options, s.type);
        for (const box& b : here.boxes) check_box(b, s.rows, s.cols);  // before the work
        if (!options.tensor.empty()) {
            busy.phase("writing " + output_name(options.tensor));
            write_tensor(options, how, source, of_page);
            if (list.boxes.empty()) return exit_code::done;
        }
        busy.phase("counting " + input_name(options.input));
        const channel_counts more = count(options, how, source, of_page, here.boxes);
        if (!bins) {
            bins = of_page;
            shape = s;
            counts.resize(more.size());
        }
        if (more.size() != counts.size() || of_page.hi() != bins->hi())
            throw input_error(
                "--page all: the pages have different types or numbers of channels; give --range and --grey, "
                "or ask for one at a time");
        for (std::size_t c = 0; c < more.size(); ++c) counts[c].insert(counts[c].end(), more[c].begin(), more[c].end());
        if (all)
            asked.add_page(*page.page, here);
        else
            asked = std::move(here);
    }
    busy.stop();
    if (options.json) return print_as_json(options, shape, *bins, asked, counts);
    return print_output(options.csv ? as_csv(*bins, asked, counts) : as_text(*bins, asked, counts));
}

}  // namespace boxsum::cli
