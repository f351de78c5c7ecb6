#include "image_io/input_file.hpp"

#include "errors.hpp"
#include "image_io/memory_limit.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace boxsum::cli {
namespace {

class file_descriptor {
  public:
    explicit file_descriptor(const std::string& path)
        : value_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)), owned_(path != "-") {
        if (value_ < 0) fail_reading("cannot open '" + path + "'", errno);
    }
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    ~file_descriptor() {
        if (owned_) ::close(value_);
    }
    int get() const { return value_; }

  private:
    int value_;
    bool owned_;
};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw input_error("cannot read '" + input_name(path) + "': " + why);
}

encoded_bytes map_file(int fd, std::size_t size, const std::string& path) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) fail_reading("cannot read '" + input_name(path) + "'", errno);
    const std::shared_ptr<const void> owner(data, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    return {{static_cast<const std::byte*>(data), size}, owner};
}

encoded_bytes collect(int fd, const std::string& path, const input_check& check) {
    struct collected {
        memory_reservation reservation;
        std::vector<std::byte> bytes;
    };
    constexpr std::size_t first_block = std::size_t{1} << 16;
    const auto block = std::make_shared<collected>();
    std::vector<std::byte>* const bytes = &block->bytes;
    std::size_t used = 0;
    bool checked = false;
    for (;;) {
        if (used == bytes->size()) {  // growing copies: old and new bytes are there at once
            if (used >= first_block && !std::exchange(checked, true)) check({bytes->data(), used});
            const std::size_t wanted = std::max(first_block, used * 2);
            block->reservation = memory_reservation(wanted + used, "the bytes of '" + input_name(path) + "'");
            bytes->resize(wanted);
        }
        const ssize_t got = ::read(fd, bytes->data() + used, bytes->size() - used);
        if (got == 0) break;
        if (got < 0) {
            if (errno == EINTR) continue;
            fail(path, errno_text(errno));
        }
        used += static_cast<std::size_t>(got);
    }
    if (used == 0) fail(path, "it is empty");
    bytes->resize(used);
    return {{bytes->data(), used}, block};
}

}  // namespace

std::string input_name(const std::string& path) {
    return path == "-" ? "standard input" : path;
}

encoded_bytes open_input(const std::string& path, const input_check& check) {
    const file_descriptor fd(path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) fail(path, errno_text(errno));
    if (S_ISDIR(status.st_mode)) fail(path, "it is a directory");
    // Kernel files (/proc) are regular and claim to be empty; reading tells.
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || ::lseek(fd.get(), 0, SEEK_CUR) != 0)
        return collect(fd.get(), path, check);
    return map_file(fd.get(), static_cast<std::size_t>(status.st_size), path);
}

}  // namespace boxsum::cli
