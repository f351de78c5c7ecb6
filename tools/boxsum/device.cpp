#include "device.hpp"

#include "cuda_device.hpp"
#include "device_copy.hpp"
#include "errors.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace boxsum::cli {
namespace {

std::string run_on_cpu(const table_job& job) {
    sat(job.inputs, job.outputs, job.options);
    return "cpu";
}

std::string run_on_gpu(int device, const table_job& job) {
    cuda::set_device(device);
    const cuda::stream stream;
    const any_table_view &sums = job.outputs.sums, &squares = job.outputs.squares;
    const device_copy image(job.inputs.image.shape, stream), sums_copy(sums.entries.shape, stream);
    std::optional<device_copy> squares_copy;
    sat_outputs outputs{.sums = {sums_copy.view(), sums.form}};
    if (squares.entries.data != nullptr) {
        squares_copy.emplace(squares.entries.shape, stream);
        outputs.squares = {squares_copy->view(), squares.form};
    }
    cuda::copy_async(job.inputs.image, image.view(), stream);
    cuda::sat({.image = image.view()}, outputs, stream, job.options);
    if (squares_copy) cuda::copy(squares_copy->view(), squares.entries, stream);
    cuda::copy(sums_copy.view(), sums.entries, stream);
    return "cuda:" + std::to_string(device);
}

/// Whether an algorithm is named that only GPUs have.
bool needs_gpu(const std::string& algorithm) {
    const algorithm_info* const known = algorithm == "auto" ? nullptr : find_algorithm(operation::sat, algorithm);
    return known != nullptr && known->where == backend::cuda;
}

bool names_device(const std::string& text) {
    if (text == "cpu") return true;
    try {
        device_from_text(text);
        return true;
    } catch (const error&) {
        return false;
    }
}

}  // namespace

std::string check_device(const std::string& text) {
    return text == "auto" || names_device(text) ? "" : "'" + text + "' is none of auto, cpu, cuda, cuda:N";
}

void add_device_options(CLI::App& command, std::string& device, int& threads) {
    command.add_option("--device", device, "auto (the CPU, unless BOXSUM_DEVICE names a GPU), cpu, cuda or cuda:N")
        ->capture_default_str()
        ->check(CLI::Validator(check_device, ""));
    add_threads_option(command, threads);
}

void add_threads_option(CLI::App& command, int& threads) {
    command.add_option("--threads", threads, "CPU threads; 0 chooses by size")
        ->capture_default_str()
        ->check(CLI::Range(0, 4096));
}

std::string chosen_device(const std::string& device) {
    if (device != "auto" && device != "cuda") return device;
    const std::string chosen = device_of_environment();
    return device == "cuda" ? device : chosen.empty() ? "cpu" : chosen;
}

std::string device_of_environment() {
    const char* const value = std::getenv("BOXSUM_DEVICE");
    const std::string text = value == nullptr ? "" : value;
    if (!text.empty() && !names_device(text))
        throw usage_error("BOXSUM_DEVICE: '" + text + "' is none of cpu, cuda, cuda:N");
    return text;
}

std::string compute_on(const std::string& text, const table_job& job) {
    const std::string device = chosen_device(text);
    if (device != "cpu") return run_on_gpu(device_from_text(device), job);
    return text == "auto" && needs_gpu(job.options.algorithm) ? run_on_gpu(device_from_text("cuda"), job)
                                                              : run_on_cpu(job);
}

}  // namespace boxsum::cli
