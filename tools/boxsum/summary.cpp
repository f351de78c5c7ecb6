#include "summary.hpp"

#include "image_io/image.hpp"
#include "image_io/input_file.hpp"
#include "image_io/output_file.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace boxsum::cli {
namespace {

double gigabytes_per_second(const summary& what) {
    std::int64_t bytes = what.input_shape.rows * row_bytes(what.input_shape);
    for (const summary::output& out : what.outputs) bytes += out.shape.rows * row_bytes(out.shape);
    return static_cast<double>(bytes) / what.seconds / 1e9;
}

exit_code print_as_json(const summary& what) {
    nlohmann::ordered_json report{{"input", {{"path", what.input}}}};
    report["input"].update(json_of(what.input_shape));
    for (const summary::output& out : what.outputs) {
        report[out.role] = {{"path", out.path}};
        report[out.role].update(json_of(out.shape));
    }
    for (const auto& [key, value] : what.details) report[key] = value;
    report["reading_seconds"] = what.reading_seconds;
    report["seconds"] = what.seconds;
    report["writing_seconds"] = what.writing_seconds;
    report["gigabytes_per_second"] = gigabytes_per_second(what);
    return print_json(report);
}

}  // namespace

void add_summary_options(CLI::App& command, summary_options& options) {
    CLI::Option* json = command.add_flag("--json", options.json, "summary as JSON");
    command.add_flag("-q,--quiet", options.quiet, "no summary")->excludes(json);
}

void check_outputs(const std::vector<std::string>& paths, const summary_options& options) {
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (paths[i].empty()) continue;
        for (std::size_t k = 0; k < i; ++k) {
            if (paths[k].empty() || !same_output(paths[i], paths[k])) continue;
            if (paths[i] == paths[k]) throw usage_error("two outputs are called '" + paths[i] + "'");
            throw usage_error("two outputs are one file: '" + paths[k] + "' and '" + paths[i] + "'");
        }
        if (options.json && is_standard_output(paths[i]))
            throw usage_error("--json: standard output is taken by an output file, '" + paths[i] + "'");
    }
}

exit_code print_summary(const summary& what, const summary_options& options) {
    const bool taken = std::any_of(what.outputs.begin(), what.outputs.end(),
                                   [](const summary::output& out) { return is_standard_output(out.path); });
    if (options.quiet || taken) return exit_code::done;
    if (options.json) return print_as_json(what);
    std::string text = input_name(what.input) + " (" + text_of(what.input_shape) + ") -> ";
    for (std::size_t i = 0; i < what.outputs.size(); ++i) {
        const summary::output& out = what.outputs[i];
        text.append(i == 0 ? "" : ", ").append(out.path).append(" (").append(out.role).append(", ");
        text.append(text_of(out.shape)).append(")");
    }
    std::array<char, 160> timing{};
    std::snprintf(timing.data(), timing.size(),
                  ": read in %.1f ms, computed in %.3f ms (%.2f GB/s), written in %.1f ms", what.reading_seconds * 1e3,
                  what.seconds * 1e3, gigabytes_per_second(what), what.writing_seconds * 1e3);
    text.append(timing.data());
    for (const auto& [key, value] : what.details) text.append(", ").append(key).append(" ").append(value);
    return print_output(text + "\n");
}

}  // namespace boxsum::cli
