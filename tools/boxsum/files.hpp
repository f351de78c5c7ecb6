#pragma once

#include "errors.hpp"
#include "image_io/image.hpp"
#include "source.hpp"
#include "summary.hpp"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// The files of a command that makes images of images: "IN OUT", or inputs and "-o OUT".
struct file_options {
    std::vector<std::string> files;  ///< as given
    std::string output;              ///< of -o; for several inputs a pattern: see output_of()
    std::string format;              ///< empty: by the output's name
    std::string folder_format;       ///< of files in a folder without a format; empty: the input's ending
    write_options write;
    bool skip_existing = false;
    int jobs = 0;         ///< files at a time; 0: as many as there are processors
    bool prints = false;  ///< the command writes no files: all are inputs
};

/// The files themselves and -o; `output_help` describes the output.
void add_file_arguments(CLI::App& command, file_options& options, const std::string& output_help);

/// Inputs alone, for a command whose outputs have options of their own.
void add_input_arguments(CLI::App& command, file_options& options);

/// --format, --quality, --compress, --level, --bits, --sync, --skip-existing, --jobs
void add_file_options(CLI::App& command, file_options& options, const std::string& formats);

/// The output for one input: `pattern` with {name}, the input's name without folder and ending, {ext}, that ending,
/// {dir}, its folder, and {page}, the number of the page. Of a folder (that exists or ends in '/') it is
/// folder/{name}.{ext}, or {name}.ENDING.
std::string output_of(const std::string& pattern, const std::string& input, int page, const std::string& ending);

/// Does what a command does with one input: a page of it, or all of them where no output has {page}.
using file_work = std::function<exit_code(const std::string& input, const std::vector<std::string>& outputs,
                                          const source_options& source)>;

/// Runs `one` for every input and its outputs: `outputs` are patterns, empty ones are not wanted; without any the last
/// file is the output. One input is run as it is. Of several, files are run at the same time, each error is a line that
/// names its file, the others go on, and a summary is printed at the end; the exit code is that of the first error.
/// With --page all and {page} in an output's name every page is an input of its own. Throws usage_error where files are
/// missing or too many, or two outputs are one.
exit_code run_files(const file_options& options, const source_options& source, const std::vector<std::string>& outputs,
                    const summary_options& report, const file_work& one);

}  // namespace boxsum::cli
