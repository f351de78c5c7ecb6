#include "window_summary.hpp"

#include "device.hpp"
#include "image_io/input_file.hpp"
#include "pixels.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "strips.hpp"
#include "text_output.hpp"

#include <boxsum/cuda/filters.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

namespace boxsum::cli {
namespace {

struct spread {
    double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;

    void add(double value) { add({value, value, value}); }
    void add(const spread& others) {
        least = std::min(least, others.least);
        most = std::max(most, others.most);
        sum += others.sum;
    }
};

/// Of one band, of all rows or one.
struct band_summary {
    std::int64_t count = 0;
    spread mean = {}, deviation = {};

    void add(const band_summary& others) {
        count += others.count;
        mean.add(others.mean);
        deviation.add(others.deviation);
    }
};

/// What the windows around the pixels of some rows have: the same rows of all views.
struct window_rows {
    filter_inputs inputs;
    any_view mean, deviation;
};

const_any_view rows_behind(const const_any_view& view, std::int64_t first) {
    if (view.data == nullptr) return view;
    const_any_view rest = view;
    rest.data = static_cast<const std::byte*>(view.data) + first * view.shape.row_stride;
    return rest;
}

/// Whether a mask (8u) and weights (32f) take a pixel, as the library does: a weight that is not finite takes it out.
bool has_sample(const filter_inputs& inputs, std::int64_t r, std::int64_t c) {
    if (inputs.mask.data != nullptr && row_as<std::uint8_t>(inputs.mask, r)[c] == 0) return false;
    if (inputs.weights.data == nullptr) return true;
    const float weight = row_as<float>(inputs.weights, r)[c];
    return weight > 0 && std::isfinite(weight);
}

/// One row, one band: of pixels that count and have a window in which enough do.
template <typename Pixel, typename Result>
band_summary summary_of_row(const window_rows& rows, std::int64_t r, std::int64_t band,
                            const std::optional<double>& nodata) {
    const view_shape& s = rows.inputs.image.shape;
    const Pixel* const pixels = row_as<Pixel>(rows.inputs.image, r);
    const Result* const means = row_as<Result>(rows.mean, r);
    const Result* const deviations = row_as<Result>(rows.deviation, r);
    band_summary all;
    for (std::int64_t c = 0; c < s.cols; ++c) {
        const std::int64_t i = c * s.channels + band;
        const auto value = number_of(pixels[i]);
        if (nodata && value == static_cast<decltype(number_of(Pixel{}))>(*nodata)) continue;
        if (std::isnan(static_cast<double>(value)) || std::isnan(means[i])) continue;
        if (!has_sample(rows.inputs, r, c)) continue;
        ++all.count;
        all.mean.add(static_cast<double>(means[i]));
        all.deviation.add(static_cast<double>(deviations[i]));
    }
    return all;
}

/// Of each row, its bands.
std::vector<band_summary> summaries_of(const window_rows& rows, std::int64_t count,
                                       const std::optional<double>& nodata) {
    std::vector<band_summary> all;
    const view_shape& s = rows.inputs.image.shape;
    visit_type(s.type, [&]<typename Pixel>(std::type_identity<Pixel>) {
        for (std::int64_t r = 0; r < count; ++r)
            for (std::int64_t band = 0; band < s.channels; ++band)
                all.push_back(rows.mean.shape.type == dtype::f64 ? summary_of_row<Pixel, double>(rows, r, band, nodata)
                                                                 : summary_of_row<Pixel, float>(rows, r, band, nodata));
    });
    return all;
}

/// Row after row, so that sums do not depend on threads.
void add_rows(const std::vector<band_summary>& rows, std::vector<band_summary>& bands) {
    for (std::size_t i = 0; i < rows.size(); ++i) bands[i % bands.size()].add(rows[i]);
}

std::vector<band_summary> summarise(const filter_command_options& options, const image& source,
                                    const boxsum::filter_options& how, progress& busy, summary& report) {
    const view_shape& s = source.view.shape;
    const sampling samples = read_sampling(options.filter, options.source);
    const dtype type = floating_result_type(s.type, image_format::npy);
    std::vector<band_summary> bands(static_cast<std::size_t>(s.channels));
    if (options.filter.border == border_mode::wrap || chosen_device(options.filter.device) != "cpu") {
        const stopwatch computing;
        const writable_image mean = allocate_like(s, type), deviation = allocate_like(s, type);
        const window_rows rows{inputs_of(source, samples), mean.view, deviation.view};
        const window_outputs results{.mean = mean.view, .deviation = deviation.view};
        run_filter(
            options.filter, "--window: ", [&] { local_statistics(rows.inputs, results, how); },
            [&](cuda::stream_ref stream) { cuda::local_statistics(rows.inputs, results, stream, how); });
        add_rows(summaries_of(rows, s.rows, how.nodata), bands);
        report.seconds += computing.seconds();
        return bands;
    }
    const strips parts(s, how.window, 2 * s.cols * s.channels * static_cast<std::int64_t>(size_of(type)),
                       options.filter.threads);
    struct place {
        writable_image mean, deviation;
        std::vector<band_summary> rows;
    };
    std::vector<place> places(static_cast<std::size_t>(parts.places()));
    for (place& here : places)
        for (writable_image* const one : {&here.mean, &here.deviation})
            *one = allocate_image(packed_shape(type, parts.most_rows(), s.cols, s.channels));
    parts.run(
        source, samples,
        [&](const strip& part) {
            place& here = places[static_cast<std::size_t>(part.place)];
            here.mean.view.shape = here.deviation.view.shape = packed_shape(type, part.rows, s.cols, s.channels);
            run_filter(
                options.filter, "--window: ",
                [&] {
                    local_statistics(part.inputs, {.mean = here.mean.view, .deviation = here.deviation.view},
                                     with_threads(how, part.threads));
                },
                [](cuda::stream_ref) {});
            const std::int64_t above = std::min(part.top, how.window.above);
            filter_inputs own = part.inputs;
            own.image = rows_behind(own.image, above);
            own.mask = rows_behind(own.mask, above);
            own.weights = rows_behind(own.weights, above);
            here.rows = summaries_of({own, here.mean.view, here.deviation.view}, part.rows, how.nodata);
        },
        [&](const strip& part) {
            add_rows(places[static_cast<std::size_t>(part.place)].rows, bands);
            busy.share(part.share_of(s.rows));
        },
        report);
    return bands;
}

std::string digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return text.data();
}

exit_code print_as_json(const summary& what, const window_choice& window, const std::vector<band_summary>& bands) {
    nlohmann::ordered_json report{{"input", {{"path", what.input}}}};
    report["input"].update(json_of(what.input_shape));
    report["window"] = {window.size.rows, window.size.cols};
    report["origin"] = {window.moved.row, window.moved.col};
    report["bands"] = nlohmann::ordered_json::array();
    for (const band_summary& band : bands) {
        nlohmann::ordered_json entry{{"band", report["bands"].size() + 1}, {"count", band.count}};
        const auto add = [&](const char* name, const spread& of) {
            if (band.count == 0)
                entry[name] = nullptr;
            else
                entry[name] = {{"min", of.least}, {"mean", of.sum / static_cast<double>(band.count)}, {"max", of.most}};
        };
        add("mean", band.mean);
        add("deviation", band.deviation);
        report["bands"].push_back(entry);
    }
    report["reading_seconds"] = what.reading_seconds;
    report["seconds"] = what.seconds;
    return print_json(report);
}

exit_code print_as_text(const summary& what, const window_choice& window, const std::vector<band_summary>& bands) {
    std::vector<std::vector<std::string>> lines{{"band", "count", "of windows", "min", "mean", "max"}};
    for (std::size_t i = 0; i < bands.size(); ++i) {
        const auto add = [&](const char* name, const spread& of) {
            std::vector<std::string> cells{std::to_string(i + 1), std::to_string(bands[i].count), name, "-", "-", "-"};
            if (bands[i].count > 0) {
                cells[3] = digits(of.least);
                cells[4] = digits(of.sum / static_cast<double>(bands[i].count));
                cells[5] = digits(of.most);
            }
            lines.push_back(cells);
        };
        add("mean", bands[i].mean);
        add("deviation", bands[i].deviation);
    }
    const std::string moved = window.moved == origin{} ? ""
                                                       : " with the origin " + std::to_string(window.moved.row) + ", " +
                                                             std::to_string(window.moved.col);
    std::array<char, 96> timing{};
    std::snprintf(timing.data(), timing.size(), ": read in %.1f ms, computed in %.3f ms\n", what.reading_seconds * 1e3,
                  what.seconds * 1e3);
    return print_output(input_name(what.input) + " (" + text_of(what.input_shape) + "), windows of " +
                        std::to_string(window.size.rows) + " x " + std::to_string(window.size.cols) + moved +
                        timing.data() + aligned(lines));
}

}  // namespace

exit_code print_window_summary(const filter_command_options& options, const window_choice& window,
                               const source_options& from, const std::string& input) {
    for (const source_options& page : page_by_page(input, from)) {
        summary report{.input = input, .input_shape = {}, .outputs = {}, .seconds = 0, .details = {}};
        progress busy;
        busy.phase("reading " + input_name(input));
        const stopwatch reading;
        const image read = read_filter_input(input, page, options.filter);
        report.input_shape = read.view.shape;
        report.reading_seconds = reading.seconds();
        const image source = separate_alpha(read).colours;
        boxsum::filter_options how = library_options(options.filter);
        how.window = window_of(window);
        how = options_for(source, how);
        how.fill = std::numeric_limits<double>::quiet_NaN();  // where too few count there is no window to speak of
        busy.phase("computing statistics");
        const std::vector<band_summary> bands = summarise(options, source, how, busy, report);
        busy.stop();
        if (options.report.json)
            print_as_json(report, window, bands);
        else
            print_as_text(report, window, bands);
    }
    return exit_code::done;
}

}  // namespace boxsum::cli
