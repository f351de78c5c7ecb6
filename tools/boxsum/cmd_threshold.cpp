#include "cmd_threshold.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"

#include <boxsum/cuda/filters.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* threshold_footer =
    R"(A pixel becomes 255 where it exceeds the threshold T of its window, else 0. With mean m and standard deviation s:
  bradley  T = m (1 - k)                            k =  0.15
  niblack  T = m + k s                              k = -0.2
  sauvola  T = m (1 + k (s / R - 1))                k =  0.2, R half the range of the type
  wolf     T = m - k (1 - s / s_max) (m - I_min)    k =  0.5

Examples:
  boxsum threshold page.png text.png --method sauvola --window 31
  boxsum threshold page.png text.png --method bradley --window 61 --k 0.1)";

}  // namespace

void setup_threshold(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<threshold_command_options>();
    CLI::App* command = app.add_subcommand("threshold", "Adaptive threshold");
    command->add_option("IN", options->input, "image file, or -")->required();
    command->add_option("OUT", options->output, "image file, or -")->required();
    command->add_option("--method", options->method, "bradley, niblack, sauvola or wolf")
        ->capture_default_str()
        ->check(CLI::IsMember({"bradley", "niblack", "sauvola", "wolf"}));
    add_window_option(*command, options->window);
    command->add_option("--k", options->k, "the method's k")->check(finite_number);
    command->add_option("--range", options->range, "Sauvola's R, above 0")->check(positive_number);
    command->add_option("--format", options->format, "format of OUT: png, jpeg, tiff, pnm, npy")->check(some_text);
    add_filter_options(*command, options->filter);
    add_summary_options(*command, options->report);
    command->footer(threshold_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_threshold(*options); }; });
}

exit_code run_threshold(const threshold_command_options& options) {
    if (options.range && options.method != "sauvola") throw usage_error("--range: only the method sauvola has an R");
    const image_format format = output_format(options.output, options.format, "--format");
    check_outputs({options.output}, options.report);

    progress busy;
    busy.phase("reading " + input_name(options.input));
    const image source = read_filter_input(options.input);
    const writable_image result = allocate_like(source.view.shape, dtype::u8);
    check_can_hold(options.output, format, result.view.shape);
    output_file output(options.output);

    busy.phase("computing thresholds");
    const threshold_rule rule{*threshold_from_name(options.method), options.k, options.range};
    boxsum::filter_options how = library_options(options.filter);
    how.window = window_of(options.window);
    const stopwatch watch;
    run_filter(
        options.filter, "--window: ", [&] { adaptive_threshold({source.view}, {result.view}, rule, how); },
        [&](cuda::stream_ref stream) { cuda::adaptive_threshold({source.view}, {result.view}, stream, rule, how); });
    const double seconds = watch.seconds();

    busy.phase("writing " + output_name(options.output));
    write_image(output, format, result.view);
    output.commit();
    busy.stop();
    return print_summary({options.input,
                          source.view.shape,
                          {{"result", options.output, result.view.shape}},
                          seconds,
                          {{"method", options.method}}},
                         options.report);
}

}  // namespace boxsum::cli
