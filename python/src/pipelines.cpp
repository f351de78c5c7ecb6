#include "histograms.hpp"
#include "module.hpp"
#include "tables.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_pipeline.hpp>

#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A pipeline of frames whose source and planner are the caller's own thread: it hands over each frame and each request
/// before it asks for a result. So no thread of a pipeline ever runs Python.
namespace boxsum::python {
namespace {

/// Between the caller's thread and those of a pipeline.
class exchange_of_frames {
  public:
    /// The caller's: a frame in memory that lives until it is read. Waits for that, or for the end of all reading,
    /// where `until_read`.
    void put(const histogram_inputs& frame, bool until_read) {
        std::unique_lock lock(mutex_);
        frame_ = frame;
        changed_.notify_all();
        if (until_read) changed_.wait(lock, [&] { return !frame_ || read_all_; });
    }

    void put(frame_request request) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
        changed_.notify_all();
    }

    /// The caller's: nothing more comes.
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        frame_.reset();
        changed_.notify_all();
    }

    bool read(const frame_memory& to) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || frame_; });
        if (!frame_) return false;
        (void)frames_of (*frame_)(to);
        frame_.reset();
        changed_.notify_all();
        return true;
    }

    void read_no_more() noexcept {
        const std::lock_guard lock(mutex_);
        read_all_ = true;
        changed_.notify_all();
    }

    frame_request take_request() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !requests_.empty(); });
        if (requests_.empty()) throw invalid_argument("request: there is none, the pipeline is closed");
        frame_request request = std::move(requests_.front());
        requests_.pop_front();
        return request;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<histogram_inputs> frame_;
    std::deque<frame_request> requests_;
    bool closed_ = false;
    bool read_all_ = false;
};

/// The library's source: when that goes, no more frames are read.
frame_source source_of(std::shared_ptr<exchange_of_frames> frames) {
    const std::shared_ptr<exchange_of_frames> reading(frames.get(),
                                                      [frames](exchange_of_frames* one) { one->read_no_more(); });
    return [reading](const frame_memory& to) { return reading->read(to); };
}

/// A request, and the leading extents of its boxes.
struct request_argument {
    frame_request request;
    extents leading;

    /// (region, tensor, boxes, grids, target, distance, count, match_histograms); region and boxes may be None.
    explicit request_argument(nb::handle given) {
        const auto at = [&](std::size_t i) { return nb::object(given[i]); };
        if (const nb::object region = at(0); !region.is_none()) {
            const auto part = [&](std::size_t i) { return integer_argument(nb::object(region[i]), "request: region"); };
            request.region = box{part(0), part(1), part(2), part(3)};
        }
        request.tensor = nb::cast<bool>(at(1));
        if (const nb::object boxes = at(2); !boxes.is_none()) {
            const number_argument list(boxes, "boxes");
            if (list.floating) throw unsupported("boxes: are floating numbers; histograms count whole pixels");
            if (list.shape.empty() || list.shape.back() != 4)
                throw invalid_argument("boxes: their last extent must be 4");
            static_assert(sizeof(box) == 4 * sizeof(std::int64_t));
            const auto* const first = static_cast<const box*>(list.data);
            request.boxes.assign(first, first + list.count() / 4);
            leading.assign(list.shape.begin(), list.shape.end() - 1);
        }
        for (const nb::handle grid : nb::iter(at(3))) request.grids.push_back(grid_argument(grid));
        if (!request.grids.empty()) request.target = doubles_argument(at(4), "target");
        request.distance = distance_argument(at(5));
        request.count = integer_argument(at(6), "count");
        request.match_histograms = nb::cast<bool>(at(7));
    }
};

/// A frame that was handed over and not yet answered.
struct frame_argument {
    image_argument image;
    std::optional<companion_argument> weights;

    frame_argument(nb::handle frame, nb::handle weighing) : image(frame, "frames", nb::none(), {.may_swap = false}) {
        const strided& array = image.array;
        if (array.device) throw unsupported("frames: are on a GPU, a pipeline takes frames in host memory");
        if (array.axes != 2)
            throw invalid_argument("frames: one has the shape " + text_of_extents(array) +
                                   ", must have rows and columns");
        if (array.empty)
            throw invalid_argument("frames: one has the shape " + text_of_extents(array) + ", it has no pixels");
        image.read_as(histogram_reading(array));
        if (weighing.is_none()) return;
        weights.emplace(weighing, "weights", image);
        if (weights->array.type != element::f32)
            throw unsupported("weights: their dtype is " + std::string(name_of(weights->array.type)) +
                              ", must be float32");
    }

    histogram_inputs inputs() const {
        histogram_inputs result{image.view};
        if (weights) result.weights = weights->view;
        return result;
    }
};

struct open_pipeline {
    frame_format format;
    std::int64_t bins = 0;
    std::shared_ptr<exchange_of_frames> exchange = std::make_shared<exchange_of_frames>();
    bool planned = false;          ///< a request comes for every frame
    extents leading;               ///< of the boxes of all frames
    std::deque<extents> leadings;  ///< of those of the frames whose requests came
    std::deque<frame_argument> frames;
    pid_t process = getpid();  ///< whose threads these are

    std::mutex calls;  ///< of the pipeline, by any thread of Python; taken without the interpreter's lock
    std::optional<histogram_pipeline> pipeline;
    pipeline_report last;  ///< of a pipeline that is closed

    void close() {
        if (getpid() != process) {  // a child after fork() has none of the threads to wait for
            (void)new std::optional(std::move(pipeline));
            pipeline.reset();
            return;
        }
        const nb::gil_scoped_release released;
        exchange->close();
        const std::lock_guard lock(calls);
        if (!pipeline) return;
        last = pipeline->report();
        pipeline.reset();
    }
};

constexpr const char* capsule_name = "boxsum.pipeline";

open_pipeline& opened(nb::handle pipeline) {
    auto& one = *static_cast<open_pipeline*>(nb::cast<nb::capsule>(pipeline).data(capsule_name));
    if (getpid() != one.process)
        throw invalid_argument("pipeline: it was made before fork(), in the parent of this process");
    return one;
}

/// A capsule. `frame` is the first one, which is not read yet; `request` is None where one comes for each frame.
nb::object py_open_pipeline(nb::handle frame, nb::handle weighted, nb::handle bins, nb::handle request,
                            nb::handle layout, nb::handle dtype, nb::handle buffers, nb::handle device,
                            nb::handle threads, nb::handle algorithm) {
    auto one = std::make_unique<open_pipeline>();
    const frame_argument first(frame, nb::none());
    const view_shape& shape = first.image.view.shape;
    one->format = {shape.type, shape.rows, shape.cols};
    const binning rule = binning_argument(bins);
    one->bins = rule.bins();

    pipeline_options options;
    const auto small = [](nb::handle given, std::string_view name) {
        const std::int64_t number = integer_argument(given, name);
        if (number < 0 || number > std::numeric_limits<int>::max())
            throw invalid_argument(std::string(name) + ": is " + std::to_string(number) + ", must be 0 to " +
                                   std::to_string(std::numeric_limits<int>::max()));
        return static_cast<int>(number);
    };
    options.buffers = small(buffers, "buffers");
    if (!device.is_none()) options.device = small(device, "device");
    const bool of_weights = nb::cast<bool>(weighted);
    const element entries = element_argument(dtype, of_weights ? element::f32 : element::u32);
    if (of_weights ? entries != element::f32 : entries != element::u32 && entries != element::u16)
        throw unsupported("dtype: is " + std::string(name_of(entries)) +
                          (of_weights ? ", sums of weights are float32" : ", must be uint32 or uint16"));
    options.entries = *dtype_of_element(entries);
    options.form = layout_argument(layout);
    if (options.form.layout == table_layout::exclusive)
        throw invalid_argument("layout: is 'exclusive', histograms are 'inclusive' or 'padded'");
    options.histogram.threads = threads_argument(threads);
    options.histogram.algorithm = text_argument(algorithm, "algorithm");

    frame_work work;
    one->planned = request.is_none();
    if (one->planned) {
        work.planner = [to = one->exchange](std::int64_t, const frame_answer*) { return to->take_request(); };
    } else {
        request_argument given(request);
        one->leading = std::move(given.leading);
        work.request = std::move(given.request);
    }
    {
        const nb::gil_scoped_release released;
        one->pipeline.emplace(one->format, rule, std::move(work), source_of(one->exchange), options);
    }
    return nb::capsule(one.release(), capsule_name, [](void* data) noexcept {
        const std::unique_ptr<open_pipeline> whole(static_cast<open_pipeline*>(data));
        whole->close();
    });
}

/// Hands over the next frame; waits until it is read where `until_read`.
void py_put_frame(nb::handle pipeline, nb::handle frame, nb::handle weights, nb::handle until_read) {
    open_pipeline& one = opened(pipeline);
    frame_argument given(frame, weights);
    const view_shape& shape = given.image.view.shape;
    if (shape.rows != one.format.rows || shape.cols != one.format.cols || shape.type != one.format.type)
        throw invalid_argument("frames: one is " + text_of_extents(given.image.array) + " of " +
                               std::string(name_of(given.image.array.type)) + ", the first was (" +
                               std::to_string(one.format.rows) + ", " + std::to_string(one.format.cols) + ") of " +
                               std::string(name_of(element_of(one.format.type))));
    const bool wait = nb::cast<bool>(until_read);
    one.frames.push_back(std::move(given));
    const histogram_inputs inputs = one.frames.back().inputs();
    const nb::gil_scoped_release released;
    one.exchange->put(inputs, wait);
}

/// Says what is made of the next frame for which nothing was said.
void py_put_request(nb::handle pipeline, nb::handle request) {
    open_pipeline& one = opened(pipeline);
    request_argument given(request);
    one.leadings.push_back(std::move(given.leading));
    one.exchange->put(std::move(given.request));
}

nb::object array_of(const histogram_list& list, extents leading, std::int64_t bins, const strided& like) {
    leading.push_back(bins);
    const bool counts = list.sums.empty();
    const packed_result result(nb::none(), "out", leading, counts ? element::u32 : element::f32, like);
    if (counts && !list.counts.empty())
        std::memcpy(result.data, list.counts.data(), list.counts.size() * sizeof(std::uint32_t));
    if (!counts) std::memcpy(result.data, list.sums.data(), list.sums.size() * sizeof(float));
    return result.finish(like);
}

/// A packed copy: the memory is the pipeline's.
nb::object array_of(const const_any_tensor_view& tensor, const strided& like) {
    const tensor_shape& s = tensor.shape;
    const packed_result result(nb::none(), "out", {s.bins, s.rows, s.cols}, element_of(s.type), like);
    {
        const nb::gil_scoped_release released;
        const auto row = static_cast<std::size_t>(s.cols) * size_of(s.type);
        std::byte* to = result.data;
        for (std::int64_t b = 0; b < s.bins; ++b)
            for (std::int64_t r = 0; r < s.rows; ++r, to += row)
                std::memcpy(to, static_cast<const std::byte*>(tensor.data) + b * s.bin_stride + r * s.row_stride, row);
    }
    return result.finish(like);
}

/// Of the next frame (region, histograms, matches, match_histograms, tensor), None where it was not asked for; a match
/// is (row, col, rows, cols, distance). The frame, and its request where there is one for each, were put.
nb::object py_next_frame(nb::handle pipeline) {
    open_pipeline& one = opened(pipeline);
    const frame_result* found = nullptr;
    std::unique_lock<std::mutex> lock;
    {
        const nb::gil_scoped_release released;
        lock = std::unique_lock(one.calls);
        if (one.pipeline) try {
                found = one.pipeline->next();
            } catch (const pipeline_error& e) {
                std::rethrow_exception(e.cause());
            }
    }
    if (found == nullptr) throw invalid_argument("pipeline: is closed");
    const frame_argument frame = std::move(one.frames.front());
    one.frames.pop_front();
    extents leading = one.leading;
    if (one.planned) {
        leading = std::move(one.leadings.front());
        one.leadings.pop_front();
    }
    const strided& like = frame.image.array;
    nb::list matches;
    for (const histogram_match& m : found->matches)
        matches.append(nb::make_tuple(m.where.row, m.where.col, m.where.rows, m.where.cols, m.distance));
    const box& region = found->region;
    nb::object histograms = nb::none(), match_histograms = nb::none(), tensor = nb::none();
    if (!leading.empty() || !found->histograms.empty())
        histograms = array_of(found->histograms, leading, one.bins, like);
    if (!found->match_histograms.empty())
        match_histograms =
            array_of(found->match_histograms, {static_cast<std::int64_t>(found->matches.size())}, one.bins, like);
    if (found->tensor.entries.data != nullptr) tensor = array_of(found->tensor.entries, like);
    return nb::make_tuple(nb::make_tuple(region.row, region.col, region.rows, region.cols), histograms, matches,
                          match_histograms, tensor);
}

/// (frames, seconds, [seconds of each stage])
nb::object py_pipeline_report(nb::handle pipeline) {
    open_pipeline& one = opened(pipeline);
    pipeline_report report;
    {
        const nb::gil_scoped_release released;
        const std::lock_guard lock(one.calls);
        report = one.pipeline ? one.pipeline->report() : one.last;
    }
    nb::dict busy;
    for (std::size_t i = 0; i < report.busy.size(); ++i) {
        const std::string_view name = name_of(static_cast<pipeline_stage>(i));
        busy[nb::str(name.data(), name.size())] = report.busy[i];
    }
    return nb::make_tuple(report.frames, report.seconds, busy);
}

/// Ends its threads and gives its memory back. Any number of times.
void py_close_pipeline(nb::handle pipeline) {
    static_cast<open_pipeline*>(nb::cast<nb::capsule>(pipeline).data(capsule_name))->close();
}

}  // namespace

void bind_pipelines(nb::module_& module) {
    define(module, "open_pipeline", py_open_pipeline);
    define(module, "put_frame", py_put_frame);
    define(module, "put_request", py_put_request);
    define(module, "next_frame", py_next_frame);
    define(module, "pipeline_report", py_pipeline_report);
    define(module, "close_pipeline", py_close_pipeline);
}

}  // namespace boxsum::python
