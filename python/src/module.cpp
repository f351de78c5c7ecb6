#include "module.hpp"

#include "arrays.hpp"
#include "devices.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/cpu.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/types.hpp>
#include <boxsum/verify.hpp>
#include <boxsum/version.hpp>

#include <atomic>
#include <vector>

namespace boxsum::python {
namespace {

std::atomic<int> default_threads{0};

nb::str text(std::string_view characters) {
    return nb::str(characters.data(), characters.size());
}

nb::object names_of_types(const auto& entry) {
    nb::list names;
    for (const dtype type : entry) names.append(text(name_of(element_of(type))));
    return nb::tuple(names);
}

operation operation_argument(nb::handle what) {
    const std::string_view word = text_argument(what, "operation");
    for (const operation one : operations)
        if (name_of(one) == word) return one;
    refuse_word("operation", word, "'sat', 'histogram', 'convolve'");
}

/// A list of (operation, name, title, paper, cost, backend, built, in_place, parameters).
nb::object py_algorithms(nb::handle what) {
    nb::list list;
    for (const algorithm_info* info : algorithms(operation_argument(what))) {
        nb::list parameters;
        for (const parameter& one : info->parameters) {
            nb::list values;
            for (const std::string_view value : one.values) values.append(text(value));
            parameters.append(nb::make_tuple(text(one.name), text(one.description), nb::tuple(values)));
        }
        list.append(nb::make_tuple(text(name_of(info->what)), text(info->name), text(info->title), text(info->paper),
                                   text(info->cost), text(name_of(info->where)), info->built, info->in_place,
                                   nb::tuple(parameters)));
    }
    return list;
}

nb::object py_verify(nb::handle what, nb::handle name, bool thorough, nb::handle report) {
    const operation op = operation_argument(what);
    const std::string_view word = text_argument(name, "algorithm");
    const algorithm_info* const algorithm = find_algorithm(op, word);
    if (algorithm == nullptr)
        throw invalid_argument("algorithm: there is none of the name '" + std::string(word) + "'");
    std::function<void(const verification&)> tell;
    if (!report.is_none())
        tell = [&](const verification& one) {
            nb::gil_scoped_acquire held;
            const char* const result = one.result == verification::outcome::passed   ? "passed"
                                       : one.result == verification::outcome::failed ? "failed"
                                                                                     : "skipped";
            report(text(one.description), result, text(one.detail));
        };
    verification_summary sum;
    {
        nb::gil_scoped_release released;
        sum = verify(*algorithm, thorough ? verification_cases::all : verification_cases::some, tell);
    }
    return nb::make_tuple(sum.passed, sum.failed, sum.skipped);
}

nb::object py_describe_cpu() {
    const cpu_info& cpu = describe_cpu();
    return nb::make_tuple(text(cpu.instruction_set), cpu.threads, cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes);
}

nb::object py_describe_device(nb::handle device) {
    const cuda::device_info info = cuda::describe_device(static_cast<int>(integer_argument(device, "device")));
    return nb::make_tuple(info.device, text(info.name), info.major, info.minor, info.multiprocessors, info.memory_bytes,
                          info.free_bytes, info.driver_version, info.runtime_version);
}

nb::object py_pool_usage() {
    const pool_usage usage = memory_pool::shared().usage();
    return nb::make_tuple(usage.limit_bytes, usage.cached_bytes, usage.used_bytes, usage.reused, usage.fresh);
}

void py_set_pool_limit(nb::handle bytes) {
    const std::int64_t limit = integer_argument(bytes, "bytes");
    if (limit < 0) throw invalid_argument("bytes: is " + std::to_string(limit) + ", must not be negative");
    memory_pool::shared().set_limit(static_cast<std::size_t>(limit));
}

nb::object py_type_pairs() {
    nb::list list;
    for (const type_pair& pair : type_pairs()) list.append(names_of_types(std::array{pair.input, pair.table}));
    return list;
}

nb::object py_squares_triples() {
    nb::list list;
    for (const squares_triple& one : squares_triples())
        list.append(names_of_types(std::array{one.input, one.table, one.squares}));
    return list;
}

void py_set_threads(nb::handle threads) {
    const std::int64_t number = integer_argument(threads, "threads");
    if (number < 0 || number > 4096)
        throw invalid_argument("threads: is " + std::to_string(number) + ", must be 0 (chosen by size) to 4096");
    default_threads = static_cast<int>(number);
}

}  // namespace

int threads_argument(nb::handle threads) {
    const std::int64_t given = integer_argument(threads, "threads");
    if (given < 0 || given > 4096)
        throw invalid_argument("threads: is " + std::to_string(given) + ", must be 0 (chosen by size) to 4096");
    return given == 0 ? default_threads.load(std::memory_order_relaxed) : static_cast<int>(given);
}

void bind_information(nb::module_& module) {
    define(module, "algorithms", py_algorithms);
    define(module, "verify", py_verify);
    define(module, "describe_cpu", py_describe_cpu);
    define(module, "describe_device", py_describe_device);
    module.def("device_count", cuda::device_count);
    module.def("cuda_built", cuda::built);
    module.def("drop_workspaces", drop_workspaces);
    module.def("version", [] { return version(); });
    module.def("build_description", [] { return build_description(); });
    define(module, "pool_usage", py_pool_usage);
    define(module, "set_pool_limit", py_set_pool_limit);
    module.def("trim_pool", [] { memory_pool::shared().trim(); });
    module.def("copies", copies);
    module.def("count_copy", count_copy);
    define(module, "type_pairs", py_type_pairs);
    define(module, "squares_triples", py_squares_triples);
    define(module, "set_threads", py_set_threads);
    module.def("threads", [] { return default_threads.load(std::memory_order_relaxed); });
}

}  // namespace boxsum::python

NB_MODULE(_core, module) {
    using namespace boxsum::python;
    import_numpy();
    translate_exceptions();
    bind_tables(module);
    bind_boxes(module);
    bind_windows(module);
    bind_filters(module);
    bind_blobs(module);
    bind_histograms(module);
    bind_pipelines(module);
    bind_depths(module);
    bind_information(module);
}
