#include "cmd_hist.hpp"

#include "box_list.hpp"
#include "compute.hpp"
#include "cuda_device.hpp"
#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "text_output.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/integral_histogram.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace boxsum::cli {
namespace {

constexpr const char* hist_footer =
    R"(A box is row,col,rows,cols: its first row and column and its extents, in pixels of the image; without one, the whole
image. A CSV file has one box a line. Every channel is counted by itself.
Bins are ranges of equal width over [lo, hi); values outside are counted nowhere, or with --clamp in the first and last
bin. Without --range it is all values of 8-bit and 16-bit images; other images need it.

Examples:
  boxsum hist photo.png --bins 8 --box 10,20,50,70
  boxsum hist depth.tiff --bins 64 --range 0.5,4 --boxes boxes.csv --csv > histograms.csv)";

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

const CLI::Validator range_text(
    [](std::string& text) {
        return parse_range(text) ? std::string() : "'" + text + "' is not lo,hi with two numbers";
    },
    "LO,HI");

template <typename From, typename To, typename Convert>
writable_image extract(const image& source, std::int64_t channel, Convert convert) {
    const view_shape& s = source.view.shape;
    const writable_image out = allocate_image(packed_shape(dtype_of<To>, s.rows, s.cols, 1));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const auto* const from =
            reinterpret_cast<const From*>(static_cast<const std::byte*>(source.view.data) + r * s.row_stride);
        auto* const to = reinterpret_cast<To*>(out.row(r));
        for (std::int64_t c = 0; c < s.cols; ++c) to[c] = convert(from[c * s.channels + channel]);
    }
    return out;
}

/// One channel as an image that histograms take: 16-bit signed and half-precision values are widened, exactly.
writable_image channel_of(const image& source, const std::string& name, std::int64_t channel) {
    const auto same = [](auto value) { return value; };
    switch (source.view.shape.type) {
        case dtype::u8:
            return extract<std::uint8_t, std::uint8_t>(source, channel, same);
        case dtype::u16:
            return extract<std::uint16_t, std::uint16_t>(source, channel, same);
        case dtype::s32:
            return extract<std::int32_t, std::int32_t>(source, channel, same);
        case dtype::f32:
            return extract<float, float>(source, channel, same);
        case dtype::s16:
            return extract<std::int16_t, std::int32_t>(source, channel, [](std::int16_t v) { return std::int32_t{v}; });
        case dtype::f16:
            return extract<float16, float>(source, channel, to_float);
        default:
            throw unsupported("'" + input_name(name) + "' is " + std::string(name_of(source.view.shape.type)) +
                              ": histograms take 8u, 16u, 16s, 32s, 16f and 32f");
    }
}

binning binning_for(const hist_options& options, dtype type) {
    std::pair<double, double> range{0, type == dtype::u8 ? 256 : 65536};
    if (!options.range.empty())
        range = *parse_range(options.range);
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
using channel_counts = std::vector<std::vector<std::uint32_t>>;

/// The counts of the boxes in one-channel images, one after the other.
using counter = std::function<std::vector<std::uint32_t>(const const_any_view& pixels)>;

histogram_options options_of(const hist_options& options) {
    histogram_options how;
    how.algorithm = options.algorithm;
    how.parameters = joined_parameters(operation::histogram, options.algorithm, options.parameters);
    how.threads = options.threads;
    return how;
}

counter counter_on_cpu(const histogram_options& how, const view_shape& s, const binning& bins,
                       const std::vector<box>& boxes) {
    const auto tensor = std::make_shared<histogram_table<std::uint32_t>>(bins.bins(), s.rows, s.cols);
    return [=, &bins, &boxes](const const_any_view& pixels) {
        integral_histogram({pixels}, bins, {*tensor}, how);
        std::vector<std::uint32_t> counts(boxes.size() * static_cast<std::size_t>(bins.bins()));
        box_histograms<std::uint32_t>(*tensor, boxes, counts);
        return counts;
    };
}

/// The tensor stays on the device: boxes go there, and counts come back.
counter counter_on_gpu(const std::string& device, const histogram_options& how, const view_shape& s,
                       const binning& bins, const std::vector<box>& boxes) {
    if (device == "cuda") device_of_environment();  // which must make sense
    cuda::set_device(device_from_text(device));
    const auto stream = std::make_shared<cuda::stream>();
    const auto tensor = std::make_shared<cuda::histogram_table<std::uint32_t>>(bins.bins(), s.rows, s.cols, *stream);
    return [=, &bins, &boxes](const const_any_view& pixels) {
        cuda::integral_histogram({pixels}, bins, {*tensor}, *stream, how);
        std::vector<std::uint32_t> counts(boxes.size() * static_cast<std::size_t>(bins.bins()));
        cuda::box_histograms<std::uint32_t>(*tensor, boxes, counts, *stream);
        return counts;
    };
}

channel_counts count(const hist_options& options, const histogram_options& how, const image& source,
                     const binning& bins, const std::vector<box>& boxes) {
    const view_shape& s = source.view.shape;
    for (const box& b : boxes) check_box(b, s.rows, s.cols);  // before the work
    const counter count_boxes = options.device == "cpu" ? counter_on_cpu(how, s, bins, boxes)
                                                        : counter_on_gpu(options.device, how, s, bins, boxes);
    channel_counts counts;
    for (std::int64_t channel = 0; channel < s.channels; ++channel)
        counts.push_back(count_boxes(channel_of(source, options.input, channel).view));
    return counts;
}

double lower_edge(const binning& bins, std::int64_t bin) {
    return bins.lo() + static_cast<double>(bin) * (bins.hi() - bins.lo()) / static_cast<double>(bins.bins());
}

std::vector<std::string> box_cells(const box& b, std::size_t channel) {
    return {std::to_string(b.row), std::to_string(b.col), std::to_string(b.rows), std::to_string(b.cols),
            std::to_string(channel)};
}

/// A line per box and channel.
std::string as_csv(const binning& bins, const std::vector<box>& boxes, const channel_counts& counts) {
    const auto n = static_cast<std::size_t>(bins.bins());
    std::string text = "row,col,rows,cols,channel";
    for (std::size_t b = 0; b < n; ++b) text.append(",bin").append(std::to_string(b));
    text.append("\n");
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            for (const std::string& cell : box_cells(boxes[i], c)) text.append(cell).append(",");
            for (std::size_t b = 0; b < n; ++b)
                text.append(std::to_string(counts[c][i * n + b])).append(b + 1 < n ? "," : "\n");
        }
    return text;
}

/// A line per bin, with a column per box and channel under the box's five numbers.
std::string as_text(const binning& bins, const std::vector<box>& boxes, const channel_counts& counts) {
    const auto n = static_cast<std::size_t>(bins.bins());
    std::vector<std::vector<std::string>> rows;
    for (const char* name : {"row", "col", "rows", "cols", "channel"}) rows.push_back({name, "", ""});
    rows.push_back({"bin", "from", "below"});
    for (std::size_t b = 0; b < n; ++b) {
        const auto bin = static_cast<std::int64_t>(b);
        rows.push_back({std::to_string(b), text_of(lower_edge(bins, bin)), text_of(lower_edge(bins, bin + 1))});
    }
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            const std::vector<std::string> head = box_cells(boxes[i], c);
            for (std::size_t r = 0; r < head.size(); ++r) rows[r].push_back(head[r]);
            rows[head.size()].push_back("count");
            for (std::size_t b = 0; b < n; ++b)
                rows[head.size() + 1 + b].push_back(std::to_string(counts[c][i * n + b]));
        }
    return aligned(rows);
}

exit_code print_as_json(const hist_options& options, const image& source, const binning& bins,
                        const std::vector<box>& boxes, const channel_counts& counts) {
    nlohmann::ordered_json report{{"input", {{"path", options.input}}}};
    report["input"].update(json_of(source.view.shape));
    report["bins"] = bins.bins();
    report["range"] = {bins.lo(), bins.hi()};
    report["clamped"] = options.clamp;
    report["boxes"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < boxes.size(); ++i)
        for (std::size_t c = 0; c < counts.size(); ++c) {
            const auto first = counts[c].begin() + static_cast<std::ptrdiff_t>(i) * bins.bins();
            const box& b = boxes[i];
            report["boxes"].push_back({{"row", b.row},
                                       {"col", b.col},
                                       {"rows", b.rows},
                                       {"cols", b.cols},
                                       {"channel", c},
                                       {"counts", std::vector<std::uint32_t>(first, first + bins.bins())}});
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
    command->add_option("--range", options->range, "lo,hi: the values that are counted")->check(range_text);
    command->add_flag("--clamp", options->clamp, "count values outside the range in the first and last bin");
    command->add_option("--box", options->boxes, "row,col,rows,cols; may be repeated")
        ->allow_extra_args(false)
        ->check(box_text);
    command->add_option("--boxes", options->boxes_file, "CSV file of boxes, or -")->check(some_text);
    command->add_option("--algorithm", options->algorithm, "see 'boxsum algorithms --operation histogram'");
    command->add_option("--param", options->parameters, "name=value of the algorithm; may be repeated")
        ->allow_extra_args(false);
    command->add_option("--device", options->device, "cpu (default), cuda, cuda:N")
        ->check(CLI::Validator(check_named_device, ""));
    command->add_option("--threads", options->threads, "0: by size")->check(CLI::Range(0, 1024));
    CLI::Option* json = command->add_flag("--json", options->json, "results as JSON");
    command->add_flag("--csv", options->csv, "results as CSV")->excludes(json);
    command->footer(hist_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_hist(*options); }; });
}

exit_code run_hist(const hist_options& options) {
    if (options.input == "-" && options.boxes_file == "-")
        throw usage_error("standard input can be only one of the inputs");
    const histogram_options how = options_of(options);
    std::vector<box> boxes;
    for (const std::string& text : options.boxes) boxes.push_back(*parse_box(text));
    if (!options.boxes_file.empty()) read_boxes(options.boxes_file, boxes);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_image(options.input);
    const view_shape& s = source.view.shape;
    if (boxes.empty()) boxes.push_back({0, 0, s.rows, s.cols});
    const binning bins = binning_for(options, s.type);
    busy.phase("counting " + input_name(options.input));
    const channel_counts counts = count(options, how, source, bins, boxes);

    busy.stop();
    if (options.json) return print_as_json(options, source, bins, boxes, counts);
    return print_output(options.csv ? as_csv(bins, boxes, counts) : as_text(bins, boxes, counts));
}

}  // namespace boxsum::cli
