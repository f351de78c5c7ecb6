#include "cmd_blobs.hpp"

#include "colour.hpp"
#include "device.hpp"
#include "image_io/input_file.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "text_output.hpp"

#include <boxsum/blobs.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr const char* blobs_footer =
    R"(Finds spots that are brighter or darker than what is around them, of the sizes that --sigma names: a spot of radius r has a
sigma of about r. They are maxima of the determinant of the Hessian by boxes (Bay, Tuytelaars and Van Gool 2006), those of
scikit-image's blob_doh; integers count from 0 to 1. Of colour images brightness is looked at, and opacity is not.
Rows and columns are those of the image, also with --region. The strongest spot comes first; with --page all it does on each
page.

Examples:
  boxsum blobs stars.fits
  boxsum blobs cells.tif --sigma 4,12,9 --threshold 0.002 --csv > cells.csv
  boxsum blobs night.png --sigma 1,64,7 --log --overlap 0.2 --json)";

std::optional<blob_sigmas> parse_sigmas(std::string_view text) {
    std::vector<double> numbers;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto number = parse_number(text.substr(0, comma));
        if (!number) return {};
        numbers.push_back(*number);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    constexpr double most = 1000;
    if (numbers.size() < 2 || numbers.size() > 3) return {};
    blob_sigmas sigmas{numbers[0], numbers[1]};
    if (!(sigmas.least >= 1 && sigmas.least <= sigmas.most && sigmas.most <= 0x1p30)) return {};
    if (numbers.size() == 3) {
        if (numbers[2] != std::floor(numbers[2]) || !(numbers[2] >= 1 && numbers[2] <= most)) return {};
        sigmas.count = static_cast<int>(numbers[2]);
    }
    return sigmas;
}

struct found_blob {
    blob of;
    int page;
};

exit_code print_blobs_as_json(const blobs_options& options, const view_shape& shape,
                              const std::vector<found_blob>& blobs) {
    nlohmann::ordered_json report{{"input", {{"path", options.input}}}};
    report["input"].update(json_of(shape));
    nlohmann::ordered_json entries = nlohmann::ordered_json::array();
    for (const auto& [b, page] : blobs) {
        nlohmann::ordered_json entry;
        if (options.source.page == all_pages) entry["page"] = page;
        entry.update({{"row", b.row}, {"col", b.col}, {"sigma", b.sigma}, {"determinant", b.determinant}});
        entries.push_back(std::move(entry));
    }
    report["blobs"] = std::move(entries);
    return print_json(report);
}

}  // namespace

void setup_blobs(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<blobs_options>();
    CLI::App* command = app.add_subcommand("blobs", "Bright and dark spots");
    command->add_option("IN", options->input, "image file; - is standard input")->required();
    add_parsed(*command, "--sigma", options->sigmas, parse_sigmas,
               "is not LEAST,MOST or LEAST,MOST,COUNT with 1 <= LEAST <= MOST <= 2^30 and COUNT 1 to 1000",
               "scales that are tried: LEAST,MOST or LEAST,MOST,COUNT (default: 1,30,10)");
    command->add_flag("--log", options->logarithmic, "scales of equal ratios instead of equal steps");
    command->add_option("--threshold", options->threshold, "least determinant of a spot (default: 0.01)")
        ->check(finite_number);
    command
        ->add_option("--relative-threshold", options->relative_threshold,
                     "and the least part of the greatest determinant in the image (default: none)")
        ->check(finite_number);
    command
        ->add_option(
            "--overlap", options->overlap,
            "of two spots that share more than this part of the smaller one's area the smaller goes (default: 0.5)")
        ->check(CLI::Range(0.0, 1.0));
    add_source_options(*command, options->source);
    add_threads_option(*command, options->threads);
    CLI::Option* json = command->add_flag("--json", options->json, "results as JSON");
    command->add_flag("--csv", options->csv, "results as CSV")->excludes(json);
    command->footer(blobs_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_blobs(*options); }; });
}

exit_code run_blobs(const blobs_options& options) {
    blob_options how;
    how.sigmas = blob_scales(options.sigmas.least, options.sigmas.most, options.sigmas.count,
                             options.logarithmic ? scale_steps::logarithmic : scale_steps::linear);
    if (options.threshold) how.threshold = options.threshold;
    how.relative_threshold = options.relative_threshold;
    if (options.overlap) how.overlap = *options.overlap;
    how.threads = bounded_threads(options.threads);

    progress busy;
    const bool pages = options.source.page == all_pages;
    std::vector<found_blob> found;
    view_shape shape;
    for (source_options page : page_by_page(options.input, options.source)) {
        busy.phase("reading " + input_name(options.input));
        page.grey = true;
        const image grey = separate_alpha(read_source(options.input, page)).colours;
        shape = grey.view.shape;
        busy.phase("finding spots");
        for (blob b : find_blobs({grey.view}, how)) {
            b.row += page.region ? page.region->row : 0;
            b.col += page.region ? page.region->col : 0;
            found.push_back({b, page.page.value_or(1)});
        }
    }
    busy.stop();
    if (options.json) return print_blobs_as_json(options, shape, found);
    std::vector<std::vector<std::string>> cells;
    const auto add_row = [&](std::string page, std::string row, std::string col, std::string sigma,
                             std::string determinant) {
        std::vector<std::string>& line = cells.emplace_back();
        if (pages) line.push_back(std::move(page));
        for (std::string* word : {&row, &col, &sigma, &determinant}) line.push_back(std::move(*word));
    };
    add_row("page", "row", "col", "sigma", "determinant");
    for (const auto& [b, page] : found)
        add_row(std::to_string(page), std::to_string(b.row), std::to_string(b.col), text_of(b.sigma),
                text_of(b.determinant));
    if (!options.csv) return print_output(aligned(cells));
    std::string text;
    for (const auto& row : cells) text.append(joined(row, ",")).append("\n");
    return print_output(text);
}

}  // namespace boxsum::cli
