#include "cmd_convolve.hpp"

#include "device.hpp"
#include "device_copy.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "pixels.hpp"

#include <boxsum/convolve.hpp>
#include <boxsum/cuda/convolve.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace boxsum::cli {
namespace {

constexpr const char* convolve_footer =
    R"(Every pixel becomes the sum of the pixels around it, each times its weight in the kernel, whose middle lies on the pixel
(of an even number of weights that behind the middle). --kernel has the weights, row by row, or names a file of them: text
with a row a line, or an image of one channel of any type that is read. Kernels have at most 64 x 64 weights.
Integer results are rounded half up and cut off at the ends of their type. Colour channels are convolved each by itself,
opacity is kept. Pixels without data count like others.

Examples:
  boxsum convolve photo.png soft.png --kernel "1 2 1; 2 4 2; 1 2 1" --normalize
  boxsum convolve photo.png edges.tif --kernel "-1 0 1; -2 0 2; -1 0 1" --type 32f
  boxsum convolve photo.png sharp.png --kernel "0 -1 0; -1 5 -1; 0 -1 0" --border replicate
  boxsum convolve a.png b.png -o out/{name}.png --kernel weights.csv)";

struct weights {
    std::vector<double> values;
    std::int64_t rows = 0, cols = 0;

    image_view<const double> view() const { return {values.data(), rows, cols}; }
};

/// Rows of numbers, each ended by a semicolon or a line's end; numbers stand apart by spaces, tabs or a comma. Lines
/// that start with '#' are none. `wrong` throws what is wrong with the text.
template <typename Wrong>
weights parse_weights(std::string_view text, Wrong wrong) {
    weights all;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(text.front() == '#' ? "\n" : ";\n"), text.size());
        std::string_view row = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (row.starts_with('#')) continue;
        std::int64_t count = 0;
        for (;;) {
            row.remove_prefix(std::min(row.find_first_not_of(" \t\r,"), row.size()));
            if (row.empty()) break;
            const std::string_view word = row.substr(0, row.find_first_of(" \t\r,"));
            const std::optional<double> value = parse_number(word);
            if (!value || !std::isfinite(*value)) wrong("'" + std::string(word.substr(0, 64)) + "' is no number");
            all.values.push_back(*value);
            ++count;
            row.remove_prefix(word.size());
        }
        if (count == 0) continue;
        ++all.rows;
        if (all.rows > 1 && count != all.cols)
            wrong("row " + std::to_string(all.rows) + " has " + std::to_string(count) + " numbers, but the first has " +
                  std::to_string(all.cols));
        all.cols = count;
    }
    if (all.rows == 0) wrong("there is no number in it");
    return all;
}

weights weights_of_image(const std::string& path) {
    const image source = read_source(path, {});
    const view_shape& s = source.view.shape;
    if (s.channels != 1)
        throw input_error("--kernel: '" + path + "' has " + std::to_string(s.channels) + " channels, must have one");
    weights all{{}, s.rows, s.cols};
    visit_type(s.type, [&]<typename T>(std::type_identity<T>) {
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t c = 0; c < s.cols; ++c)
                all.values.push_back(static_cast<double>(number_of(row_as<T>(source.view, r)[c])));
    });
    return all;
}

/// The numbers themselves, or those of the file of that name. No image begins as a number or a comment does.
weights read_weights(const std::string& text) {
    constexpr std::string_view digits = "0123456789", of_numbers = "0123456789+-.eE,; \t\n";
    if (text.find_first_not_of(of_numbers) == std::string::npos && text.find_first_of(digits) != std::string::npos)
        return parse_weights(text, [](const std::string& what) { throw usage_error("--kernel: " + what); });
    const encoded_bytes file = [&] {
        try {
            return open_input(text, [](std::span<const std::byte>) {});
        } catch (const input_error& e) {
            throw input_error(std::string("--kernel: is not numbers alone, and ") + e.what());
        }
    }();
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos ||
        std::string_view("0123456789+-.#;,").find(bytes[first]) == std::string_view::npos) {
        if (text == "-") throw input_error("--kernel: standard input is not a text of numbers");
        return weights_of_image(text);
    }
    return parse_weights(
        bytes, [&](const std::string& what) { throw input_error("--kernel: " + input_name(text) + ": " + what); });
}

/// So that the weights add up to 1.
void normalize(weights& all) {
    const double sum = std::accumulate(all.values.begin(), all.values.end(), 0.0);
    const double magnitude =
        std::accumulate(all.values.begin(), all.values.end(), 0.0, [](double a, double w) { return a + std::fabs(w); });
    if (!(std::fabs(sum) > 1e-12 * magnitude)) throw usage_error("--normalize: the weights add up to 0");
    for (double& w : all.values) w /= sum;
}

/// One kernel over images or strips of them.
class convolution {
  public:
    explicit convolution(const convolve_options& options) : options_(options), kernel_(read_weights(options.kernel)) {
        if (options.normalize) normalize(kernel_);
        const filter_options& filter = options.common.filter;
        how_ = {.direction = options.flip ? kernel_direction::convolution : kernel_direction::correlation,
                .border = filter.border,
                .border_value = library_options(filter).border_value,
                .threads = library_options(filter).threads,
                .algorithm = options.algorithm};
    }

    /// Rows `first` on of the convolved image, as many as the result has, in its type.
    void operator()(const const_any_view& source, std::int64_t first, const any_view& result, std::int64_t maxval,
                    int threads) const {
        view_shape s = source.shape;
        const dtype type = s.type == dtype::f64 || result.shape.type == dtype::f64 ? dtype::f64 : dtype::f32;
        writable_image sums = allocate_image(packed_shape(type, s.rows, s.cols, s.channels));
        boxsum::convolve_options how = how_;
        how.threads = threads;
        run_filter(
            options_.common.filter, "--kernel: the window ",
            [&] {
                convolve({source, kernel_.view()}, {sums.view}, how);
            },
            [&](cuda::stream_ref stream) {
                const device_copy from(s, stream), to(sums.view.shape, stream);
                cuda::copy_async(source, from.view(), stream);
                cuda::convolve({from.view(), kernel_.view()}, {to.view()}, stream, how);
                cuda::copy(to.view(), sums.view, stream);
            });
        sums.view.data = sums.row(first);
        sums.view.shape.rows = result.shape.rows;
        sums.view.shape.plane_stride = result.shape.rows * sums.view.shape.row_stride;
        if (type == result.shape.type) {
            const auto* const from = static_cast<const std::byte*>(sums.view.data);
            std::copy(from, from + sums.view.shape.plane_stride, static_cast<std::byte*>(result.data));
        } else {
            quantise(sums, result, 1, 0, maxval);
        }
    }

    int threads() const { return how_.threads; }

    /// How far it reaches, in either direction.
    window reach() const { return window_radius(kernel_.rows / 2, kernel_.cols / 2); }

  private:
    const convolve_options& options_;
    weights kernel_;
    boxsum::convolve_options how_;
};

}  // namespace

void setup_convolve(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<convolve_options>();
    CLI::App* command = app.add_subcommand("convolve", "Weighted sum of the pixels around each, by any kernel");
    filter_command_options& common = options->common;
    common.filter.border = border_mode::reflect;
    command
        ->add_option("-k,--kernel", options->kernel,
                     "the weights, rows ended by semicolons, as \"1 2 1; 2 4 2; 1 2 1\", or a file of them")
        ->required()
        ->check(some_text);
    command->add_flag("--normalize", options->normalize, "divide the weights by their sum");
    command->add_flag("--flip", options->flip, "turn the kernel by 180 degrees: a convolution in the strict sense");
    add_file_arguments(*command, common.files, "image file, folder or pattern like out/{name}.png");
    add_type(*command, "--type", options->type, "type of the result: the image's (default), 32f or 64f");
    add_file_options(*command, common.files, "png, jpeg, tiff, webp, pnm, pfm, npy");
    add_source_options(*command, common.source);
    add_parsed(*command, "--border", common.filter.border,
               one_of<border_mode>({{"reflect", border_mode::reflect},
                                    {"replicate", border_mode::replicate},
                                    {"constant", border_mode::constant}}),
               "is none of reflect, replicate, constant",
               "what lies beyond the border: reflect (cba|abcd|dcb),\nreplicate (aaa|abcd|ddd), constant "
               "(--border-value)")
        ->default_str("reflect");
    command->add_option("--border-value", common.filter.border_value, "the value, with --border constant (default: 0)")
        ->check(finite_number);
    command->add_option("--algorithm", options->algorithm, "see 'boxsum algorithms --operation convolve'")
        ->capture_default_str();
    add_device_options(*command, common.filter.device, common.filter.threads);
    add_summary_options(*command, common.report);
    command->footer(convolve_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_convolve(*options); }; });
}

exit_code run_convolve(const convolve_options& options) {
    if (options.kernel == "-" && options.common.files.files.front() == "-")
        throw usage_error("standard input can be only one of the inputs");
    const convolution convolved(options);
    const auto shape = [&](const image& colours, image_format) {
        const view_shape& s = colours.view.shape;
        const dtype type = options.type.value_or(s.type);
        if (type != s.type && type != dtype::f64 && (type != dtype::f32 || s.type == dtype::f64))
            throw unsupported("--type: is " + std::string(name_of(type)) + " for an image of " +
                              std::string(name_of(s.type)) + "; must be " + std::string(name_of(s.type)) +
                              (s.type == dtype::f64 ? "" : ", 32f or 64f"));
        return packed_shape(type, s.rows, s.cols, s.channels);
    };
    const auto whole = [&](const separated_image& parts, image_format format) -> image {
        const writable_image out = allocate_image(shape(parts.colours, format));
        convolved(parts.colours.view, 0, out.view, parts.colours.maxval, convolved.threads());
        image result = out;
        if (out.view.shape.type == parts.colours.view.shape.type) result.maxval = parts.colours.maxval;
        return result;
    };
    filter_command command{"convolving", shape, whole};
    command.rows = [&](const image& source, image_format) -> strip_work {
        return [&, maxval = source.maxval](const strip& part, const any_view& result) {
            convolved(part.inputs.image, std::min(part.top, convolved.reach().above), result, maxval, part.threads);
        };
    };
    command.reach = convolved.reach();
    return run_filter_command(options.common, command);
}

}  // namespace boxsum::cli
