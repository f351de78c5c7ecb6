#include "files.hpp"

#include "image_io/format.hpp"
#include "image_io/image_file.hpp"
#include "image_io/output_file.hpp"
#include "option_types.hpp"
#include "progress.hpp"
#include "stopwatch.hpp"
#include "text_output.hpp"

#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace boxsum::cli {
namespace {

bool is_folder(const std::string& path) {
    struct stat status {};
    if (is_standard_output(path)) return false;  // also where a closed one is kept from being taken by a file
    return path.ends_with('/') || (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
}

bool exists(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

/// A folder asks for a copy: `blur photos/*.png photos` replaces no photograph. Who names the file means it.
void check_not_input(const std::string& pattern, const std::string& path, const std::string& input) {
    if (is_folder(pattern) && same_output(path, input))
        throw usage_error("'" + pattern + "' is the folder of '" + input +
                          "', which the output would replace: give a pattern such as {name}-new.{ext}");
}

struct job {
    std::string input;
    std::vector<std::string> outputs;
    source_options source;
};

/// What several files came to.
struct tally {
    std::mutex mutex;
    std::size_t done = 0, failed = 0, skipped = 0;
    std::size_t first_failed = 0;
    exit_code code = exit_code::done;
};

/// Returns whether the job is to be tried again: it lacks memory that others have.
[[nodiscard]] bool run_job(const job& work, std::size_t number, bool skip_existing, bool alone, tally& all,
                           const file_work& one) {
    try {
        const auto present = [](const std::string& path) { return path.empty() || exists(path); };
        const bool skipped = skip_existing && std::all_of(work.outputs.begin(), work.outputs.end(), present);
        if (!skipped) one(work.input, work.outputs, work.source);
        const std::lock_guard lock(all.mutex);
        ++(skipped ? all.skipped : all.done);
    } catch (const closed_pipe&) {
        throw;
    } catch (...) {
        const failure f = describe(std::current_exception());
        if (f.code == exit_code::out_of_memory && !alone) return true;
        const std::lock_guard lock(all.mutex);
        print_error(f.message.find(work.input) == std::string::npos ? "'" + work.input + "': " + f.message : f.message);
        if (all.failed++ == 0 || number < all.first_failed) {
            all.first_failed = number;
            all.code = f.code;
        }
    }
    return false;
}

exit_code run_jobs(const std::vector<job>& jobs, const file_options& options, const summary_options& report,
                   const file_work& one) {
    tally all;
    std::atomic<std::size_t> next{0};
    std::exception_ptr ended;
    std::vector<std::size_t> later;  // what did not fit into memory beside others
    progress shown;
    shown.phase("0 of " + std::to_string(jobs.size()) + " files");
    const std::size_t wanted =
        options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : std::max(1U, std::thread::hardware_concurrency());
    const std::size_t at_a_time = std::min(wanted, jobs.size());
    const stopwatch watch;
    const auto run = [&](std::size_t i, bool alone) {
        const bool again = run_job(jobs[i], i, options.skip_existing, alone, all, one);
        const std::lock_guard lock(all.mutex);
        if (again) return later.push_back(i);
        const std::size_t finished = all.done + all.failed + all.skipped;
        const double rate = static_cast<double>(finished) / watch.seconds();
        std::array<char, 128> text{};
        std::snprintf(text.data(), text.size(), "%zu of %zu files, %.1f a second, %.0f s left", finished, jobs.size(),
                      rate, static_cast<double>(jobs.size() - finished) / rate);
        shown.phase(text.data());
    };
    const auto work = [&] {
        try {
            for (std::size_t i = next++; i < jobs.size(); i = next++) run(i, at_a_time == 1);
        } catch (...) {
            const std::lock_guard lock(all.mutex);
            ended = std::current_exception();
            next = jobs.size();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (std::size_t i = 1; i < at_a_time; ++i) others.emplace_back(work);
        } catch (const std::system_error&) {  // the threads that there are do it
        }
        work();
    }
    if (ended) std::rethrow_exception(ended);
    std::sort(later.begin(), later.end());
    for (const std::size_t i : later) run(i, true);
    shown.stop();
    if (!report.quiet && !report.json) {
        std::string text = std::to_string(all.done) + " of " + std::to_string(jobs.size()) + " files done";
        if (all.skipped > 0) text += ", " + std::to_string(all.skipped) + " were there";
        if (all.failed > 0) text += ", " + std::to_string(all.failed) + " failed";
        std::array<char, 32> seconds{};
        std::snprintf(seconds.data(), seconds.size(), " in %.1f s\n", watch.seconds());
        print_output(text + seconds.data());
    }
    return all.code;
}

/// Throws where an option of writing means nothing to any of the outputs. What has no format that is written tells so
/// when its turn comes.
void check_write_options(const std::vector<job>& jobs, const file_options& options) {
    const std::string& chosen = options.format;
    std::set<image_format> formats;
    for (const job& work : jobs)
        for (const std::string& path : work.outputs) {
            if (path.empty()) continue;
            const auto format = chosen.empty() ? format_from_path(path) : format_from_name(chosen);
            if (!format) return;
            formats.insert(*format);
        }
    const auto need = [&](bool given, const char* option, std::initializer_list<image_format> any) {
        const auto is_there = [&](image_format format) { return formats.contains(format); };
        if (given && std::none_of(any.begin(), any.end(), is_there))
            throw usage_error(std::string(option) + ": means nothing to " +
                              (formats.empty() ? std::string("this") : std::string(name_of(*formats.begin()))));
    };
    const write_options usual, &write = options.write;
    need(write.compress != usual.compress, "--compress", {image_format::tiff});
    need(write.level.has_value(), "--level", {image_format::png, image_format::tiff});
    need(write.quality != usual.quality, "--quality", {image_format::jpeg, image_format::webp});
}

/// The pages of an input that become files of their own; one that cannot be read tells so when its turn comes.
std::vector<std::optional<int>> pages_of(const std::string& input, const source_options& source,
                                         const std::vector<std::string>& patterns) {
    const auto asks = [](const std::string& pattern) { return pattern.find("{page}") != std::string::npos; };
    if (source.page != all_pages || std::none_of(patterns.begin(), patterns.end(), asks)) return {source.page};
    if (input == "-") throw usage_error("--page all: standard input is read once only; name a file");
    int count = 1;
    try {
        count = count_pages(input);
    } catch (const input_error&) {
    }
    std::vector<std::optional<int>> pages;
    for (int page = 1; page <= count; ++page) pages.emplace_back(page);
    return pages;
}

}  // namespace

void add_file_arguments(CLI::App& command, file_options& options, const std::string& output_help) {
    command.add_option("IN", options.files, "image files; - is standard input or output")
        ->required()
        ->check(some_text)
        ->option_text("OUT | IN... -o OUT");
    command.add_option("-o,--output", options.output, output_help)->check(some_text);
}

void add_input_arguments(CLI::App& command, file_options& options) {
    command.add_option("IN", options.files, "image files; - is standard input")->required()->check(some_text);
}

void add_file_options(CLI::App& command, file_options& options, const std::string& formats) {
    command.add_option("--format", options.format, "format of the output: " + formats)->check(some_text);
    command
        .add_option("--quality", options.write.quality,
                    "of JPEG (from 96 on with full colours) and WebP (100: lossless), 1 to 100 (default: 95)")
        ->check(CLI::Range(1, 100));
    using scheme = tiff_compression;
    add_parsed(command, "--compress", options.write.compress,
               one_of<scheme>({{"none", scheme::none},
                               {"packbits", scheme::packbits},
                               {"lzw", scheme::lzw},
                               {"deflate", scheme::deflate},
                               {"zstd", scheme::zstd},
                               {"g4", scheme::g4}}),
               "is none of none, packbits, lzw, deflate, zstd, g4",
               "of TIFF: none (default), packbits, lzw, deflate, zstd or g4 (black and white)");
    command.add_option("--level", options.write.level, "of PNG and deflate: 1 (default, fast) to 9 (small)")
        ->check(CLI::Range(1, 9));
    command.add_option("--bits", options.write.bits, "1: black and white as single bits (PNG, TIFF, PBM)")
        ->check(CLI::IsMember({1, 8}));
    command.add_flag("--sync", options.write.durable,
                     "the disk has the output before it gets its name; else a crash of the machine may lose it");
    command.add_flag("--skip-existing", options.skip_existing, "leave files alone whose output is there");
    command.add_option("--jobs", options.jobs, "files at a time (default: one for each processor)")
        ->check(CLI::Range(1, 256));
}

std::string output_of(const std::string& pattern, const std::string& input, int page, const std::string& ending) {
    const std::size_t slash = input.rfind('/');
    const std::string base = slash == std::string::npos ? input : input.substr(slash + 1);
    const std::size_t dot = base.rfind('.');
    const bool has_ending = dot != std::string::npos && dot > 0;
    std::string path = pattern;
    if (is_folder(path))
        path += std::string(path.ends_with('/') ? "" : "/") + "{name}." + (ending.empty() ? "{ext}" : ending);
    // In one walk: an input's name may hold what looks like a pattern.
    std::string result;
    for (std::size_t at = 0; at < path.size();) {
        const auto starts = [&](std::string_view word) { return path.compare(at, word.size(), word) == 0; };
        if (starts("{name}")) {
            result += has_ending ? base.substr(0, dot) : base;
            at += 6;
        } else if (starts("{ext}")) {
            result += has_ending ? base.substr(dot + 1) : "";
            at += 5;
        } else if (starts("{dir}")) {
            result += slash == std::string::npos ? "." : input.substr(0, slash);
            at += 5;
        } else if (starts("{page}")) {
            result += std::to_string(page);
            at += 6;
        } else {
            result += path[at++];
        }
    }
    return result;
}

exit_code run_files(const file_options& options, const source_options& source, const std::vector<std::string>& outputs,
                    const summary_options& report, const file_work& one) {
    std::vector<std::string> inputs = options.files, patterns = outputs;
    if (!options.prints &&
        std::all_of(patterns.begin(), patterns.end(), [](const std::string& p) { return p.empty(); })) {
        if (inputs.size() < 2) throw usage_error("OUT or -o/--output: give the output file");
        patterns = {inputs.back()};
        inputs.pop_back();
        if (inputs.size() > 1 && !is_folder(patterns.front()))
            throw usage_error("IN OUT: what is '" + inputs[1] + "'? Several inputs need -o with a folder or {name}");
    }
    const std::string& ending = options.format.empty() ? options.folder_format : options.format;
    std::vector<job> jobs;
    for (const std::string& input : inputs) {
        if (inputs.size() > 1 && input == "-") throw usage_error("IN: standard input cannot be one of several inputs");
        for (const std::optional<int> page : pages_of(input, source, patterns)) {
            job& work = jobs.emplace_back(job{input, {}, source});
            work.source.page = page;
            for (const std::string& pattern : patterns) {
                work.outputs.push_back(pattern.empty() ? "" : output_of(pattern, input, page.value_or(1), ending));
                check_not_input(pattern, work.outputs.back(), input);
            }
        }
    }
    const bool many = jobs.size() > 1;
    std::set<std::string> taken;
    for (const job& work : jobs)
        for (const std::string& path : work.outputs)
            if (many && !path.empty() && !taken.insert(path).second)
                throw usage_error("two outputs are called '" + path + "': give a folder or a pattern with {name}" +
                                  (source.page == all_pages ? " and {page}" : ""));
    check_write_options(jobs, options);
    if (!many && !options.skip_existing) return one(jobs.front().input, jobs.front().outputs, jobs.front().source);
    return run_jobs(jobs, options, report, one);
}

}  // namespace boxsum::cli
