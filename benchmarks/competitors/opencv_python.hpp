#pragma once

#include "measure/rounds.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace boxsum::bench {

/// Functions of the OpenCV that a Python interpreter has: its wheels are the newest there is, where distributions
/// package an older one. It runs in a process of its own, on the processors of the caller, which waits meanwhile; so
/// its turns interleave with those of the others, on images and results of its own (packed, on huge pages, random).
class opencv_python {
  public:
    /// Starts `interpreter`. Without it, or where it has no cv2, version() is empty and absent() says why.
    explicit opencv_python(const std::string& interpreter);
    opencv_python(const opencv_python&) = delete;
    opencv_python& operator=(const opencv_python&) = delete;
    ~opencv_python();

    const std::string& version() const { return version_; }
    const std::string& absent() const { return absent_; }

    /// Makes an image of n x n, calls the function, of integrals or of windows, and compares its result with NumPy's;
    /// false where cv2 has no such function of these types. Throws std::runtime_error when it is wrong.
    bool prepare(const std::string& function, const std::string& types, std::int64_t n, std::int64_t radius = 0);
    /// Microseconds of `times` computations of what was prepared, by the child's clock.
    double run(int times);

    /// A contestant that runs what was prepared, in turns of some `round_ms`. Races with it take watch() for their
    /// stopwatch, which believes the child's clock: the question and the answer do not count.
    contestant turns(double round_ms);
    stopwatch watch();

  private:
    std::string ask(const std::string& request);

    double told_us_ = -1;  ///< by the child since the stopwatch was started; below 0: nothing

    std::string version_;
    std::string absent_;
    std::string unread_;
    pid_t child_ = -1;
    int socket_ = -1;
};

}  // namespace boxsum::bench
