#include "sat/plan.hpp"

#include "api/registry.hpp"
#include "errors.hpp"
#include "program/target.hpp"

#include <algorithm>
#include <array>

namespace boxsum::bench {
namespace {

using cli::usage_error;
using names = std::vector<std::string>;

bool has(const names& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

std::string joined(const names& list) {
    std::string text;
    for (const std::string& name : list) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> sizes;
    for (; from <= to; from *= 2) sizes.push_back(from);
    return sizes;
}

std::vector<std::int64_t> thousands(std::int64_t last) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t k = 1; k <= last; ++k) sizes.push_back(1024 * k);
    return sizes;
}

/// One of Emoto's algorithms of Table I has tiles; their parameters are tried at all of these values.
struct tried {
    std::string_view parameter;
    names values;  ///< empty: all
};

struct shape {
    std::int64_t rows, cols;
};

struct experiment {
    std::string name;
    names types;
    std::vector<std::int64_t> sizes, cpu_sizes;  ///< of squares
    names algorithms;                            ///< of the GPU; empty: every one of the registry
    std::vector<tried> values;
    names competitors, cpu_competitors;
    bool blur = false;
    names broken_down = {};
    std::vector<shape> not_square = {};  ///< unless sizes are asked for
};

const std::vector<experiment>& experiments() {
    static const std::vector<experiment> all{
        {"emoto",
         {"32f32f"},
         powers(256, 32768),
         powers(256, 4096),
         {"2r2w", "2r2w-optimal", "2r1w", "1r1w", "1r1w-hybrid", "1r1w-skss", "1r1w-skss-lb"},
         {{"W", {}}, {"threads", {}}, {"r", {}}, {"arrangement", {}}},
         {},
         {},
         false,
         {}},
        {"chen",
         {"8u32s", "8u32u", "8u32f", "32f32f", "32u32u", "64f64f"},
         thousands(20),
         thousands(4),
         {"brlt-scanrow", "scanrow-brlt", "scanrow-column", "opencv-scan-scan"},
         {{"scan", {}}, {"threads", {"1024"}}, {"row-threads", {"1024"}}, {"column-threads", {"1024"}}},
         {"npp", "cub-two-pass", "opencv-cuda", "opencv-cpu"},
         {"opencv-cpu", "serial-cpu"},
         false,
         {"brlt-scanrow", "scanrow-brlt", "scanrow-column"}},
        {"micro", {}, {}, {}, {}, {}, {}, {}, false, {}},
        {"notes",
         {"32u32u", "8u32u"},
         {128, 800},
         {128, 800},
         {"scanrow-brlt", "brlt-scanrow"},
         {},
         {},
         {},
         true,
         {"scanrow-brlt", "brlt-scanrow"}},
        {"ha-han",
         {"32f32f"},
         powers(64, 16384),
         powers(64, 2048),
         {"harris-transpose", "ha-han"},
         {{"b", {}}},
         {"serial-cpu", "opencv-cpu"},
         {"serial-cpu", "opencv-cpu"},
         false,
         {"harris-transpose", "ha-han"},
         {{512, 1024}, {1024, 512}, {1024, 2048}, {2048, 1024}}},
        {"zoo",
         {"32f32f", "8u32u"},
         powers(256, 16384),
         powers(256, 4096),
         {},
         {},
         {"npp", "cub-two-pass", "opencv-cuda"},
         {"opencv-cpu", "serial-cpu"},
         false,
         {}},
    };
    return all;
}

const experiment* chosen(const experiment& e, const sat_bench_options& options) {
    return options.experiments.empty() || has(options.experiments, e.name) || has(options.experiments, "all") ? &e
                                                                                                              : nullptr;
}

/// Every combination of the values that are tried; the others at their default.
std::vector<variant> variants_of(const algorithm_record& record, const std::vector<tried>& values,
                                 const std::vector<chosen_value>& choices) {
    std::vector<parameter_values> all{{}};
    for (std::size_t p = 0; p < record.info.parameters.size(); ++p) {
        const parameter& description = record.info.parameters[p];
        std::vector<std::uint8_t> wanted{0};
        for (const tried& t : values) {
            if (t.parameter != description.name) continue;
            for (std::size_t v = 1; v < description.values.size(); ++v)
                if (t.values.empty() || has(t.values, description.values[v]))
                    wanted.push_back(static_cast<std::uint8_t>(v));
        }
        std::vector<std::uint8_t> forced;
        for (const chosen_value& c : choices)
            if (c.name == description.name)
                for (std::size_t v = 0; v < description.values.size(); ++v)
                    if (description.values[v] == c.value) forced.push_back(static_cast<std::uint8_t>(v));
        const bool named = std::any_of(choices.begin(), choices.end(),
                                       [&](const chosen_value& c) { return c.name == description.name; });
        if (named) wanted = forced;  // a value that this algorithm lacks leaves nothing of it
        std::vector<parameter_values> next;
        for (const parameter_values& base : all)
            for (const std::uint8_t v : wanted) {
                next.push_back(base);
                next.back().choice[p] = v;
            }
        all = std::move(next);
    }
    std::vector<variant> found;
    for (const parameter_values& v : all)
        found.push_back({std::string(record.info.name), format_parameters(record, v)});
    return found;
}

void require_names(const sat_bench_options& options, backend where) {
    for (const std::string& name : options.experiments)
        if (name != "all" && !has(experiment_names(), name))
            throw usage_error("--experiments: there is no '" + name + "'; there are " + joined(experiment_names()));
    for (const std::string& name : options.algorithms) {
        if (name == "all" || has(competitor_names(), name)) continue;
        const algorithm_record* const record = find_record(operation::sat, name);
        names known = competitor_names();
        for (const algorithm_record* r : registry(operation::sat)) known.emplace_back(r->info.name);
        if (record == nullptr)
            throw usage_error("--algorithms: there is no '" + name + "'; there are " + joined(known));
        if (record->info.where != where)
            throw usage_error("--algorithms: '" + name + "' runs on " + std::string(name_of(record->info.where)) +
                              ", but --device is " + std::string(name_of(where)));
    }
    for (const chosen_value& c : parse_choices(options.parameters)) {
        bool known_name = false, known_value = false;
        for (const algorithm_record* r : registry(operation::sat))
            for (const parameter& p : r->info.parameters)
                if (p.name == c.name) {
                    known_name = true;
                    known_value = known_value || std::find(p.values.begin(), p.values.end(), c.value) != p.values.end();
                }
        if (!known_name) throw usage_error("--param: no algorithm has a parameter '" + c.name + "'");
        if (!known_value) throw usage_error("--param: no algorithm has " + c.name + "=" + c.value);
    }
}

type_pair pair_named(const std::string& name) {
    std::string known;
    for (const type_pair pair : type_pairs()) {
        if (name_of(pair) == name) return pair;
        known.append(known.empty() ? "" : ", ").append(name_of(pair));
    }
    throw usage_error("--types: '" + name + "' is no type pair, must be one of " + known);
}

template <typename T>
void add_once(std::vector<T>& list, const T& entry) {
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

/// Every record of a backend, in the order of preference. The CPU's definition in wide types is no candidate for speed.
names records_of(backend where) {
    names found;
    for (const algorithm_record* r : registry(operation::sat))
        if (r->info.where == where && r->info.name != "reference") found.emplace_back(r->info.name);
    return found;
}

}  // namespace

const std::vector<std::string>& experiment_names() {
    static const names all = [] {
        names found;
        for (const experiment& e : experiments()) found.push_back(e.name);
        return found;
    }();
    return all;
}

const std::vector<std::string>& competitor_names() {
    static const names all{"npp", "cub-two-pass", "opencv-cuda", "opencv-cpu", "serial-cpu"};
    return all;
}

bool wants_micro(const sat_bench_options& options) {
    for (const experiment& e : experiments())
        if (e.name == "micro") return chosen(e, options) != nullptr;
    return false;
}

std::vector<sat_case> plan_of(const sat_bench_options& options, backend where) {
    require_names(options, where);
    const std::vector<std::int64_t> sizes = parse_sizes(options.sizes);
    const std::vector<chosen_value> choices = parse_choices(options.parameters);
    const bool every_algorithm = options.algorithms.empty() || has(options.algorithms, "all");
    const auto wanted = [&](const std::string& name) { return every_algorithm || has(options.algorithms, name); };
    for (const std::string& types : options.types) (void)pair_named(types);

    std::vector<sat_case> cases;
    for (const experiment& e : experiments()) {
        if (chosen(e, options) == nullptr || e.types.empty()) continue;
        // Types and sizes that were asked for belong to the overview of everything; the papers' experiments keep
        // theirs.
        names types = e.types;
        if (!options.types.empty()) {
            std::erase_if(types, [&](const std::string& t) { return !has(options.types, t); });
            if (e.name == "zoo" || options.experiments.size() == 1) types = options.types;
        }
        const std::vector<std::int64_t>& own = where == backend::cpu ? e.cpu_sizes : e.sizes;
        names algorithms = where == backend::cpu || e.algorithms.empty() ? records_of(where) : e.algorithms;
        if (where == backend::cuda)  // our own stand beside all of them
            for (const algorithm_record* r : registry(operation::sat))
                if (r->info.where == where && r->info.paper == "boxsum")
                    add_once(algorithms, std::string(r->info.name));
        if (!every_algorithm)  // also algorithms that the experiment does not have
            for (const std::string& name : options.algorithms)
                if (e.name == "zoo" && find_record(operation::sat, name) != nullptr) add_once(algorithms, name);
        std::vector<shape> shapes;
        for (const std::int64_t size : sizes.empty() ? own : sizes) shapes.push_back({size, size});
        if (sizes.empty()) shapes.insert(shapes.end(), e.not_square.begin(), e.not_square.end());
        for (const std::string& type : types)
            for (const shape& s : shapes) {
                const type_pair pair = pair_named(type);
                auto place = std::find_if(cases.begin(), cases.end(), [&](const sat_case& c) {
                    return c.types == pair && c.rows == s.rows && c.cols == s.cols;
                });
                if (place == cases.end())
                    place = cases.insert(cases.end(), sat_case{pair, s.rows, s.cols, {}, {}, true, false, {}});
                for (const std::string& name : algorithms)
                    if (wanted(name))
                        for (const variant& v : variants_of(*find_record(operation::sat, name), e.values, choices))
                            add_once(place->variants, v);
                for (const std::string& name : where == backend::cpu ? e.cpu_competitors : e.competitors)
                    if (wanted(name)) add_once(place->competitors, name);
                place->blur = place->blur || (e.blur && pair == type_pair{dtype::u8, dtype::u32});
                // Sizes of the papers' figures, and what shows how it goes on: every pass of every size makes a large
                // record.
                const bool apart =
                    where == backend::cuda && s.rows == s.cols && (s.cols <= 4096 || (s.cols & (s.cols - 1)) == 0);
                for (const std::string& name : e.broken_down)
                    if (wanted(name) && apart) add_once(place->broken_down, name);
            }
    }
    std::erase_if(cases, [](const sat_case& c) { return c.variants.empty() && c.competitors.empty(); });
    std::stable_sort(cases.begin(), cases.end(), [](const sat_case& a, const sat_case& b) {
        if (a.types != b.types) return name_of(a.types) < name_of(b.types);
        return a.cols == b.cols ? a.rows < b.rows : a.cols < b.cols;
    });
    if (cases.empty() && !wants_micro(options))
        throw usage_error("nothing to measure: no chosen experiment has these types, algorithms and parameters on " +
                          std::string(name_of(where)));
    return cases;
}

}  // namespace boxsum::bench
