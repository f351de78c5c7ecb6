#include "program/origin.hpp"

#include "errors.hpp"
#include "machine_info.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/version.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace boxsum::bench {
namespace {

/// The first line that a command prints; nothing where it fails.
std::optional<std::string> first_line_of(const char* command) {
    std::FILE* const pipe = ::popen(command, "r");
    if (pipe == nullptr) return {};
    char line[256] = "";
    const bool any = std::fgets(line, sizeof line, pipe) != nullptr;
    std::string rest(256, '\0');
    while (std::fread(rest.data(), 1, rest.size(), pipe) > 0) {
    }
    if (::pclose(pipe) != 0) return {};
    std::string text = any ? line : "";
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    return text;
}

bool is_hash(const std::string& text) {
    return text.size() == 40 && std::all_of(text.begin(), text.end(),
                                            [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void find_commit(run_origin& origin, std::string given) {
    if (const char* const named = std::getenv("BOXSUM_COMMIT"); given.empty() && named != nullptr) given = named;
    if (!given.empty()) {
        if (!is_hash(given)) throw cli::usage_error("--commit: '" + given + "' is no full commit hash");
        origin.commit = given;
        return;
    }
    origin.commit = "unknown";
    ::setenv("BOXSUM_BENCH_SOURCE", BOXSUM_BENCH_SOURCE, 1);  // a variable needs no quoting
    const auto head = first_line_of("git -C \"$BOXSUM_BENCH_SOURCE\" rev-parse --verify -q HEAD 2>/dev/null");
    if (!head || !is_hash(*head)) return;
    origin.commit = *head;
    const auto changes =
        first_line_of("git -C \"$BOXSUM_BENCH_SOURCE\" status --porcelain -- . ':!results' 2>/dev/null");
    origin.changed = !changes || !changes->empty();
}

std::string version_text(int version) {
    return version == 0 ? std::string() : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

run_origin origin_of(const std::string& commit, backend where, int device) {
    run_origin origin;
    find_commit(origin, commit);
    origin.boxsum = version();
    origin.backend = std::string(name_of(where));
    origin.host = cli::processor_name();
    if (where == backend::cpu) {
        origin.device = origin.host.empty() ? "CPU" : origin.host;
        return origin;
    }
    const cuda::device_info info = cuda::describe_device(device);
    origin.device = info.name;
    origin.toolkit = version_text(info.runtime_version);
    const auto driver = first_line_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null");
    origin.driver = driver.value_or("") + (driver ? ", " : "") + "CUDA " + version_text(info.driver_version);
    return origin;
}

std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace boxsum::bench
