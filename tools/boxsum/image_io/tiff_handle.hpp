#pragma once

#include "image_io/output_file.hpp"

#include <tiffio.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

namespace boxsum::cli {

/// An open TIFF over bytes in memory or over an output_file. libtiff's messages are kept, never printed.
/// Not movable: libtiff holds its address.
class tiff_handle {
  public:
    /// For reading. Throws input_error.
    explicit tiff_handle(std::span<const std::byte> bytes);

    /// For writing. Throws io_error.
    tiff_handle(output_file& out, bool big);

    tiff_handle(const tiff_handle&) = delete;
    tiff_handle& operator=(const tiff_handle&) = delete;
    ~tiff_handle();

    TIFF* get() const { return tiff_; }

    /// Writes the directory of a page and starts another. Throws io_error.
    void end_page();

    /// Writes the last directory. Afterwards the handle is empty. Throws io_error.
    void close_written();

    /// Throws input_error when a decoder filled up damaged or missing pixels in what was read so far.
    void check_undamaged() const;

    /// Throws what went wrong: the exception of the output file, or the first message of libtiff.
    [[noreturn]] void fail_reading() const;
    [[noreturn]] void fail_writing() const;

  private:
    friend struct tiff_callbacks;
    void open(const char* mode, std::uint64_t file_bytes);

    TIFF* tiff_ = nullptr;
    std::string message_;
    std::string damage_;  // what a decoder complained of and went on
    std::span<const std::byte> bytes_;
    output_file* out_ = nullptr;
    std::uint64_t position_ = 0;
    std::exception_ptr thrown_;
};

}  // namespace boxsum::cli
