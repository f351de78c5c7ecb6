#pragma once

#include <boxsum/view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace boxsum::cli {

/// Frames of an uncompressed YUV4MPEG2 stream (mjpegtools; what `ffmpeg -f yuv4mpegpipe` writes), 8 bits a sample, one
/// after the other.
class y4m_reader {
  public:
    /// Opens a file, or standard input for "-", and reads the stream's header. Throws input_error for a missing file, a
    /// stream that is no YUV4MPEG2, extents below 1 or not told, and sample formats of more than 8 bits.
    explicit y4m_reader(const std::string& path);
    /// A stream that is open already and stays the caller's; `name` is for messages.
    y4m_reader(std::FILE* stream, std::string name);
    y4m_reader(const y4m_reader&) = delete;
    y4m_reader& operator=(const y4m_reader&) = delete;
    ~y4m_reader();

    /// Reads the next frame; false where the stream ends between two frames. Throws input_error, naming the frame
    /// (counted from 0), when it ends within one or is no frame.
    bool next();

    /// The luma plane of the last frame read; valid until the next call of next().
    image_view<const std::uint8_t> luma() const;

    /// Whether there are chroma planes.
    bool coloured() const { return chroma_bytes_ > 0; }

    /// Red, green and blue of the last frame, by ITU-R BT.601 of limited range, to rows x cols x 3.
    void copy_colours(const image_view<std::uint8_t>& rgb) const;

    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }

  private:
    std::string read_line(const std::string& what);
    void parse_header(const std::string& header);
    std::size_t read_some(void* data, std::size_t bytes);

    std::string name_;
    std::FILE* file_ = nullptr;
    bool owned_ = false;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    std::size_t chroma_bytes_ = 0;  ///< of both chroma planes
    std::int64_t chroma_rows_ = 0, chroma_cols_ = 0;
    std::int64_t frames_ = 0;  ///< read so far
    std::vector<std::uint8_t> samples_;
};

}  // namespace boxsum::cli
