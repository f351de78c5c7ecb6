#pragma once

#include <boxsum/view.hpp>

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace boxsum::cli {

/// A program at the other end of a pipe: ffmpeg, found by PATH. Ended with what holds it.
class piped_program {
  public:
    enum class direction { reads_from_us, writes_to_us };

    /// Starts it without a shell. Throws `unsupported` where there is no such program, io_error where no process or
    /// pipe can be had.
    piped_program(const std::vector<std::string>& command, direction way);
    piped_program(const piped_program&) = delete;
    piped_program& operator=(const piped_program&) = delete;
    ~piped_program();

    std::FILE* pipe() const { return pipe_; }

    /// Closes the pipe and waits for its end; whether it succeeded.
    bool finish();

  private:
    std::FILE* pipe_ = nullptr;
    pid_t process_ = -1;
};

/// What makes YUV4MPEG2 of any video.
std::vector<std::string> decoding_command(const std::string& video);

/// What makes a video of such raw frames of 8u, grey or RGB, by the ending of its name.
std::vector<std::string> encoding_command(const std::string& video, const view_shape& frame);

}  // namespace boxsum::cli
