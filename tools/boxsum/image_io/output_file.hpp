#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace boxsum::cli {

/// How messages call an output: its path, or "standard output" for "-".
std::string output_name(const std::string& path);

/// Whether an output goes to standard output: "-", or a name of the same pipe, terminal or file ("/dev/stdout").
/// Devices such as /dev/null are not: they take any number of outputs.
bool is_standard_output(const std::string& path);

/// Whether two outputs would be written to one place: both to standard output, two names of a file that exists or of
/// one that does not yet, through folders and symbolic links. Devices such as /dev/null take any number of outputs.
bool same_output(const std::string& a, const std::string& b);

/// When an output counts as written: when the system has it, which a crash of the machine may still lose, as with
/// other programs; or when the disk has it.
enum class durability : std::uint8_t { system, disk };

/// A file that appears under its name only when it is complete. Bytes go to a temporary file in the same folder, and
/// commit() renames it; without commit() the destructor removes it, and so do the handlers of
/// install_signal_handlers() when the process is told to stop. Pipes, devices and standard output have no name to
/// protect and are written directly.
/// Every member throws io_error naming the file (full disk, missing folder, closed pipe).
class output_file {
  public:
    /// Opens at once, so that a missing folder is reported before the work, not after it.
    explicit output_file(std::string path, durability kind = durability::system);
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    ~output_file();

    /// Appends.
    void write(std::span<const std::byte> bytes);

    /// Appends rows that have something between them, without a copy of long ones.
    void write_rows(const std::byte* data, std::size_t row_bytes, std::size_t stride, std::size_t rows);

    /// For writers that go back and patch: afterwards write_at(), read_at() and size() work, on pipes through memory.
    void make_seekable();
    void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> bytes);
    std::uint64_t size();

    /// Everything written, closed and renamed.
    void commit();
    friend void commit_together(std::span<output_file* const> files);

    const std::string& path() const { return path_; }

  private:
    void open_temporary(unsigned mode);
    void flush();
    void finish();
    void appear();
    void sync_folder() const;
    void abandon() noexcept;
    [[noreturn]] void fail(int code) const;

    durability kind_;
    std::string path_;         // as given
    std::string destination_;  // what commit() replaces or creates: the target of a symbolic link, not the link
    std::string temporary_;    // empty when written directly
    int fd_ = -1;
    int spool_ = -1;  // anonymous memory, standing in for a pipe while a writer seeks
    std::vector<std::byte> buffer_;
    int slot_ = -1;  // in the list of files that a signal removes
};

/// Commits several files: all are complete before the first gets its name, and no signal comes between their names.
void commit_together(std::span<output_file* const> files);

/// Ends the process as SIGPIPE would have, unless that was ignored when it started. To be called for a closed_pipe,
/// when nothing unfinished is left.
void end_as_by_closed_pipe();

/// Takes the numbers 0, 1 and 2 where the process was started without these streams ('>&-'), so that no file that is
/// opened later gets one of them and is written to as standard output. To be called before anything is opened. Real use
/// of such a stream still fails with EBADF.
void reserve_standard_streams();

/// SIGINT, SIGTERM, SIGHUP and the other signals that end a process and can be caught remove unfinished outputs and
/// then end it as they would have. SIGPIPE and SIGXFSZ are ignored: the failed write is reported instead. SIGBUS means
/// that a mapped input was cut short meanwhile: one error line and exit code 3.
void install_signal_handlers();

}  // namespace boxsum::cli
