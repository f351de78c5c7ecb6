#include "cmd_stats.hpp"

#include "device.hpp"
#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "image_io/row_sink.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "strips.hpp"
#include "window_summary.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr const char* stats_footer =
    R"(Results are 32f (64f for 64f images) in NPY, TIFF and PFM files. In PNG, JPEG, PGM and PPM files the mean and the
standard deviation of integer images are rounded half up; variances, sums and counts need one of the others. Variances
are the population's. Opacity is kept, but not with counts and sums of integers.

In NPY and TIFF files sums of images of 8u, 16u and 16s are exact, 64s, and counts, of the pixels that count in a window,
32u, or 64f where a window may have 2^32 pixels or more; with --weights both are of weights, and like means.

Without an output it prints, of each band, how many pixels count, and the least, the mean and the greatest of the means
and standard deviations of the windows around them.

Examples:
  boxsum stats dem.tif --nodata -9999 --window 501
  boxsum stats photo.png --window 31 --mean mean.png --std std.png
  boxsum stats photo.png --window 9,21 --mean mean.npy --variance variance.npy --border reflect
  boxsum stats dem.tif --window 8 --origin -4 --sum sum.tif --count count.tif)";

/// One result on its way to its file.
struct stats_output {
    std::string role;
    std::string path;
    image_format format = image_format::npy;
    dtype computed = dtype::f32;  ///< as the library writes it
    view_shape written;           ///< as the file holds it, without opacity
    bool opacity = false;         ///< the image's goes with it into the file
    std::optional<output_file> file;
    std::optional<row_sink> rows;  ///< of a file that is written in strips

    /// What is computed, as the file holds it.
    image to_write(const writable_image& pixels) const {
        return computed == written.type ? pixels : quantised(pixels, written.type, 1, 0);
    }

    view_shape in_file() const {
        return packed_shape(written.type, written.rows, written.cols, written.channels + (opacity ? 1 : 0));
    }
};

/// Whether a result's numbers are like the pixels'. Counts, and sums of integers, have none that means no data, and no
/// range that opacity has a place in.
bool is_like_pixels(const stats_output& out, dtype image) {
    return out.role != "count" && (out.role != "sum" || is_floating(image));
}

/// The type that holds how many pixels any window has.
dtype type_of_counts(const boxsum::filter_options& how, const view_shape& image) {
    const auto pixels = [&](std::int64_t before, std::int64_t after, std::int64_t extent) {
        const double all = static_cast<double>(before) + static_cast<double>(after) + 1;
        return how.border == border_mode::shrink ? std::min(all, static_cast<double>(extent)) : all;
    };
    const window& w = how.window;
    const double most = pixels(w.above, w.below, image.rows) * pixels(w.left, w.right, image.cols);
    return most > std::numeric_limits<std::uint32_t>::max() ? dtype::f64 : dtype::u32;
}

void prepare(stats_output& out, const view_shape& image, bool alpha, bool weighted, const boxsum::filter_options& how,
             durability kind) {
    const bool rounded = integers_only(out.format) && !is_floating(image.type);
    const bool exact = out.format != image_format::pfm && !weighted;
    dtype written = out.computed = floating_result_type(image.type, out.format);
    if (exact && out.role == "sum" && !is_floating(image.type)) out.computed = written = dtype::s64;
    if (exact && out.role == "count") out.computed = written = type_of_counts(how, image);
    if (rounded && out.role == "mean") out.computed = written = image.type;
    if (rounded && out.role == "deviation") written = image.type == dtype::u8 ? dtype::u8 : dtype::u16;
    out.written = packed_shape(written, image.rows, image.cols, image.channels);
    out.opacity = alpha && is_like_pixels(out, image.type);
    check_can_hold(out.path, out.format, out.in_file());
    out.file.emplace(out.path, kind);
}

any_view& place_of(const stats_output& out, window_outputs& results) {
    return out.role == "mean"       ? results.mean
           : out.role == "variance" ? results.variance
           : out.role == "sum"      ? results.sum
           : out.role == "count"    ? results.count
                                    : results.deviation;
}

/// What the image's file says that is true of the result as well.
std::shared_ptr<const image_metadata> metadata_of(const stats_output& out, const image& source) {
    if (is_like_pixels(out, source.view.shape.type) || !source.metadata) return source.metadata;
    auto kept = std::make_shared<image_metadata>(*source.metadata);
    std::erase_if(kept->geo, [](const image_metadata::tiff_tag& tag) { return tag.number == geo_tags::gdal_nodata; });
    return kept;
}

/// Whether all outputs can be written row by row; they are open for it then.
bool open_rows(std::list<stats_output>& outputs, const image& source, const write_options& how) {
    const auto about = [&](const stats_output& out) {
        image result{.view = {nullptr, out.written}, .owner = {}};
        result.metadata = metadata_of(out, source);
        if (out.role == "mean") result.maxval = source.maxval;
        return result;
    };
    for (const stats_output& out : outputs)
        if (!takes_rows(out.path, out.format, about(out), how)) return false;
    for (stats_output& out : outputs) out.rows = row_sink_for(*out.file, out.format, about(out), how);
    return true;
}

/// A strip of rows after the other, of all results at once.
void run_in_strips(std::list<stats_output>& outputs, const image& source, const sampling& samples,
                   const filter_options& filter, const boxsum::filter_options& how, progress& busy, summary& report) {
    const view_shape& s = source.view.shape;
    std::int64_t bytes_of_row = 0;
    for (const stats_output& out : outputs)
        bytes_of_row += s.cols * s.channels * static_cast<std::int64_t>(size_of(out.computed));
    const strips parts(s, how.window, bytes_of_row, filter.threads);
    struct place {
        std::vector<writable_image> computed;  // of each output
        std::vector<image> to_write;
    };
    std::vector<place> places(static_cast<std::size_t>(parts.places()));
    for (place& here : places)
        for (const stats_output& out : outputs)
            here.computed.push_back(allocate_image(packed_shape(out.computed, parts.most_rows(), s.cols, s.channels)));
    const auto compute = [&](const strip& part) {
        place& here = places[static_cast<std::size_t>(part.place)];
        window_outputs results;
        std::size_t i = 0;
        for (const stats_output& out : outputs) {
            writable_image& pixels = here.computed[i++];
            pixels.view.shape = packed_shape(out.computed, part.rows, s.cols, s.channels);
            place_of(out, results) = pixels.view;
        }
        run_filter(
            filter, "--window: ", [&] { local_statistics(part.inputs, results, with_threads(how, part.threads)); },
            [](cuda::stream_ref) {});
        here.to_write.clear();
        i = 0;
        for (const stats_output& out : outputs) here.to_write.push_back(out.to_write(here.computed[i++]));
    };
    const auto hand_on = [&](const strip& part) {
        std::size_t i = 0;
        for (const stats_output& out : outputs)
            out.rows->write(places[static_cast<std::size_t>(part.place)].to_write[i++].view);
        busy.share(part.share_of(s.rows));
    };
    parts.run(source, samples, compute, hand_on, report);
    const stopwatch writing;
    for (const stats_output& out : outputs) out.rows->finish();
    report.writing_seconds += writing.seconds();
}

exit_code finish(std::list<stats_output>& outputs, const summary_options& how, summary& report) {
    std::vector<output_file*> files;
    for (stats_output& out : outputs) {
        report.outputs.push_back({out.role, out.path, out.in_file()});
        files.push_back(&*out.file);
    }
    const stopwatch naming;
    commit_together(files);
    report.writing_seconds += naming.seconds();
    return print_summary(report, how);
}

/// Of all outputs that there can be; empty ones are not wanted.
std::vector<std::string> paths_of(const stats_options& options) {
    return {options.mean, options.variance, options.deviation, options.sum, options.count};
}

exit_code run_one(const stats_options& options, const source_options& from, const std::string& input,
                  const std::vector<std::string>& paths) {
    const filter_command_options& common = options.common;
    std::list<stats_output> outputs;                                                // an output_file cannot move
    const char* const roles[] = {"mean", "variance", "deviation", "sum", "count"};  // as of paths_of()
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (!paths[i].empty()) {
            stats_output& out = outputs.emplace_back();
            out.role = roles[i];
            out.path = paths[i];
            out.format = output_format(paths[i], common.files.format, "--format");
        }
    check_outputs(paths, common.report);
    summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = {}};

    progress busy;
    busy.phase("reading " + input_name(input));
    const stopwatch reading;
    const image read = read_filter_input(input, from, common.filter);
    report.input_shape = read.view.shape;
    report.reading_seconds = reading.seconds();
    const separated_image parts = separate_alpha(read);
    const image& source = parts.colours;
    boxsum::filter_options how = library_options(common.filter);
    how.window = window_of(options.window);
    how = options_for(source, how, dtype::f64);  // of the means
    const sampling samples = read_sampling(common.filter, common.source);
    for (stats_output& out : outputs) {
        prepare(out, source.view.shape, parts.has_alpha(), samples.weights.view.data != nullptr, how,
                common.files.write.kind());
        if (!common.report.quiet) note_what_is_lost(source, out.format, input);
    }

    busy.phase("computing statistics");
    const bool by_rows =
        common.filter.border != border_mode::wrap && !parts.has_alpha() && chosen_device(common.filter.device) == "cpu";
    if (by_rows && open_rows(outputs, source, common.files.write)) {
        run_in_strips(outputs, source, samples, common.filter, how, busy, report);
        busy.stop();
        return finish(outputs, common.report, report);
    }
    const auto pixels = static_cast<std::uint64_t>(source.view.shape.rows * source.view.shape.cols);
    std::uint64_t bytes = 0;
    for (const stats_output& out : outputs)
        bytes += pixels * static_cast<std::uint64_t>(source.view.shape.channels) * size_of(out.computed);
    check_memory(bytes, "the results");
    const stopwatch computing;
    window_outputs results;
    std::vector<writable_image> computed;
    for (const stats_output& out : outputs) {
        computed.push_back(allocate_like(source.view.shape, out.computed));
        place_of(out, results) = computed.back().view;
    }
    run_filter(
        common.filter, "--window: ", [&] { local_statistics(inputs_of(source, samples), results, how); },
        [&](cuda::stream_ref stream) { cuda::local_statistics(inputs_of(source, samples), results, stream, how); });
    report.seconds = computing.seconds();

    const stopwatch writing;
    std::size_t i = 0;
    for (stats_output& out : outputs) {
        busy.phase("writing " + output_name(out.path));
        image result = out.to_write(computed[i++]);
        if (out.role == "mean") result.maxval = source.maxval;
        result.metadata = metadata_of(out, source);
        write_image(*out.file, out.format, out.opacity ? join_alpha(result, parts) : result, common.files.write);
    }
    report.writing_seconds = writing.seconds();
    busy.stop();
    return finish(outputs, common.report, report);
}

}  // namespace

void setup_stats(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<stats_options>();
    CLI::App* command = app.add_subcommand("stats", "Local mean, variance, standard deviation, sum and count");
    add_input_arguments(*command, options->common.files);
    command->add_option("--mean", options->mean, "write the means to this file")->check(some_text);
    command->add_option("--std", options->deviation, "write the standard deviations to this file")->check(some_text);
    command->add_option("--variance", options->variance, "write the variances to this file")->check(some_text);
    command->add_option("--sum", options->sum, "write the sums to this file")->check(some_text);
    command->add_option("--count", options->count, "write how many pixels count, or their weight, to this file")
        ->check(some_text);
    add_window_options(*command, options->window);
    add_file_options(*command, options->common.files, "png, jpeg, tiff, pnm, pfm, npy");
    add_source_options(*command, options->common.source);
    add_filter_options(*command, options->common.filter);
    add_summary_options(*command, options->common.report);
    command->footer(stats_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_stats(*options); }; });
}

exit_code run_stats(const stats_options& options) {
    const std::vector<std::string> paths = paths_of(options);
    if (std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); })) {
        file_options files = options.common.files;
        files.prints = true;
        if (options.common.report.quiet || !files.format.empty() || files.skip_existing || options.common.filter.fill)
            throw usage_error(
                "--mean, --std, --variance, --sum or --count: give at least one output, or neither -q, --format, "
                "--skip-existing nor --fill");
        return run_files(files, options.common.source, {""}, options.common.report,
                         [&](const std::string& input, const std::vector<std::string>&, const source_options& source) {
                             return print_window_summary(options.common, options.window, source, input);
                         });
    }
    check_outputs(paths, options.common.report);
    return run_files(options.common.files, options.common.source, paths, options.common.report,
                     [&](const std::string& input, const std::vector<std::string>& outputs,
                         const source_options& source) { return run_one(options, source, input, outputs); });
}

}  // namespace boxsum::cli
