#pragma once

#include <stdexcept>
#include <string>

namespace boxsum {

/// Base of everything that the library throws. One exception: where there is no memory left even for the text of an
/// error, for a word about an argument or for a vector that a caller asks for, the standard library's std::bad_alloc
/// passes through. Computations report working memory that they cannot have as out_of_memory.
class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An argument breaks its contract: a stride smaller than a row, overlapping buffers, a box outside the image. The
/// message names the argument and its value.
class invalid_argument : public error {
  public:
    using error::error;
};

/// The request is well formed, but nothing here can serve it: a type pair that is not in the closed list, an unknown
/// algorithm, an algorithm that does not support the problem, a backend that was not built or finds no device.
class unsupported : public error {
  public:
    using error::error;
};

/// Host or device memory is exhausted. The library and the device context stay usable.
class out_of_memory : public error {
  public:
    using error::error;
};

/// A CUDA call or a kernel failed. Asynchronous failures surface at the next checked call.
class cuda_error : public error {
  public:
    cuda_error(int code, const std::string& message) : error(message), code_(code) {}

    /// The `cudaError_t` value.
    int code() const noexcept { return code_; }

  private:
    int code_;
};

/// A file or stream could not be read or written: missing, truncated, corrupt, disk full. Thrown by the readers and
/// writers of the command-line tool and by the video sources.
class io_error : public error {
  public:
    using error::error;
};

}  // namespace boxsum
