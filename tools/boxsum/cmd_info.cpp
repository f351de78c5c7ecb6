#include "cmd_info.hpp"

#include "image_io/library_versions.hpp"
#include "image_io/memory_limit.hpp"
#include "machine_info.hpp"
#include "text_output.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/cpu.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string_view>

namespace boxsum::cli {
namespace {

constexpr const char* info_footer =
    R"(Version, build, processor, caches, memory, algorithms and file libraries of this machine: what a bug report needs.

Examples:
  boxsum info
  boxsum info --json)";

std::string binary_size(std::size_t bytes) {
    if (bytes >= std::size_t{10} << 30) return std::to_string(bytes >> 30) + " GiB";
    return bytes >= 10 << 20 ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

struct algorithm_counts {
    int built = 0;
    int all = 0;
};

algorithm_counts count(operation what, backend where) {
    algorithm_counts n;
    for (const algorithm_info* a : algorithms(what))
        if (a->where == where) {
            ++n.all;
            n.built += a->built ? 1 : 0;
        }
    return n;
}

nlohmann::ordered_json report_of_cpu() {
    const cpu_info& cpu = describe_cpu();
    return {{"processor", processor_name()},
            {"instruction_set", cpu.instruction_set},
            {"instruction_sets", cpu.instruction_sets},
            {"threads", cpu.threads},
            {"l1_bytes", cpu.l1_bytes},
            {"l2_bytes", cpu.l2_bytes},
            {"l3_bytes", cpu.l3_bytes},
            {"l3_cpus", cpu.l3_cpus},
            {"memory_bytes", memory_bytes()},
            {"memory_limit_bytes", memory_limit()},
            {"processors", available_processors()},
            {"streaming_from_bytes", cpu.streaming_from_bytes},
            {"second_thread_from_bytes", cpu.second_thread_from_bytes}};
}

nlohmann::ordered_json report_of_pool() {
    const pool_usage pool = memory_pool::shared().usage();
    return {{"limit_bytes", pool.limit_bytes},
            {"cached_bytes", pool.cached_bytes},
            {"cached_blocks", pool.cached_blocks},
            {"used_bytes", pool.used_bytes},
            {"reused", pool.reused},
            {"fresh", pool.fresh},
            {"evicted", pool.evicted}};
}

nlohmann::ordered_json report_of_devices() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (int i = 0; i < cuda::device_count(); ++i) {
        const cuda::device_info d = cuda::describe_device(i);
        list.push_back({{"device", "cuda:" + std::to_string(i)},
                        {"name", d.name},
                        {"compute_capability", std::to_string(d.major) + "." + std::to_string(d.minor)},
                        {"multiprocessors", d.multiprocessors},
                        {"memory_bytes", d.memory_bytes},
                        {"l2_bytes", d.l2_bytes},
                        {"driver_version", d.driver_version},
                        {"runtime_version", d.runtime_version}});
    }
    return list;
}

nlohmann::ordered_json full_report() {
    nlohmann::ordered_json report{
        {"version", version()},   {"headers", BOXSUM_VERSION_STRING}, {"build", build_description()},
        {"cpu", report_of_cpu()}, {"memory_pool", report_of_pool()},  {"devices", report_of_devices()}};
    report["algorithms"] = nlohmann::ordered_json::array();
    for (const operation what : operations)
        for (const backend where : {backend::cpu, backend::cuda}) {
            const algorithm_counts n = count(what, where);
            report["algorithms"].push_back(
                {{"operation", name_of(what)}, {"backend", name_of(where)}, {"built", n.built}, {"registered", n.all}});
        }
    report["libraries"] = nlohmann::ordered_json::object();
    for (const library_version& library : library_versions()) report["libraries"][library.name] = library.version;
    return report;
}

std::string text_report() {
    const cpu_info& cpu = describe_cpu();
    std::string text =
        std::string("boxsum        ") + version() + "\nbuild         " + build_description() + "\nprocessor     " +
        processor_name() + "\ninstructions  " + std::string(cpu.instruction_set) +
        " (can be forced: " + joined(cpu.instruction_sets, " ") + ")\nthreads       " + std::to_string(cpu.threads) +
        " of " + std::to_string(available_processors()) + " processors that this process may run on, two from " +
        binary_size(cpu.second_thread_from_bytes) + " moved\ncaches        L1 " + binary_size(cpu.l1_bytes) + ", L2 " +
        binary_size(cpu.l2_bytes) + ", L3 " + binary_size(cpu.l3_bytes) + " (of " + std::to_string(cpu.l3_cpus) +
        (cpu.l3_cpus == 1 ? " CPU" : " CPUs") + "); tables that make more than " +
        binary_size(cpu.streaming_from_bytes) + " with their image are written past them\nmemory        " +
        binary_size(static_cast<std::size_t>(memory_bytes())) + ", of which this process may take " +
        binary_size(static_cast<std::size_t>(memory_limit())) + "; freed blocks of up to " +
        binary_size(memory_pool::shared().usage().limit_bytes) + " are kept for reuse (BOXSUM_POOL_LIMIT)\n";
    if (cuda::device_count() == 0) text.append("devices       no CUDA device\n");
    for (int i = 0; i < cuda::device_count(); ++i) {
        const cuda::device_info d = cuda::describe_device(i);
        text.append("device        cuda:").append(std::to_string(i)).append(" ").append(d.name).append(", ");
        text.append(std::to_string(d.multiprocessors)).append(" multiprocessors, ");
        text.append(binary_size(d.memory_bytes)).append(", L2 ").append(binary_size(d.l2_bytes)).append("\n");
    }
    text.append("algorithms   ");
    for (const operation what : operations)
        for (const backend where : {backend::cpu, backend::cuda}) {
            const algorithm_counts n = count(what, where);
            text.append(" ").append(name_of(what)).append("/").append(name_of(where)).append(" ");
            text.append(std::to_string(n.built)).append(" of ").append(std::to_string(n.all));
        }
    text.append("\nlibraries    ");
    for (const library_version& library : library_versions())
        text.append(" ").append(library.name).append(" ").append(library.version);
    return text + "\n";
}

}  // namespace

void setup_info(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<info_options>();
    CLI::App* command = app.add_subcommand("info", "Describe this machine and this build");
    command->add_flag("--json", options->json, "as JSON");
    command->footer(info_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_info(*options); }; });
}

exit_code run_info(const info_options& options) {
    return options.json ? print_json(full_report()) : print_output(text_report());
}

}  // namespace boxsum::cli
