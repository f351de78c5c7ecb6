#include "video/frame_reader.hpp"

#include "errors.hpp"
#include "image_io/image_file.hpp"
#include "pixels.hpp"
#include "text_output.hpp"
#include "video/ffmpeg.hpp"
#include "video/y4m_reader.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace boxsum::cli {
namespace {

class y4m_frames final : public frame_reader {
  public:
    explicit y4m_frames(const std::string& path) : reader_(path) {}

    std::int64_t rows() const override { return reader_.rows(); }
    std::int64_t cols() const override { return reader_.cols(); }
    bool coloured() const override { return reader_.coloured(); }
    bool next() override { return reader_.next(); }
    image_view<const std::uint8_t> luma() const override { return reader_.luma(); }
    void copy_colours(const image_view<std::uint8_t>& rgb) const override { reader_.copy_colours(rgb); }

  private:
    y4m_reader reader_;
};

/// Whatever ffmpeg reads.
class video_frames final : public frame_reader {
  public:
    explicit video_frames(const std::string& path)
        : path_(path), ffmpeg_(decoding_command(path), piped_program::direction::writes_to_us), reader_(start()) {}

    std::int64_t rows() const override { return reader_->rows(); }
    std::int64_t cols() const override { return reader_->cols(); }
    bool coloured() const override { return reader_->coloured(); }
    bool next() override {
        if (reader_->next()) return true;
        if (!ffmpeg_.finish()) throw input_error("ffmpeg fails before the end of '" + path_ + "'");
        return false;
    }
    image_view<const std::uint8_t> luma() const override { return reader_->luma(); }
    void copy_colours(const image_view<std::uint8_t>& rgb) const override { reader_->copy_colours(rgb); }

  private:
    std::unique_ptr<y4m_reader> start() {
        try {
            return std::make_unique<y4m_reader>(ffmpeg_.pipe(), path_);
        } catch (const input_error&) {  // it wrote nothing: its own message has been printed
            throw input_error("ffmpeg cannot read '" + path_ + "'");
        }
    }

    std::string path_;
    piped_program ffmpeg_;
    std::unique_ptr<y4m_reader> reader_;
};

/// Whether a file says that it is YUV4MPEG2, or is no file to look into: a pipe is not read twice.
bool is_y4m(const std::string& path) {
    struct ::stat status {};
    if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return true;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    char start[9] = {};
    return file == nullptr || (std::fread(start, 1, sizeof(start), file.get()) == sizeof(start) &&
                               std::memcmp(start, "YUV4MPEG2", sizeof(start)) == 0);
}

/// "frames/%04d.png"
struct number_pattern {
    std::string before;
    std::size_t digits = 0;
    std::string after;

    std::string path(int number) const {
        std::string text = std::to_string(number);
        if (text.size() < digits) text.insert(0, digits - text.size(), '0');
        return before + text + after;
    }
};

/// Nothing when there is no % or something else than one %d or %0Nd.
std::optional<number_pattern> parse_pattern(const std::string& text) {
    const std::size_t percent = text.find('%');
    const std::size_t d = percent == std::string::npos ? percent : text.find('d', percent);
    if (d == std::string::npos || text.find('%', d) != std::string::npos) return {};
    const std::string digits = text.substr(percent + 1, d - percent - 1);
    if (digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos) return {};
    return number_pattern{text.substr(0, percent), digits.empty() ? 0 : std::stoul(digits), text.substr(d + 1)};
}

/// Brightness of an 8-bit image: grey, or red, green, blue by ITU-R BT.601.
writable_image luma_of(const image& source) {
    const view_shape& s = source.view.shape;
    const writable_image out = allocate_image(packed_shape(dtype::u8, s.rows, s.cols, 1));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const auto* const from =
            reinterpret_cast<const std::uint8_t*>(static_cast<const std::byte*>(source.view.data) + r * s.row_stride);
        auto* const to = reinterpret_cast<std::uint8_t*>(out.row(r));
        for (std::int64_t c = 0; c < s.cols; ++c) {
            const std::uint8_t* const p = from + c * s.channels;
            to[c] =
                s.channels < 3 ? p[0] : static_cast<std::uint8_t>((299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000);
        }
    }
    return out;
}

class numbered_frames final : public frame_reader {
  public:
    numbered_frames(number_pattern pattern, std::optional<int> first)
        : pattern_(std::move(pattern)), number_(first ? *first : first_number(pattern_)), first_(number_) {
        read(pattern_.path(number_));
        rows_ = image_.view.shape.rows;
        cols_ = image_.view.shape.cols;
        coloured_ = image_.view.shape.channels >= 3;
    }

    std::int64_t rows() const override { return rows_; }
    std::int64_t cols() const override { return cols_; }
    int first() const override { return first_; }
    bool coloured() const override { return coloured_; }
    image_view<const std::uint8_t> luma() const override {
        return {static_cast<const std::uint8_t*>(luma_.view.data), rows_, cols_};
    }
    void copy_colours(const image_view<std::uint8_t>& rgb) const override {
        const std::int64_t channels = image_.view.shape.channels;
        for (std::int64_t r = 0; r < rows_; ++r) {
            const std::uint8_t* from = row_as<std::uint8_t>(image_.view, r);
            std::uint8_t* to = rgb.row(r);
            for (std::int64_t c = 0; c < cols_; ++c, from += channels)
                for (std::int64_t k = 0; k < 3; ++k) *to++ = from[channels < 3 ? 0 : k];
        }
    }

    bool next() override {
        const std::string path = pattern_.path(number_);
        if (!std::exchange(ahead_, false)) {
            if (!exists(path)) {
                check_end();
                return false;
            }
            read(path);
        }
        const view_shape& s = image_.view.shape;
        if (s.rows != rows_ || s.cols != cols_)
            throw input_error("'" + path + "' is " + text_of(s) + ", but the frames before it are " +
                              std::to_string(rows_) + " x " + std::to_string(cols_));
        ++number_;
        return true;
    }

  private:
    /// Programs count from 0 or from 1, and some from anywhere.
    static int first_number(const number_pattern& pattern) {
        constexpr int most = 1000;
        for (int number = 0; number <= most; ++number)
            if (exists(pattern.path(number))) return number;
        throw input_error("'" + pattern.path(0) + "' is missing, and so are those up to number " +
                          std::to_string(most) + ": give the first one's (--first)");
    }

    static bool exists(const std::string& path) {
        struct ::stat status {};
        return ::stat(path.c_str(), &status) == 0;
    }

    /// Throws where images follow behind the one that is missing: it is a gap, not the end.
    void check_end() const {
        constexpr int furthest = 1000;
        for (int next = number_ + 1; next <= number_ + furthest; ++next)
            if (exists(pattern_.path(next)))
                throw input_error("'" + pattern_.path(number_) + "' is missing, but there is '" + pattern_.path(next) +
                                  "': a gap in the numbers");
    }

    void read(const std::string& path) {
        image_ = read_image(path);
        const dtype type = image_.view.shape.type;
        if (type != dtype::u8) throw unsupported("'" + path + "' is " + std::string(name_of(type)) + ": frames are 8u");
        luma_ = luma_of(image_);
    }

    number_pattern pattern_;
    int number_;
    int first_;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    bool coloured_ = false;
    image image_;
    writable_image luma_;
    bool ahead_ = true;  ///< the first image has been read, whose extents the caller asks for before its pixels
};

}  // namespace

std::unique_ptr<frame_reader> open_frames(const std::string& input, std::optional<int> first) {
    if (input.find('%') == std::string::npos) {
        if (is_y4m(input)) return std::make_unique<y4m_frames>(input);
        try {
            return std::make_unique<video_frames>(input);
        } catch (const unsupported& e) {
            throw unsupported("'" + input + "' is no YUV4MPEG2 stream, and " + e.what() +
                              " to read it (package ffmpeg)");
        }
    }
    const auto pattern = parse_pattern(input);
    if (!pattern) throw usage_error("IN: '" + input + "' is no pattern of numbered images like frames/%04d.png");
    return std::make_unique<numbered_frames>(*pattern, first);
}

}  // namespace boxsum::cli
