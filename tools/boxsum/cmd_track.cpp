#include "cmd_track.hpp"

#include "cuda_device.hpp"
#include "device.hpp"
#include "image_io/input_file.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "stopwatch.hpp"
#include "text_output.hpp"
#include "video/annotate.hpp"
#include "video/frame_reader.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/histogram_pipeline.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr const char* track_footer =
    R"(IN is a video that ffmpeg reads, a YUV4MPEG2 stream, - for such a stream on standard input, or numbered images with %
and the number of digits: frames/%04d.png.
The histogram of the box in the first frame is looked for in every following one, in all windows of the box's size that
are at most --reach pixels away, and the nearest is taken. Brightness is what is compared, or with --colours N the N^3
combinations of N levels of red, green and blue.
Each frame gives a line, with the number of its image where images are numbered: frame,row,col,rows,cols,distance.
With --json it is an object, and one more line reports the frame rate, the seconds that each stage was busy, and how far
stages overlapped. A stream that breaks off ends with an error that names the frame; the lines before it are kept.

Examples:
  boxsum track street.mp4 --box 238,620,109,36 --annotate followed.mp4
  ffmpeg -i street.avi -f yuv4mpegpipe - | boxsum track - --box 238,620,109,36
  boxsum track frames/%04d.png --box 20,30,40,25 --colours 5 --annotate followed)";

/// Part of the frame that windows near `at` can lie in.
box reachable(const box& at, std::int64_t reach, std::int64_t rows, std::int64_t cols) {
    if (reach == 0) return {0, 0, rows, cols};
    const std::int64_t top = std::max<std::int64_t>(at.row - reach, 0),
                       left = std::max<std::int64_t>(at.col - reach, 0);
    return {top, left, std::min(at.row + at.rows + reach, rows) - top, std::min(at.col + at.cols + reach, cols) - left};
}

/// Each pixel's colour as a number: `levels` of red, green and blue.
void number_colours(const std::vector<std::uint8_t>& rgb, int levels, const any_view& numbers) {
    const std::uint8_t* from = rgb.data();
    for (std::int64_t r = 0; r < numbers.shape.rows; ++r) {
        auto* const to = row_as<std::uint8_t>(numbers, r);
        for (std::int64_t c = 0; c < numbers.shape.cols; ++c, from += 3) {
            int number = 0;
            for (int k = 0; k < 3; ++k) number = number * levels + from[k] * levels / 256;
            to[c] = static_cast<std::uint8_t>(number);
        }
    }
}

/// Frames as the pipeline counts them, and as they are drawn into when their answers are there.
class video_source {
  public:
    video_source(frame_reader& frames, int colours, bool keeps)
        : frames_(frames), colours_(colours), keeps_(keeps), in_colour_(colours > 0 || (keeps && frames.coloured())) {
        shape_ = packed_shape(dtype::u8, frames.rows(), frames.cols(), in_colour_ ? 3 : 1);
    }

    /// Called by one thread of the pipeline.
    bool read(const any_view& to) {
        if (!frames_.next()) return false;
        const image_view<const std::uint8_t> luma = frames_.luma();
        const auto cols = static_cast<std::size_t>(shape_.cols);
        if (colours_ == 0)
            for (std::int64_t r = 0; r < shape_.rows; ++r) std::memcpy(row_as<std::uint8_t>(to, r), luma.row(r), cols);
        std::vector<std::uint8_t> pixels(in_colour_ || keeps_ ? static_cast<std::size_t>(shape_.plane_stride) : 0);
        if (in_colour_)
            frames_.copy_colours({pixels.data(), shape_.rows, shape_.cols, 0, 3});
        else if (keeps_)
            for (std::int64_t r = 0; r < shape_.rows; ++r)
                std::memcpy(pixels.data() + static_cast<std::size_t>(r) * cols, luma.row(r), cols);
        if (colours_ > 0) number_colours(pixels, colours_, to);
        if (keeps_) {
            const std::lock_guard lock(mutex_);
            kept_.push_back(std::move(pixels));
        }
        return true;
    }

    /// The oldest frame that was not taken yet.
    std::vector<std::uint8_t> take() {
        const std::lock_guard lock(mutex_);
        std::vector<std::uint8_t> pixels = std::move(kept_.front());
        kept_.pop_front();
        return pixels;
    }

    const view_shape& shape() const { return shape_; }

  private:
    frame_reader& frames_;
    int colours_;
    bool keeps_, in_colour_;
    view_shape shape_;
    std::mutex mutex_;
    std::deque<std::vector<std::uint8_t>> kept_;  // as many as there are buffers
};

/// Plans the search of each frame from what the one before gave. Called by one thread of the pipeline.
class tracker {
  public:
    tracker(const track_options& options, const box& start, std::int64_t rows, std::int64_t cols)
        : distance_(options.distance),
          update_(options.update),
          reach_(options.reach),
          rows_(rows),
          cols_(cols),
          at_(start) {
        check_box(at_, rows_, cols_);
    }

    frame_request plan(const frame_answer* previous) {
        frame_request request;
        if (previous == nullptr) {  // its box gives the target
            request.region = at_;
            request.boxes = {at_};
            return request;
        }
        learn(*previous);
        // Only what is searched is computed: the tensor of a whole frame would be far larger.
        request.region = reachable(at_, reach_, rows_, cols_);
        request.grids = {window_grid{.rows = at_.rows, .cols = at_.cols}};
        request.target = target_;
        request.distance = distance_;
        request.match_histograms = update_ > 0;
        return request;
    }

  private:
    void learn(const frame_answer& previous) {
        if (target_.empty()) {
            target_ = shares(previous.histograms.counts);
            return;
        }
        at_ = previous.matches.front().where;
        if (update_ == 0) return;
        const std::vector<double> newest = shares(previous.match_histograms.counts);
        for (std::size_t i = 0; i < target_.size(); ++i) target_[i] = (1 - update_) * target_[i] + update_ * newest[i];
    }

    std::vector<double> shares(const std::vector<std::uint32_t>& counts) const {
        std::vector<double> result(counts.begin(), counts.end());
        for (double& share : result) share /= static_cast<double>(at_.rows * at_.cols);
        return result;
    }

    histogram_distance distance_;
    double update_;
    std::int64_t reach_, rows_, cols_;
    box at_;
    std::vector<double> target_;
};

std::string line_of(const track_options& options, std::int64_t frame, const histogram_match& m) {
    const box& b = m.where;
    const bool lost = options.lost && m.distance > *options.lost;
    if (options.json) {
        nlohmann::ordered_json line{{"frame", frame}, {"row", b.row},   {"col", b.col},
                                    {"rows", b.rows}, {"cols", b.cols}, {"distance", m.distance}};
        if (options.lost) line["lost"] = lost;
        return line.dump() + "\n";
    }
    return std::to_string(frame) + "," + std::to_string(b.row) + "," + std::to_string(b.col) + "," +
           std::to_string(b.rows) + "," + std::to_string(b.cols) + "," + text_of(m.distance) +
           (!options.lost ? ""
            : lost        ? ",1"
                          : ",0") +
           "\n";
}

std::string report_line(const pipeline_report& report, double write_seconds, const track_options& options) {
    nlohmann::ordered_json stages;
    for (std::size_t i = 0; i < report.busy.size(); ++i)
        stages[std::string(name_of(static_cast<pipeline_stage>(i)))] = report.busy[i];
    stages["write"] = write_seconds;
    const nlohmann::ordered_json line{{"report",
                                       {{"frames", report.frames},
                                        {"seconds", report.seconds},
                                        {"frames_per_second", report.frames_per_second()},
                                        {"buffers", options.buffers},
                                        {"device", chosen_device(options.device)},
                                        {"stage_seconds", stages},
                                        {"overlap", report.overlap()}}}};
    return line.dump() + "\n";
}

std::optional<int> device_of(const std::string& text) {
    const std::string device = chosen_device(text);
    if (device == "cpu") return {};
    return device_from_text(device);
}

}  // namespace

void setup_track(CLI::App& app, action& chosen) {
    const auto options = std::make_shared<track_options>();
    CLI::App* command = app.add_subcommand("track", "Follow a region through a video by its histogram");
    command->add_option("IN", options->input, "video, YUV4MPEG2 file, - or numbered images")->required();
    add_parsed(*command, "--box", options->start, parse_box, no_box, "row,col,rows,cols in the first frame")
        ->required();
    CLI::Option* bins =
        command->add_option("--bins", options->bins, "of brightness (default: 32)")->check(CLI::Range(1, 256));
    command
        ->add_option("--colours,--colors", options->colours,
                     "compare colours, of so many levels of red, green and blue each, 2 to 6")
        ->check(CLI::Range(2, 6))
        ->excludes(bins);
    add_parsed(*command, "--distance", options->distance, histogram_distance_from_name,
               "is none of l1, l2, chi-square, intersection, bhattacharyya",
               "l1, l2, chi-square, intersection, bhattacharyya (default)");
    command->add_option("--reach", options->reach, "largest step between frames in pixels (default: 16); 0: anywhere")
        ->check(CLI::Range(0, 1 << 20));
    command->add_option("--update", options->update, "share of the newest histogram in the target, 0 to 1 (default: 0)")
        ->check(finite_number)  // Range lets a NaN pass
        ->check(CLI::Range(0.0, 1.0));
    command->add_option("--first", options->first, "number of the first image (default: the lowest)")
        ->check(CLI::Range(0, 1'000'000'000));
    command
        ->add_option("--annotate", options->annotate, "folder, or video for ffmpeg, of frames with the region drawn in")
        ->check(some_text);
    command
        ->add_option("--lost", options->lost, "say in each line whether the distance exceeds this: the region is lost")
        ->check(finite_number);
    command->add_option("--buffers", options->buffers, "frames in flight, 1 to 8 (default: 4)")
        ->check(CLI::Range(1, 8));
    add_device_options(*command, options->device, options->threads);
    command->add_flag("--json", options->json, "lines as JSON, and a report as the last one");
    command->footer(track_footer);
    command->callback([options, &chosen] { chosen = [options] { return run_track(*options); }; });
}

exit_code run_track(const track_options& options) {
    const std::unique_ptr<frame_reader> frames = open_frames(options.input, options.first);
    const box& start = options.start;
    tracker follower(options, start, frames->rows(), frames->cols());

    pipeline_options how;
    how.buffers = options.buffers;
    how.device = device_of(options.device);
    how.histogram.threads = bounded_threads(options.threads);
    const auto plan = [&](std::int64_t, const frame_answer* previous) { return follower.plan(previous); };
    video_source source(*frames, options.colours, !options.annotate.empty());
    const auto read = [&](const frame_memory& frame) { return source.read(frame.image); };
    const int levels = options.colours;
    const binning bins = levels == 0 ? binning::uniform(options.bins, 0, 256)
                                     : binning::uniform(levels * levels * levels, 0, levels * levels * levels);
    histogram_pipeline pipeline({dtype::u8, frames->rows(), frames->cols()}, bins, {.planner = plan}, read, how);
    std::optional<annotated_frames> annotated;
    if (!options.annotate.empty()) annotated.emplace(options.annotate, source.shape());
    double write_seconds = 0;
    try {
        while (const frame_result* const result = pipeline.next()) {
            const stopwatch writing;
            const std::int64_t n = result->frame;
            const histogram_match m = n == 0 ? histogram_match{start, 0} : result->matches.front();
            if (n == 0 && !options.json)
                print_output(std::string("frame,row,col,rows,cols,distance") + (options.lost ? ",lost\n" : "\n"));
            const std::int64_t number = frames->first() + n;
            print_output(line_of(options, number, m));
            if (annotated) {
                const std::vector<std::uint8_t> pixels = source.take();
                annotated->write(number, {pixels.data(), source.shape()}, m.where);
            }
            write_seconds += writing.seconds();
        }
    } catch (const pipeline_error& e) {
        std::rethrow_exception(e.cause());  // it names the frame or the file, and decides the exit code
    }
    if (annotated) annotated->finish();
    const pipeline_report report = pipeline.report();
    if (report.frames == 0) throw input_error("'" + input_name(options.input) + "' has no frame");
    if (options.json) print_output(report_line(report, write_seconds, options));
    return exit_code::done;
}

}  // namespace boxsum::cli
