#pragma once

#include <boxsum/sat.hpp>
#include <boxsum/types.hpp>

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// Empty for "auto", "cpu", "cuda" and "cuda:N", else what is wrong with it (CLI11's convention for validators).
std::string check_device(const std::string& text);

/// --device and --threads of every command.
void add_device_options(CLI::App& command, std::string& device, int& threads);
/// The latter alone, of commands of the CPU.
void add_threads_option(CLI::App& command, int& threads);

/// What --device means: "auto" is the CPU, because what comes from a file and goes to one travels to a GPU and back in
/// longer than the CPU takes, unless BOXSUM_DEVICE names a GPU. "cpu", "cuda" or "cuda:N". Throws usage_error for a
/// wrong BOXSUM_DEVICE.
std::string chosen_device(const std::string& device);

/// BOXSUM_DEVICE, which says what "auto" and "cuda" mean: "cpu", "cuda" or "cuda:N"; empty when it is not set. Throws
/// usage_error for any other text.
std::string device_of_environment();

/// What a table is computed from and into, in host memory.
struct table_job {
    sat_inputs inputs;
    sat_outputs outputs;
    sat_options options;
};

/// Computes a table on the chosen device; host memory is copied to a GPU and back. "auto" follows an algorithm that
/// only GPUs have to one. Returns where it ran, "cpu" or "cuda:N". Throws `unsupported` (no such device, types,
/// algorithm), out_of_memory, cuda_error.
std::string compute_on(const std::string& text, const table_job& job);

}  // namespace boxsum::cli
