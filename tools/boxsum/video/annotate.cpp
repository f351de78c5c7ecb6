#include "video/annotate.hpp"

#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "image_io/rows.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace boxsum::cli {

namespace {

writable_image outlined(const const_any_view& frame, const box& b) {
    const view_shape& s = frame.shape;
    const writable_image out = allocate_image(packed_shape(dtype::u8, s.rows, s.cols, s.channels));
    for (std::int64_t r = 0; r < s.rows; ++r)
        std::memcpy(out.row(r), row_of(frame, r).data(), static_cast<std::size_t>(row_bytes(s)));
    const auto outline = [&](std::int64_t grow, std::uint8_t value) {
        const std::int64_t top = b.row - grow, bottom = b.row + b.rows - 1 + grow;
        const std::int64_t left = b.col - grow, right = b.col + b.cols - 1 + grow;
        const auto put = [&](std::int64_t r, std::int64_t c) {
            if (r >= 0 && r < s.rows && c >= 0 && c < s.cols)
                std::fill_n(out.row(r) + c * s.channels, s.channels, std::byte{value});
        };
        for (std::int64_t c = left; c <= right; ++c) put(top, c), put(bottom, c);
        for (std::int64_t r = top; r <= bottom; ++r) put(r, left), put(r, right);
    };
    outline(0, 0);
    outline(1, 255);
    return out;
}

bool names_video(const std::string& path) {
    for (const char* ending : {".mp4", ".mkv", ".avi", ".mov", ".webm"})
        if (path.ends_with(ending)) return true;
    return false;
}

}  // namespace

annotated_frames::annotated_frames(std::string path, const view_shape& frame) : path_(std::move(path)) {
    if (names_video(path_))
        ffmpeg_.emplace(encoding_command(path_, frame), piped_program::direction::reads_from_us);
    else if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST)
        throw io_error("cannot make the folder '" + path_ + "': " + errno_text(errno));
}

void annotated_frames::write(std::int64_t number, const const_any_view& frame, const box& b) {
    const writable_image out = outlined(frame, b);
    if (ffmpeg_) {
        const auto bytes = static_cast<std::size_t>(out.view.shape.plane_stride);
        if (std::fwrite(out.view.data, 1, bytes, ffmpeg_->pipe()) != bytes)
            throw io_error("cannot write '" + path_ + "': ffmpeg has ended");
        return;
    }
    std::string digits = std::to_string(number);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    output_file file(path_ + "/frame_" + digits + ".png");
    write_image(file, image_format::png, out);
    file.commit();
}

void annotated_frames::finish() {
    if (ffmpeg_ && !ffmpeg_->finish()) throw io_error("cannot write '" + path_ + "': ffmpeg fails");
}

}  // namespace boxsum::cli
