#pragma once

#include <boxsum/types.hpp>

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace boxsum::bench {

/// cv::integral of the OpenCV that a Python interpreter has: its wheels are the newest there is, where distributions
/// package an older one. It runs in a process of its own, on the processors of the caller, which waits meanwhile; so
/// its turns interleave with those of the others, on images and tables of its own (packed, on huge pages, random).
class opencv_python {
  public:
    /// Starts `interpreter`. Without it, or where it has no cv2, version() is empty and absent() says why.
    explicit opencv_python(const std::string& interpreter);
    opencv_python(const opencv_python&) = delete;
    opencv_python& operator=(const opencv_python&) = delete;
    ~opencv_python();

    const std::string& version() const { return version_; }
    const std::string& absent() const { return absent_; }

    /// Makes an image of n x n and its table, and compares the table with NumPy's sums; false where cv2 has no such
    /// integral. Throws std::runtime_error when it is wrong.
    bool prepare(type_pair types, std::int64_t n);
    /// Microseconds of `times` computations of what was prepared, by the child's clock.
    double run(int times);

  private:
    std::string ask(const std::string& request);

    std::string version_;
    std::string absent_;
    std::string unread_;
    pid_t child_ = -1;
    int socket_ = -1;
};

}  // namespace boxsum::bench
