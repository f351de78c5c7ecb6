#include "strips.hpp"

#include "image_io/row_sink.hpp"
#include "machine_info.hpp"
#include "stopwatch.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace boxsum::cli {
namespace {

/// Threads that are at work on strips, for all files that are worked on at the same time: they share the processors.
std::atomic<int> at_work{0};

/// This thread and up to `wanted` - 1 others that nobody has.
class thread_share {
  public:
    explicit thread_share(int wanted)
        : count_(std::clamp(describe_cpu().threads - at_work.fetch_add(1), 1, std::max(1, wanted))) {
        at_work += count_ - 1;
    }
    thread_share(const thread_share&) = delete;
    thread_share& operator=(const thread_share&) = delete;
    ~thread_share() { at_work -= count_; }

    int count() const { return count_; }

  private:
    int count_;
};

const_any_view rows_from(const const_any_view& view, std::int64_t first, std::int64_t count) {
    const_any_view part = view;
    if (view.data == nullptr) return part;
    part.data = static_cast<const std::byte*>(view.data) + first * view.shape.row_stride;
    part.shape.rows = count;
    return part;
}

/// The library sees only strips, whose rows are the image's whatever a mask or weights have.
void check_extents(const char* option, const view_shape& given, const view_shape& image) {
    if (given.rows != image.rows || given.cols != image.cols)
        throw invalid_argument(std::string(option) + ": rows x cols are " + std::to_string(given.rows) + " x " +
                               std::to_string(given.cols) + ", must be the image's " + std::to_string(image.rows) +
                               " x " + std::to_string(image.cols));
}

}  // namespace

strips::strips(const view_shape& image, const window& reach, std::int64_t bytes_of_row, int threads)
    : rows_(image.rows),
      above_(std::min(image.rows, reach.above)),
      below_(std::min(image.rows, reach.below)),
      threads_(bounded_threads(threads)) {
    const std::int64_t beyond = above_ + below_;
    const int most_places = threads_ > 0 ? threads_ : describe_cpu().threads;
    const auto height_for = [&](int places) {
        return std::min(rows_, rows_of_strip(bytes_of_row, 4 * beyond, places));
    };
    // With less than two strips for each, a thread more would wait more than work.
    height_ = height_for(most_places);
    places_ = static_cast<int>(std::clamp<std::int64_t>((rows_ + height_ - 1) / height_ / 2, 1, most_places));
    height_ = height_for(places_);
    // A last strip that is lower than the windows reach would be a part of the one before it: they are one.
    most_ = std::min(rows_, height_ + beyond);
}

std::int64_t strips::bottom_of(std::int64_t top) const {
    return rows_ - top <= most_ ? rows_ : top + height_;
}

void strips::run(const image& source, const sampling& samples, const std::function<void(const strip&)>& compute,
                 const std::function<void(const strip&)>& hand_on, summary& report) const {
    if (samples.mask.view.data != nullptr) check_extents("--mask", samples.mask.view.shape, source.view.shape);
    if (samples.weights.view.data != nullptr) check_extents("--weights", samples.weights.view.shape, source.view.shape);
    const stopwatch all;
    const thread_share share(places_);
    std::mutex mutex;  // of all that follows
    std::condition_variable turn;
    std::int64_t next = 0, handed_on = 0;
    std::exception_ptr failed;
    double computing_seconds = 0, writing_seconds = 0;

    const auto take = [&](strip& mine) {
        const std::lock_guard lock(mutex);
        if (next == rows_ || failed) return false;
        mine.top = next;
        next = bottom_of(next);
        mine.rows = next - mine.top;
        return true;
    };
    const auto work = [&](int place) {
        strip mine{.place = place, .threads = share.count() > 1 ? 1 : threads_};
        try {
            while (take(mine)) {
                const std::int64_t bottom = mine.top + mine.rows, first = std::max<std::int64_t>(0, mine.top - above_),
                                   last = std::min(rows_, bottom + below_);
                mine.inputs = {.image = rows_from(source.view, first, last - first),
                               .mask = rows_from(samples.mask.view, first, last - first),
                               .weights = rows_from(samples.weights.view, first, last - first)};
                if (last - first < rows_) {
                    mine.inputs.at = {first, 0};
                    mine.inputs.whole = {rows_, source.view.shape.cols};
                }
                const stopwatch computing;
                compute(mine);
                const double computed = computing.seconds();
                std::unique_lock lock(mutex);
                turn.wait(lock, [&] { return handed_on == mine.top || failed; });
                if (failed) return;
                const stopwatch writing;
                hand_on(mine);
                handed_on = bottom;
                computing_seconds += computed;
                writing_seconds += writing.seconds();
                turn.notify_all();
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failed) failed = std::current_exception();
            turn.notify_all();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (int place = 1; place < share.count(); ++place) others.emplace_back(work, place);
        } catch (const std::system_error&) {  // the threads that there are do it
        }
        work(0);
    }
    if (failed) std::rethrow_exception(failed);
    const double seconds = all.seconds(), sum = computing_seconds + writing_seconds,
                 writing = sum > 0 ? seconds * writing_seconds / sum : 0;
    report.seconds += seconds - writing;
    report.writing_seconds += writing;
}

}  // namespace boxsum::cli
