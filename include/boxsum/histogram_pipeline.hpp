#pragma once

#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

namespace detail {
class frame_pipeline;
}

/// What all frames of a pipeline have in common: one channel, 8u, 16u, 32s or 32f.
struct frame_format {
    dtype type = dtype::u8;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
};

/// What is made of a frame. All places are in pixels of the frame.
struct frame_request {
    /// The part of the frame whose integral histogram is computed; boxes and windows lie inside it. Nothing: all of it.
    std::optional<box> region = {};

    bool tensor = false;          ///< hand the tensor of the region out, in host memory
    std::vector<box> boxes = {};  ///< their histograms

    /// Exhaustive search as by best_windows(); a grid without a region of its own covers this request's.
    std::vector<window_grid> grids = {};
    std::vector<double> target = {};
    histogram_distance distance = histogram_distance::bhattacharyya;
    std::int64_t count = 1;         ///< matches at most
    bool match_histograms = false;  ///< their histograms as well
};

/// The small part of what was made of a frame.
struct frame_answer {
    std::int64_t frame = 0;                ///< its number, from 0
    histogram_list histograms;             ///< boxes x bins
    std::vector<histogram_match> matches;  ///< best first
    histogram_list match_histograms;       ///< matches x bins
};

/// All that was made of a frame, and the frame. The memory of the views is the pipeline's (see next()).
struct frame_result : frame_answer {
    box region;                       ///< what the tensor is of
    const_any_view image;             ///< the frame as the source gave it, in host memory
    const_any_view weights;           ///< of its pixels, 32f; data is null in a pipeline without them
    const_any_histogram_view tensor;  ///< entries.data is null unless asked for
};

/// What a frame goes through. `upload` and `download` exist on CUDA devices only.
enum class pipeline_stage : std::uint8_t { read, upload, compute, query, download, count };

/// "read", "upload", "compute", "query", "download"
std::string_view name_of(pipeline_stage stage) noexcept;

/// A stage failed at a frame; all frames before it were delivered. what() is "frame 7: read: " and the text of the
/// cause.
class pipeline_error : public std::runtime_error, public error {
  public:
    pipeline_error(std::int64_t frame, pipeline_stage stage, const std::string& text, std::exception_ptr cause)
        : std::runtime_error("frame " + std::to_string(frame) + ": " + std::string(name_of(stage)) + ": " + text),
          frame_(frame),
          stage_(stage),
          cause_(std::move(cause)) {}
    const char* what() const noexcept override;

    std::int64_t frame() const noexcept { return frame_; }
    pipeline_stage stage() const noexcept { return stage_; }
    /// What the stage threw.
    const std::exception_ptr& cause() const noexcept { return cause_; }

  private:
    std::int64_t frame_;
    pipeline_stage stage_;
    std::exception_ptr cause_;
};

/// What a pipeline has done so far.
struct pipeline_report {
    std::int64_t frames = 0;  ///< delivered
    double seconds = 0;       ///< from the start of the first frame to the delivery of the last one
    /// Seconds that each stage was busy with the delivered frames; 0 for stages that do not exist here.
    std::array<double, static_cast<std::size_t>(pipeline_stage::count)> busy{};

    double frames_per_second() const noexcept { return seconds > 0 ? static_cast<double>(frames) / seconds : 0; }

    /// Busy time of all stages over elapsed time: 1 where one stage ran at any time, above it where stages overlapped,
    /// below it where all of them waited for the caller.
    double overlap() const noexcept {
        double sum = 0;
        for (const double stage : busy) sum += stage;
        return seconds > 0 ? sum / seconds : 0;
    }
};

/// How a pipeline works.
struct pipeline_options {
    /// Frames in flight, 1 to 8: one is read while others are computed, searched or copied. The results do not depend
    /// on it.
    int buffers = 2;

    /// A CUDA device; nothing: this machine's CPU.
    std::optional<int> device = {};

    /// Of the tensor: 32u, or 16u where a region has at most 65535 pixels. 32f: pixels have weights, which the source
    /// writes beside each frame; tensors, and histograms of boxes and matches, are sums of these, and searches compare
    /// sums.
    dtype entries = dtype::u32;

    /// Of the tensor: `inclusive` or `padded`.
    table_form form = {};

    /// `threads` and `store` matter on the CPU only.
    histogram_options histogram = {};
};

/// Memory that a source writes a frame to.
struct frame_memory {
    any_view image;
    any_view weights;  ///< of its pixels, 32f; data is null in a pipeline without them
};

/// Writes the next frame to the given memory, or returns false at the end. It is destroyed as soon as no more frames
/// are read: behind the last one, or behind one that failed.
using frame_source = std::function<bool(const frame_memory& frame)>;

/// Says what is made of a frame; `previous` is the answer for the frame before, null for frame 0.
using frame_planner = std::function<frame_request(std::int64_t frame, const frame_answer* previous)>;

/// What is made of the frames: the same of all, or of each what the planner says. Then the computation of a frame waits
/// for the answer before, as in tracking; reading and copying do not.
struct frame_work {
    frame_request request = {};  ///< not read where there is a planner
    frame_planner planner = {};
};

/// A source that hands out the planes of a batch and of their weights, with any strides, which must outlive it: weights
/// where the pipeline has them, and only there.
frame_source frames_of(const histogram_inputs& batch);

/// Takes frames from a source and hands out their tensors, box histograms or best matches, in order (Poostchi et al.,
/// sections 4.3 to 4.5). While the caller looks at one frame, the pipeline's threads read, copy, compute and search
/// others: on the CPU the source, the tensor and the queries each have a thread; on a CUDA device copies in both
/// directions and kernels have streams, and frames lie in page-locked memory.
///
///     histogram_pipeline pipeline({dtype::u8, 720, 1280}, binning::uniform(32, 0, 256), {request}, read);
///     while (const frame_result* result = pipeline.next()) use(*result);
///
/// One thread at a time may call next(); report() any thread at any time. The source and the planner are called on
/// threads of the pipeline, each by one call at a time and for frames in order, and must not use the pipeline.
/// Destruction in the middle of a stream drops the frames in flight; it waits for calls of the source and the planner
/// that are running, not for the rest of the stream.
class histogram_pipeline {
  public:
    /// Throws invalid_argument, naming the argument and its value: extents, a request that does not fit the format,
    /// buffers outside 1 to 8; unsupported for element types, an algorithm, a device.
    histogram_pipeline(const frame_format& format, const binning& bins, frame_work work, frame_source source,
                       const pipeline_options& options = {});

    histogram_pipeline(histogram_pipeline&&) noexcept;
    histogram_pipeline& operator=(histogram_pipeline&&) noexcept;
    ~histogram_pipeline();

    /// Waits for the next frame; null at the end of the stream. The result and its views are valid until the next call.
    /// Throws pipeline_error when a stage failed at this frame, and again in every later call.
    const frame_result* next();

    pipeline_report report() const;

  private:
    std::unique_ptr<detail::frame_pipeline> impl_;
};

}  // namespace boxsum
