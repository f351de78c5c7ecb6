#include "cmd_algorithms.hpp"

#include "text_output.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/convolve.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace boxsum::cli {
namespace {

constexpr const char* algorithms_footer =
    R"(Lists every registered algorithm: name, backend, paper, cost (launches, reads and writes per element), and the type
pairs (image -> table or result) that it computes on this machine. Algorithms whose kernels were not compiled say "not built".

Examples:
  boxsum algorithms
  boxsum algorithms --operation sat --params
  boxsum algorithms --json)";

view_shape ordinary(dtype type) {
    view_shape image;
    image.type = type;
    image.rows = image.cols = 512;
    image.row_stride = image.cols * static_cast<std::int64_t>(size_of(type));
    return image;
}

/// Of convolutions: image and result, asked for a kernel of 3 x 3.
std::vector<std::string> convolved_pairs(const algorithm_info& a) {
    constexpr double weights[9] = {};
    std::vector<std::string> names;
    for (const dtype image : {dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64})
        for (const dtype result : {dtype::f32, dtype::f64})
            if (supports(a, ordinary(image), {weights, 3, 3}, result))
                names.push_back(name_of(type_pair{image, result}));
    return names;
}

/// The pairs that an algorithm computes here, asked for an ordinary image.
std::vector<std::string> supported_pairs(const algorithm_info& a) {
    std::vector<std::string> names;
    if (!a.built) return names;
    if (a.what == operation::convolve) return convolved_pairs(a);
    if (a.what != operation::sat) return names;
    for (const type_pair pair : type_pairs()) {
        if (supports(a, ordinary(pair.input), pair.table, table_layout::padded)) names.push_back(name_of(pair));
    }
    return names;
}

nlohmann::ordered_json json_of_record(const algorithm_info& a, bool with_parameters) {
    nlohmann::ordered_json entry{
        {"operation", name_of(a.what)}, {"name", a.name}, {"title", a.title}, {"paper", a.paper},
        {"backend", name_of(a.where)},  {"cost", a.cost}, {"built", a.built}, {"in_place", a.in_place},
        {"pairs", supported_pairs(a)}};
    if (!with_parameters) return entry;
    entry["parameters"] = nlohmann::ordered_json::array();
    for (const parameter& p : a.parameters)
        entry["parameters"].push_back({{"name", p.name}, {"description", p.description}, {"values", p.values}});
    return entry;
}

std::string describe(const algorithm_info& a, bool with_parameters) {
    std::string text = std::string(name_of(a.what)) + ":" + std::string(a.name) + " (" + std::string(name_of(a.where)) +
                       (a.built ? "" : ", not built") + ")\n  " + std::string(a.title) +
                       "\n  paper: " + std::string(a.paper) + "\n  cost:  " + std::string(a.cost) + "\n";
    const auto pairs = supported_pairs(a);
    if (!pairs.empty()) text.append("  pairs: ").append(joined(pairs, " ")).append("\n");
    if (!with_parameters) return text;
    for (const parameter& p : a.parameters) {
        text.append("  --param ").append(p.name).append("=");
        for (std::size_t i = 0; i < p.values.size(); ++i) text.append(i == 0 ? "" : "|").append(p.values[i]);
        text.append("  ").append(p.description).append("\n");
    }
    return text;
}

}  // namespace

void setup_algorithms(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<algorithms_options>();
    CLI::App* command = app.add_subcommand("algorithms", "List the registered algorithms");
    command->add_option("--operation", options->operation, "only sat, histogram or convolve")
        ->check(CLI::IsMember({"sat", "histogram", "convolve"}));
    command->add_flag("--params", options->parameters, "also their parameters; the first value is the default");
    command->add_flag("--json", options->json, "as JSON");
    command->footer(algorithms_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_algorithms(*options); }; });
}

exit_code run_algorithms(const algorithms_options& options) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    std::string text;
    for (const operation what : operations) {
        if (!options.operation.empty() && options.operation != name_of(what)) continue;
        for (const algorithm_info* a : algorithms(what)) {
            if (options.json)
                list.push_back(json_of_record(*a, options.parameters));
            else
                text.append(text.empty() ? "" : "\n").append(describe(*a, options.parameters));
        }
    }
    return options.json ? print_json(list) : print_output(text);
}

}  // namespace boxsum::cli
