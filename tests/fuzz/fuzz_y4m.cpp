#include "fuzz_support.hpp"
#include "video/y4m_reader.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

/// A file in memory, which the reader opens by its path as it opens any other.
class memory_file {
  public:
    memory_file() : descriptor_(memfd_create("fuzz_y4m", 0)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
        if (descriptor_ < 0) std::abort();
    }

    const std::string& path() const { return path_; }

    void replace(const std::uint8_t* data, std::size_t size) {
        if (ftruncate(descriptor_, 0) != 0) std::abort();
        for (std::size_t done = 0; done < size;) {
            const ssize_t wrote = pwrite(descriptor_, data + done, size - done, static_cast<off_t>(done));
            if (wrote <= 0) std::abort();
            done += static_cast<std::size_t>(wrote);
        }
    }

  private:
    int descriptor_;
    std::string path_;
};

}  // namespace

/// Any bytes are a stream whose frames can be read to the last byte, or an input_error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static memory_file file;
    file.replace(data, size);
    boxsum::cli::tolerate_refusal([&] {
        boxsum::cli::y4m_reader reader(file.path());
        [[maybe_unused]] static volatile unsigned sink = 0;
        while (reader.next()) {
            const boxsum::image_view<const std::uint8_t> luma = reader.luma();
            if (luma.rows() != reader.rows() || luma.cols() != reader.cols()) std::abort();
            unsigned sum = 0;
            for (std::int64_t r = 0; r < luma.rows(); ++r)
                for (std::int64_t c = 0; c < luma.cols(); ++c) sum += luma(r, c);
            sink = sum;
        }
    });
    return 0;
}
