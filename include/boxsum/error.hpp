#pragma once

#include <boxsum/export.hpp>

#include <new>
#include <stdexcept>
#include <string>

namespace boxsum BOXSUM_EXPORT {

/// A base of everything that the library throws; the other base is a class of the standard's. An invalid_argument is
/// caught as boxsum::error, as std::invalid_argument and as std::exception. pipeline_error and workers_failed stand in
/// the headers of what throws them. One exception: where there is no memory
/// left even for the text of an error, for a word about an argument or for a vector that a caller asks for, the
/// standard library's std::bad_alloc passes through. Computations report working memory that they cannot have as
/// out_of_memory.
class error {
  public:
    virtual const char* what() const noexcept = 0;

  protected:
    error() = default;
    error(const error&) = default;
    error& operator=(const error&) = default;
    virtual ~error() = default;
};

/// An argument that cannot be right, or does not go with another: a stride smaller than a row, overlapping buffers, a
/// box outside the image, a result whose type has to be the table's. The message names the argument and its value.
class invalid_argument : public std::invalid_argument, public error {
  public:
    using std::invalid_argument::invalid_argument;
    const char* what() const noexcept override;
};

/// The request is well formed, but nothing here can serve it: a type, a pair of types or a layout that the function
/// does not take, an algorithm that is unknown or does not support the problem, a backend that was not built or finds
/// no device. It lies outside the domain of this library on this machine, hence the base: asking again does not help.
class unsupported : public std::domain_error, public error {
  public:
    using std::domain_error::domain_error;
    const char* what() const noexcept override;
};

/// Host or device memory is exhausted. The library and the device context stay usable.
class out_of_memory : public std::bad_alloc, public error {
  public:
    explicit out_of_memory(const std::string& text) : text_(text) {}
    explicit out_of_memory(const char* text) : text_(text) {}
    const char* what() const noexcept override;

  private:
    std::runtime_error text_;  // of all strings, the one whose copies cannot throw
};

/// A CUDA call or a kernel failed. Asynchronous failures surface at the next checked call.
class cuda_error : public std::runtime_error, public error {
  public:
    cuda_error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
    const char* what() const noexcept override;

    /// The `cudaError_t` value.
    int code() const noexcept { return code_; }

  private:
    int code_;
};

}  // namespace boxsum
