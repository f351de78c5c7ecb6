#pragma once

#include "video/ffmpeg.hpp"

#include <boxsum/box.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace boxsum::cli {

/// Where frames go with the outline of a box, black within white: a folder that is made where it is missing, as
/// frame_NNNNNN.png, or a video that ffmpeg makes, where the name ends in .mp4, .mkv, .avi, .mov or .webm.
class annotated_frames {
  public:
    /// Of frames of 8u with 1 channel, or 3. Throws io_error where the folder cannot be made, `unsupported` where there
    /// is no ffmpeg.
    annotated_frames(std::string path, const view_shape& frame);

    /// Throws io_error.
    void write(std::int64_t number, const const_any_view& frame, const box& b);

    /// Waits for the video's end. Throws io_error where ffmpeg fails.
    void finish();

  private:
    std::string path_;
    std::optional<piped_program> ffmpeg_;
};

}  // namespace boxsum::cli
