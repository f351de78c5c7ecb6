#include "cmd_track.hpp"

#include "image_io/image_file.hpp"
#include "image_io/input_file.hpp"
#include "option_types.hpp"
#include "text_output.hpp"
#include "video/y4m_reader.hpp"

#include <boxsum/histogram_search.hpp>
#include <boxsum/integral_histogram.hpp>

#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

namespace boxsum::cli {
namespace {

constexpr const char* footer =
    R"(IN is a YUV4MPEG2 stream, - for standard input, or numbered images with % and the number of digits: frames/%04d.png.
The histogram of the box in the first frame is looked for in every following one, in all windows of the box's size that
are at most --reach pixels away, and the nearest is taken. Brightness is what is compared.
Each frame gives a line: frame,row,col,rows,cols,distance. A stream that breaks off ends with an error that names the
frame; the lines before it are kept.

Examples:
  ffmpeg -i street.avi -f yuv4mpegpipe - | boxsum track - --box 238,620,109,36
  boxsum track frames/%04d.png --first 1 --box 20,30,40,25 --annotate followed)";

/// Where frames come from; their luma is 8u.
class frame_source {
  public:
    virtual ~frame_source() = default;
    /// Nothing at the end.
    virtual std::optional<image_view<const std::uint8_t>> next() = 0;
};

class y4m_source : public frame_source {
  public:
    explicit y4m_source(const std::string& path) : reader_(path) {}
    std::optional<image_view<const std::uint8_t>> next() override {
        if (!reader_.next()) return {};
        return reader_.luma();
    }

  private:
    y4m_reader reader_;
};

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
writable_image luma_of(const image& source, const std::string& path) {
    const view_shape& s = source.view.shape;
    if (s.type != dtype::u8) throw unsupported("'" + path + "' is " + std::string(name_of(s.type)) + ": frames are 8u");
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

class numbered_source : public frame_source {
  public:
    numbered_source(number_pattern pattern, int first) : pattern_(std::move(pattern)), number_(first) {}

    std::optional<image_view<const std::uint8_t>> next() override {
        const std::string path = pattern_.path(number_);
        struct ::stat status {};
        if (seen_ && ::stat(path.c_str(), &status) != 0) return {};  // a missing first one is an error
        frame_ = luma_of(read_image(path), path);
        const view_shape& s = frame_.view.shape;
        if (seen_ && (s.rows != rows_ || s.cols != cols_))
            throw input_error("'" + path + "' is " + text_of(s) + ", but the frames before it are " +
                              std::to_string(rows_) + " x " + std::to_string(cols_));
        rows_ = s.rows;
        cols_ = s.cols;
        seen_ = true;
        ++number_;
        return image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(frame_.view.data), rows_, cols_);
    }

  private:
    number_pattern pattern_;
    int number_;
    bool seen_ = false;
    std::int64_t rows_ = 0;
    std::int64_t cols_ = 0;
    writable_image frame_;
};

std::unique_ptr<frame_source> open_frames(const track_options& options) {
    if (options.input.find('%') == std::string::npos) return std::make_unique<y4m_source>(options.input);
    const auto pattern = parse_pattern(options.input);
    if (!pattern)
        throw usage_error("IN: '" + options.input + "' is no pattern of numbered images like frames/%04d.png");
    return std::make_unique<numbered_source>(*pattern, options.first);
}

/// Part of the frame that windows near `at` can lie in.
box reachable(const box& at, std::int64_t reach, std::int64_t rows, std::int64_t cols) {
    if (reach == 0) return {0, 0, rows, cols};
    const std::int64_t top = std::max<std::int64_t>(at.row - reach, 0),
                       left = std::max<std::int64_t>(at.col - reach, 0);
    return {top, left, std::min(at.row + at.rows + reach, rows) - top, std::min(at.col + at.cols + reach, cols) - left};
}

class tracker {
  public:
    tracker(const track_options& options, const box& start)
        : bins_(binning::uniform(options.bins, 0, 256)),
          distance_(*histogram_distance_from_name(options.distance)),
          update_(options.update),
          reach_(options.reach),
          threads_(options.threads),
          at_(start) {}

    /// The region in this frame. The first frame gives the target.
    histogram_match follow(const image_view<const std::uint8_t>& frame) {
        check_box(at_, frame.rows(), frame.cols(), table_layout::inclusive);
        // Only what is searched is computed: the tensor of a whole frame would be far larger.
        const box region = target_.empty() ? at_ : reachable(at_, reach_, frame.rows(), frame.cols());
        const image_view<const std::uint8_t> part(frame.row(region.row) + region.col, region.rows, region.cols,
                                                  frame.row_stride());
        const auto tensor = integral_histogram<std::uint32_t>(part, bins_, {.threads = threads_});
        if (target_.empty()) {
            target_ = shares(tensor, {0, 0, at_.rows, at_.cols});
            return {at_, 0};
        }
        const std::array grids{window_grid{.rows = at_.rows, .cols = at_.cols}};
        histogram_match found = best_windows(tensor.view(), grids, target_, distance_, 1, tensor.layout()).front();
        if (update_ > 0) {
            const std::vector<double> newest = shares(tensor, found.where);
            for (std::size_t i = 0; i < target_.size(); ++i)
                target_[i] = (1 - update_) * target_[i] + update_ * newest[i];
        }
        found.where.row += region.row;
        found.where.col += region.col;
        at_ = found.where;
        return found;
    }

  private:
    static std::vector<double> shares(const histogram_tensor<std::uint32_t>& tensor, const box& b) {
        const auto counts = box_histogram(tensor, b);
        std::vector<double> result(counts.begin(), counts.end());
        for (double& share : result) share /= static_cast<double>(b.rows * b.cols);
        return result;
    }

    binning bins_;
    histogram_distance distance_;
    double update_;
    std::int64_t reach_;
    int threads_;
    box at_;
    std::vector<double> target_;
};

/// The frame in grey with the region's outline, black within white.
void write_annotated(const std::string& folder, std::int64_t number, const image_view<const std::uint8_t>& frame,
                     const box& b) {
    const writable_image out = allocate_image(packed_shape(dtype::u8, frame.rows(), frame.cols(), 1));
    for (std::int64_t r = 0; r < frame.rows(); ++r)
        std::memcpy(out.row(r), frame.row(r), static_cast<std::size_t>(frame.cols()));
    const auto outline = [&](std::int64_t grow, std::uint8_t value) {
        const std::int64_t top = b.row - grow, bottom = b.row + b.rows - 1 + grow;
        const std::int64_t left = b.col - grow, right = b.col + b.cols - 1 + grow;
        const auto put = [&](std::int64_t r, std::int64_t c) {
            if (r >= 0 && r < frame.rows() && c >= 0 && c < frame.cols()) out.row(r)[c] = std::byte{value};
        };
        for (std::int64_t c = left; c <= right; ++c) put(top, c), put(bottom, c);
        for (std::int64_t r = top; r <= bottom; ++r) put(r, left), put(r, right);
    };
    outline(0, 0);
    outline(1, 255);
    std::string digits = std::to_string(number);
    if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
    output_file file(folder + "/frame_" + digits + ".png");
    write_image(file, output_format(file.path(), "png", "--annotate"), out.view);
    file.commit();
}

}  // namespace

void setup_track(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<track_options>();
    CLI::App* command = app.add_subcommand("track", "Follow a region through a video by its histogram");
    command->add_option("IN", options->input, "YUV4MPEG2 file, - or numbered images")->required();
    command->add_option("--box", options->box, "row,col,rows,cols in the first frame")->required()->check(box_text);
    command->add_option("--bins", options->bins, "of brightness (default: 32)")->check(CLI::Range(1, 256));
    command->add_option("--distance", options->distance, "l1, l2, chi-square, intersection, bhattacharyya (default)")
        ->check(CLI::IsMember({"l1", "l2", "chi-square", "intersection", "bhattacharyya"}));
    command->add_option("--reach", options->reach, "largest step between frames in pixels (default: 16); 0: anywhere")
        ->check(CLI::Range(0, 1 << 20));
    command->add_option("--update", options->update, "share of the newest histogram in the target, 0 to 1 (default: 0)")
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--first", options->first, "number of the first image (default: 0)")
        ->check(CLI::Range(0, 1'000'000'000));
    command->add_option("--annotate", options->annotate, "folder for frames with the region drawn in");
    command->add_option("--threads", options->threads, "0: by size")->check(CLI::Range(0, 1024));
    command->footer(footer);
    command->callback([options, &chosen] { chosen = [options] { return run_track(*options); }; });
}

exit_code run_track(const track_options& options) {
    const std::unique_ptr<frame_source> frames = open_frames(options);
    tracker follower(options, *parse_box(options.box));
    std::int64_t number = 0;
    for (auto frame = frames->next(); frame; frame = frames->next(), ++number) {
        const histogram_match m = follower.follow(*frame);
        if (number == 0) print_output("frame,row,col,rows,cols,distance\n");
        print_output(std::to_string(number) + "," + std::to_string(m.where.row) + "," + std::to_string(m.where.col) +
                     "," + std::to_string(m.where.rows) + "," + std::to_string(m.where.cols) + "," +
                     text_of(m.distance) + "\n");
        if (!options.annotate.empty()) write_annotated(options.annotate, number, *frame, m.where);
    }
    if (number == 0) throw input_error("'" + input_name(options.input) + "' has no frame");
    return exit_code::done;
}

}  // namespace boxsum::cli
