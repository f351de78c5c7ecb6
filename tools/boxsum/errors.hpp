#pragma once

#include <boxsum/error.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace boxsum::cli {

/// What the process returns.
enum class exit_code : int {
    done = 0,
    failure = 1,        ///< missing output directory, full disk, failed verification, CUDA failure
    usage = 2,          ///< unknown option, malformed number, empty window
    bad_input = 3,      ///< a file that cannot be read, a value that does not fit the input
    unsupported = 4,    ///< no such device, type pair or algorithm; a format that cannot hold the result
    out_of_memory = 5,  ///< host or device
};

/// The command line is wrong, whatever the files contain.
class usage_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A file or stream cannot be written: a missing folder, a full disk, a closed pipe.
class io_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Nobody reads the pipe that is written to any more, as behind "| head".
class closed_pipe : public io_error {
  public:
    using io_error::io_error;
};

/// An input file or stream is missing, truncated, corrupt or of an unknown format. A plain io_error is about outputs.
class input_error : public io_error {
  public:
    using io_error::io_error;
};

/// Throws out_of_memory for ENOMEM, else an input_error of `message` and what the number means.
[[noreturn]] void fail_reading(const std::string& message, int code);

/// The exit code of an exception and its text.
struct failure {
    exit_code code;
    std::string message;
};
failure describe(std::exception_ptr exception);

/// "boxsum: error: MESSAGE" as one line on standard error: line breaks and control characters of file names and of
/// library messages become spaces.
void print_error(std::string_view message) noexcept;

/// "boxsum: note: MESSAGE", for what the user should know about a result that is not wrong. On a terminal in
/// the place of the line that progress may show there.
void print_note(std::string_view message) noexcept;

/// "No such file or directory"
std::string errno_text(int code);

}  // namespace boxsum::cli
