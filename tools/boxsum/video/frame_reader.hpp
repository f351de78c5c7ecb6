#pragma once

#include <boxsum/view.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace boxsum::cli {

/// Where frames come from, one after the other; of 8 bits.
class frame_reader {
  public:
    virtual ~frame_reader() = default;

    virtual std::int64_t rows() const = 0;
    virtual std::int64_t cols() const = 0;

    /// Number of the first frame.
    virtual int first() const { return 0; }

    /// Whether frames have colours; of numbered images the first one decides.
    virtual bool coloured() const = 0;

    /// Reads the next frame; false at the end. Throws input_error, naming the frame, for a stream that breaks off and a
    /// frame of another size.
    virtual bool next() = 0;

    /// Brightness of the last frame read, and its red, green and blue, written to rows x cols x 3; without colours
    /// these are the brightness.
    virtual image_view<const std::uint8_t> luma() const = 0;
    virtual void copy_colours(const image_view<std::uint8_t>& rgb) const = 0;
};

/// A YUV4MPEG2 file, "-" for such a stream on standard input, any other video through ffmpeg (`unsupported` where there
/// is none), or numbered images, "frames/%04d.png", from number
/// `first` on (the lowest from 0 on that is there) until one is missing. A gap in the numbers is an input_error at its
/// place. Throws usage_error for a % that is no such pattern; input_error for a stream or
/// first image that cannot be read.
std::unique_ptr<frame_reader> open_frames(const std::string& input, std::optional<int> first);

}  // namespace boxsum::cli
