#include "image_io/output_file.hpp"

#include "errors.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace boxsum::cli {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

/// Names of unfinished files, readable from a signal handler. A command writes at most three files, and as many
/// commands run at once as there are threads.
std::array<std::atomic<const char*>, 1024> unfinished{};

/// Whether SIGPIPE was to end this process when it started.
bool pipes_end_the_process = false;

void remove_unfinished() noexcept {
    for (auto& slot : unfinished)
        if (const char* name = slot.load()) ::unlink(name);
}

void end_by_signal(int number) {
    remove_unfinished();
    ::signal(number, SIG_DFL);
    ::raise(number);
}

void input_was_truncated(int) {
    remove_unfinished();
    constexpr char message[] = "boxsum: error: an input file was truncated while it was being read\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message, sizeof(message) - 1);
    ::_exit(static_cast<int>(exit_code::bad_input));
}

/// Holds signals back while a temporary file exists that the list does not know yet.
class signals_blocked {
  public:
    signals_blocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

int write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::write(fd, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    return 0;
}

/// Nothing when the path does not exist.
std::optional<std::string> real_path(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

/// "folder/" or nothing
std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// The one name of a file that exists or could be created: without symbolic links, "." and "..".
std::string resolved(std::string path) {
    if (const auto real = real_path(path)) return *real;
    // A link to a file that does not exist yet is followed by hand.
    constexpr int most_links = 40;  // as many as the kernel follows; a circle of links is told when it is opened
    for (int links = 0; links < most_links; ++links) {
        std::array<char, PATH_MAX> target{};
        const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
        if (size <= 0) break;
        const std::string to(target.data(), static_cast<std::size_t>(size));
        path = to.front() == '/' ? to : folder_of(path) + to;
    }
    const std::string folder = folder_of(path);
    const auto real_folder = real_path(folder.empty() ? "." : folder);
    return real_folder ? *real_folder + "/" + path.substr(folder.size()) : path;
}

bool same_file(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

unsigned default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666u & ~static_cast<unsigned>(mask);
}

}  // namespace

std::string output_name(const std::string& path) {
    return path == "-" ? "standard output" : path;
}

bool is_standard_output(const std::string& path) {
    if (path == "-") return true;
    struct stat named {};
    struct stat taken {};
    if (::stat(path.c_str(), &named) != 0 || ::fstat(STDOUT_FILENO, &taken) != 0) return false;
    if (S_ISCHR(named.st_mode) && ::isatty(STDOUT_FILENO) != 1) return false;
    return same_file(named, taken);
}

bool same_output(const std::string& a, const std::string& b) {
    if (is_standard_output(a) || is_standard_output(b)) return is_standard_output(a) && is_standard_output(b);
    struct stat first {};
    struct stat second {};
    if (::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0) return resolved(a) == resolved(b);
    if (S_ISCHR(first.st_mode)) return false;
    return same_file(first, second);
}

output_file::output_file(std::string path, durability kind) : kind_(kind), path_(std::move(path)), destination_(path_) {
    buffer_.reserve(buffer_bytes);
    // Also a name of it: opened anew, a file would be written from its start, and a socket not at all.
    if (is_standard_output(path_)) {
        fd_ = STDOUT_FILENO;
        return;
    }
    if (path_.empty()) fail(ENOENT);
    struct stat status {};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (!exists && errno == ELOOP) fail(errno);
    if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
    if (exists && !S_ISREG(status.st_mode)) {  // renaming would replace the device
        fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
        if (fd_ < 0) fail(errno);
        return;
    }
    if (exists && ::access(path_.c_str(), W_OK) != 0) fail(errno);  // a read-only file stays what it is
    destination_ = resolved(path_);
    open_temporary(exists ? status.st_mode & 07777u : default_mode());
}

void output_file::open_temporary(unsigned mode) {
    temporary_ = folder_of(destination_) + ".boxsum-XXXXXX";
    const signals_blocked guard;
    fd_ = ::mkstemp(temporary_.data());
    if (fd_ < 0) {
        const int code = errno;
        temporary_.clear();
        fail(code);
    }
    for (std::size_t i = 0; i < unfinished.size() && slot_ < 0; ++i) {
        const char* none = nullptr;
        if (unfinished[i].compare_exchange_strong(none, temporary_.c_str())) slot_ = static_cast<int>(i);
    }
    ::fchmod(fd_, mode);
}

output_file::~output_file() {
    abandon();
}

void output_file::abandon() noexcept {
    if (spool_ >= 0) ::close(spool_);
    if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    if (slot_ >= 0) unfinished[static_cast<std::size_t>(slot_)].store(nullptr);
    spool_ = fd_ = slot_ = -1;
    temporary_.clear();
}

void output_file::fail(int code) const {
    const std::string message = "cannot write '" + output_name(path_) + "': " + errno_text(code);
    if (code == EPIPE) throw closed_pipe(message);
    throw io_error(message);
}

void output_file::write(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > buffer_bytes) flush();
    if (bytes.size() > buffer_bytes) {
        if (const int code = write_all(spool_ >= 0 ? spool_ : fd_, bytes); code != 0) fail(code);
    } else {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
}

void output_file::write_rows(const std::byte* data, std::size_t row_bytes, std::size_t stride, std::size_t rows) {
    constexpr std::size_t long_row = 4096;
    if (row_bytes < long_row) {
        for (std::size_t r = 0; r < rows; ++r) write({data + r * stride, row_bytes});
        return;
    }
    flush();
    const int fd = spool_ >= 0 ? spool_ : fd_;
    std::array<struct iovec, 512> parts{};
    for (std::size_t r = 0; r < rows;) {
        const std::size_t count = std::min(parts.size(), rows - r);
        for (std::size_t i = 0; i < count; ++i) parts[i] = {const_cast<std::byte*>(data + (r + i) * stride), row_bytes};
        ssize_t done = ::writev(fd, parts.data(), static_cast<int>(count));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail(errno);
        // A pipe may take a part of a row: its rest is written by itself.
        const std::size_t whole = static_cast<std::size_t>(done) / row_bytes,
                          rest = static_cast<std::size_t>(done) % row_bytes;
        r += whole;
        if (rest > 0) {
            if (const int code = write_all(fd, {data + r * stride + rest, row_bytes - rest}); code != 0) fail(code);
            ++r;
        }
    }
}

void output_file::flush() {
    if (const int code = write_all(spool_ >= 0 ? spool_ : fd_, buffer_); code != 0) fail(code);
    buffer_.clear();
}

void output_file::make_seekable() {
    flush();
    if (!temporary_.empty() || spool_ >= 0) return;
    spool_ = ::memfd_create("boxsum", MFD_CLOEXEC);
    if (spool_ < 0) fail(errno);
}

void output_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    const int fd = spool_ >= 0 ? spool_ : fd_;
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail(errno);
        offset += static_cast<std::uint64_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

std::size_t output_file::read_at(std::uint64_t offset, std::span<std::byte> bytes) {
    const ssize_t got = ::pread(spool_ >= 0 ? spool_ : fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0) fail(errno);
    return static_cast<std::size_t>(got);
}

std::uint64_t output_file::size() {
    struct stat status {};
    if (::fstat(spool_ >= 0 ? spool_ : fd_, &status) != 0) fail(errno);
    return static_cast<std::uint64_t>(status.st_size);
}

void output_file::commit() {
    finish();
    appear();
}

void commit_together(std::span<output_file* const> files) {
    for (output_file* file : files) file->finish();
    const signals_blocked guard;
    for (output_file* file : files) file->appear();
}

void output_file::finish() {
    flush();
    if (spool_ >= 0) {
        std::vector<std::byte> block(std::size_t{1} << 20);
        std::uint64_t offset = 0;
        while (const std::size_t got = read_at(offset, block)) {
            if (const int code = write_all(fd_, {block.data(), got}); code != 0) fail(code);
            offset += got;
        }
    }
    // Pipes and devices have no disk: EINVAL. The file is whole before it gets its name.
    if (kind_ == durability::disk && ::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
    if (fd_ != STDOUT_FILENO) {
        const int closed = ::close(std::exchange(fd_, -1));  // network file systems report a full disk here
        if (closed != 0) fail(errno);
    }
}

void output_file::appear() {
    if (!temporary_.empty()) {
        const signals_blocked guard;
        if (::rename(temporary_.c_str(), destination_.c_str()) != 0) fail(errno);
        if (slot_ >= 0) unfinished[static_cast<std::size_t>(slot_)].store(nullptr);
        slot_ = -1;
        temporary_.clear();
        if (kind_ == durability::disk) sync_folder();
    }
}

/// The name, too, is on the disk then. Where folders cannot be told so the file's own sync has to do.
void output_file::sync_folder() const {
    const std::string folder = folder_of(destination_);
    const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    const bool failed = ::fsync(fd) != 0 && errno == EIO;
    ::close(fd);
    if (failed) fail(EIO);
}

void end_as_by_closed_pipe() {
    if (!pipes_end_the_process) return;
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
}

void reserve_standard_streams() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is this one. What takes it cannot be read or written, as the closed stream could not;
        // for outputs it is a folder (O_PATH), so that /dev/stdout is no file that a result could be lost in.
        [[maybe_unused]] const int taken = number == STDIN_FILENO ? ::open("/dev/null", O_WRONLY) : ::open("/", O_PATH);
    }
}

void install_signal_handlers() {
    struct sigaction action {};
    ::sigfillset(&action.sa_mask);
    action.sa_handler = end_by_signal;
    for (const int number :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGXCPU}) {
        struct sigaction before {};
        ::sigaction(number, nullptr, &before);
        if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);  // nohup stays nohup
    }
    action.sa_handler = input_was_truncated;
    ::sigaction(SIGBUS, &action, nullptr);
    pipes_end_the_process = ::signal(SIGPIPE, SIG_IGN) == SIG_DFL;
    ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace boxsum::cli
