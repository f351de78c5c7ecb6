#include "program/output.hpp"

#include "program/text_table.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace boxsum::bench {
namespace {

void require_folder(const std::string& path) {
    if (const auto folder = std::filesystem::path(path).parent_path();
        !folder.empty() && !std::filesystem::is_directory(folder))
        throw io_error("'" + path + "' cannot be written: there is no such folder");
}

bench_record read_of_kind(const std::string& path, const std::string& kind) {
    bench_record record = read_record(path);
    if (record.kind != kind) throw io_error("'" + path + "' is a record of " + record.kind + ", not of " + kind);
    return record;
}

/// What the file holds already, to be extended. Another file is not overwritten.
std::optional<bench_record> earlier_record(const output_options& options, const std::string& kind) {
    require_folder(options.json);  // before the work, not after it
    if (options.json.empty() || !std::filesystem::exists(options.json)) return {};
    return read_of_kind(options.json, kind);
}

}  // namespace

void add_output_options(CLI::App& command, output_options& options) {
    command.add_option("--json", options.json, "record to write, or to extend");
    command.add_option("--commit", options.commit, "of the tree, where git cannot tell (or BOXSUM_COMMIT)");
    command.add_flag("-q,--quiet", options.quiet, "no progress, no table on standard output");
}

void progress(const output_options& options, const std::string& what) {
    static const auto start = std::chrono::steady_clock::now();
    if (options.quiet) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "boxsum bench: %6.1f s  %s\n", seconds, what.c_str());
}

cli::exit_code report_run(const output_options& options, const std::string& kind,
                          const std::function<bench_record(const save_part&)>& measure) {
    const std::optional<bench_record> earlier = earlier_record(options, kind);
    const save_part save = [&](const bench_record& part) {
        const bench_record whole = earlier ? merged(*earlier, part) : part;
        if (!options.json.empty()) write_file(options.json, json_of(whole));
        return whole;
    };
    const bench_record measured = measure(save);
    if (earlier && !mergeable(earlier->origin, measured.origin))
        cli::print_note("'" + options.json +
                        "' was of another commit or machine, or of a tree with changes; it starts anew");
    const bench_record record = save(measured);
    if (!options.quiet) {
        const std::string text = text_of(record);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw io_error("standard output cannot be written");
    }
    return has_wrong(record) ? cli::exit_code::failure : cli::exit_code::done;
}

}  // namespace boxsum::bench
