#include "pipeline/frame_pipeline.hpp"
#include "support/frames.hpp"
#include "support/weighted_frames.hpp"

#include <boxsum/histogram_pipeline.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>

namespace boxsum {
namespace {

using namespace std::chrono_literals;
using test::first_difference;
using test::video;
using test::whole_request;

constexpr int most_buffers = 8;

/// One thread per team: the threads of the pipeline are what is tested.
pipeline_options with_buffers(int buffers) {
    pipeline_options o;
    o.buffers = buffers;
    o.histogram.threads = 1;
    return o;
}

pipeline_options of_sums() {
    pipeline_options o = with_buffers(2);
    o.entries = dtype::f32;
    return o;
}

TEST(histogram_pipeline, any_number_of_buffers_gives_the_same_results) {
    const video v(37, 53, 11);
    const binning bins = binning::uniform(13, 0, 256);
    const frame_request request = whole_request(v, bins);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (int buffers = 1; buffers <= most_buffers; ++buffers) {
            pipeline_options options = with_buffers(buffers);
            options.form = layout;
            histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
            std::int64_t n = 0;
            for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n) {
                ASSERT_EQ(r->frame, n);
                const auto wrong = first_difference<std::uint32_t>(*r, v, bins, request, layout);
                ASSERT_FALSE(wrong) << *wrong << ", " << buffers << " buffers";
            }
            EXPECT_EQ(n, v.frames);
            EXPECT_EQ(pipeline.next(), nullptr);
        }
}

TEST(histogram_pipeline, sixteen_bits_and_single_products) {
    const video v(40, 31, 4);
    const binning bins = binning::uniform(300, 0, 256);
    frame_request tensor, boxes;
    tensor.tensor = true;
    boxes.boxes = {{0, 0, 40, 31}};
    for (const frame_request& request : {tensor, boxes}) {
        pipeline_options options = with_buffers(3);
        options.entries = dtype::u16;
        histogram_pipeline pipeline(v.format(), bins, {request}, frames_of({v.all()}), options);
        while (const frame_result* r = pipeline.next()) {
            const auto wrong = first_difference<std::uint16_t>(*r, v, bins, request, table_layout::inclusive);
            ASSERT_FALSE(wrong) << *wrong;
        }
    }
}

TEST(histogram_pipeline, a_planner_sees_the_answer_before) {
    const video v(30, 40, 9);
    const binning bins = binning::uniform(8, 0, 256);
    for (int buffers = 1; buffers <= most_buffers; ++buffers) {
        // The window found in a frame is the target, and the place to start from, of the next one.
        const auto plan = [&](std::int64_t frame, const frame_answer* previous) {
            EXPECT_EQ(previous == nullptr, frame == 0);
            frame_request r;
            if (previous == nullptr) {
                r.boxes = {{10, 10, 6, 6}};
                return r;
            }
            EXPECT_EQ(previous->frame, frame - 1);
            const auto& h = (frame == 1 ? previous->histograms : previous->match_histograms).counts;
            r.target.assign(h.begin(), h.end());
            const box at = frame == 1 ? box{10, 10, 6, 6} : previous->matches.front().where;
            r.region = box{std::max<std::int64_t>(at.row - 2, 0), std::max<std::int64_t>(at.col - 2, 0), 8, 8};
            r.grids = {{.rows = 6, .cols = 6}};
            r.match_histograms = true;
            return r;
        };
        histogram_pipeline pipeline(v.format(), bins, {.planner = plan}, frames_of({v.all()}), with_buffers(buffers));
        std::optional<frame_answer> previous;
        std::int64_t n = 0;
        for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n) {
            const frame_request request = plan(n, previous ? &*previous : nullptr);
            const auto wrong = first_difference<std::uint32_t>(*r, v, bins, request, table_layout::inclusive);
            ASSERT_FALSE(wrong) << *wrong << ", " << buffers << " buffers";
            previous = *r;
        }
        EXPECT_EQ(n, v.frames);
    }
}

/// A CPU worker whose steps a test looks at, or spoils.
class spied_worker : public detail::frame_worker {
  public:
    using spy = std::function<void(int step, detail::frame_slot& slot)>;

    spied_worker(const video& v, const binning& bins, spy before, spy after = {})
        : inner_(detail::make_cpu_frame_worker({v.format(), bins, dtype::u32, {}, {.threads = 1}, {}})),
          before_(std::move(before)),
          after_(std::move(after)) {}

    void prepare(detail::frame_slot& slot) override { inner_->prepare(slot); }
    int steps() const override { return inner_->steps(); }
    int planned_step() const override { return inner_->planned_step(); }
    pipeline_stage stage_of(int step) const override { return inner_->stage_of(step); }
    void stop() noexcept override { inner_->stop(); }
    void run(int step, detail::frame_slot& slot) override {
        if (before_) before_(step, slot);
        inner_->run(step, slot);
        if (after_) after_(step, slot);
    }

  private:
    std::unique_ptr<detail::frame_worker> inner_;
    spy before_, after_;
};

struct broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Takes all frames from number `delivered` on; the error that ended it, if one did.
std::optional<pipeline_error> drain(detail::frame_pipeline& pipeline, std::int64_t& delivered) {
    try {
        for (; const frame_result* r = pipeline.next(); ++delivered) EXPECT_EQ(r->frame, delivered);
    } catch (const pipeline_error& e) {
        EXPECT_THROW(pipeline.next(), pipeline_error);  // it stays broken
        return e;
    }
    return {};
}

TEST(histogram_pipeline, an_error_comes_behind_all_frames_before_it) {
    const video v(20, 20, 9);
    const binning bins = binning::uniform(4, 0, 256);
    const auto request = std::make_shared<const frame_request>(whole_request(v, bins));
    for (int buffers = 1; buffers <= most_buffers; ++buffers)
        for (const std::int64_t bad : {0, 1, 5, 8})
            for (int step = -1; step < 2; ++step) {  // -1: the source
                const auto spoil = [&](int s, detail::frame_slot& slot) {
                    if (s == step && slot.frame == bad) throw broken("spoilt");
                };
                auto source = [frames = frames_of({v.all()}), n = 0, step, bad](const frame_memory& frame) mutable {
                    if (step == -1 && n++ == bad) throw broken("spoilt");
                    return frames(frame);
                };
                detail::frame_pipeline pipeline(v.format(), bins, {request, {}}, source, buffers,
                                                std::make_unique<spied_worker>(v, bins, spoil));
                std::int64_t delivered = 0;
                const auto e = drain(pipeline, delivered);
                ASSERT_TRUE(e);
                EXPECT_EQ(delivered, bad);
                EXPECT_EQ(e->frame(), bad);
                const auto stage = step < 0    ? pipeline_stage::read
                                   : step == 0 ? pipeline_stage::compute
                                               : pipeline_stage::query;
                EXPECT_EQ(e->stage(), stage);
                EXPECT_EQ(std::string(e->what()),
                          "frame " + std::to_string(bad) + ": " + std::string(name_of(stage)) + ": spoilt");
                EXPECT_THROW(std::rethrow_exception(e->cause()), broken);
            }
}

TEST(histogram_pipeline, the_first_of_two_broken_frames_is_reported) {
    const video v(20, 20, 9);
    const binning bins = binning::uniform(4, 0, 256);
    for (int buffers = 1; buffers <= most_buffers; ++buffers) {
        // Frame 6 breaks early in its way, frame 4 at its end.
        const auto spoil = [&](int s, detail::frame_slot& slot) {
            if ((s == 0 && slot.frame == 6) || (s == 1 && slot.frame == 4)) throw broken("spoilt");
        };
        detail::frame_pipeline pipeline(v.format(), bins,
                                        {std::make_shared<const frame_request>(whole_request(v, bins)), {}},
                                        frames_of({v.all()}), buffers, std::make_unique<spied_worker>(v, bins, spoil));
        std::int64_t delivered = 0;
        const auto e = drain(pipeline, delivered);
        ASSERT_TRUE(e);
        EXPECT_EQ(e->frame(), 4);
        EXPECT_EQ(delivered, 4);
    }
}

TEST(histogram_pipeline, planners_fail_at_their_frame_too) {
    const video v(20, 20, 6);
    const binning bins = binning::uniform(4, 0, 256);
    const auto plan = [](std::int64_t frame, const frame_answer*) {
        frame_request r;
        r.boxes = {{0, 0, frame == 3 ? 21 : 20, 20}};
        return r;
    };
    histogram_pipeline pipeline(v.format(), bins, {.planner = plan}, frames_of({v.all()}), with_buffers(4));
    for (int n = 0; n < 3; ++n) ASSERT_NE(pipeline.next(), nullptr);
    try {
        pipeline.next();
        FAIL() << "nothing was thrown";
    } catch (const pipeline_error& e) {
        EXPECT_EQ(e.frame(), 3);
        EXPECT_NE(std::string(e.what()).find("boxes[0]"), std::string::npos) << e.what();
    }
}

TEST(histogram_pipeline, an_answer_that_never_comes_holds_nobody_up) {
    const video v(20, 20, 6);
    const binning bins = binning::uniform(4, 0, 256);
    for (int buffers = 1; buffers <= most_buffers; ++buffers) {
        const auto plan = [&](std::int64_t, const frame_answer*) { return whole_request(v, bins); };
        const auto spoil = [](int step, detail::frame_slot& slot) {
            if (step == 1 && slot.frame == 2) throw broken("spoilt");
        };
        detail::frame_pipeline pipeline(v.format(), bins, {nullptr, plan}, frames_of({v.all()}), buffers,
                                        std::make_unique<spied_worker>(v, bins, spoil));
        std::int64_t delivered = 0;
        const auto e = drain(pipeline, delivered);
        ASSERT_TRUE(e);
        EXPECT_EQ(delivered, 2);
        EXPECT_EQ(e->frame(), 2);
        EXPECT_EQ(e->stage(), pipeline_stage::query);
    }
}

TEST(histogram_pipeline, ends_in_the_middle_of_a_stream) {
    const video v(20, 20, 1);
    const binning bins = binning::uniform(4, 0, 256);
    for (int buffers = 1; buffers <= most_buffers; ++buffers)
        for (int taken = 0; taken < 3; ++taken)
            for (const bool planned : {false, true}) {
                const auto endless = [](const frame_memory&) { return true; };
                const frame_request request = whole_request(v, bins);
                const auto plan = [&](std::int64_t, const frame_answer*) { return request; };
                histogram_pipeline pipeline(v.format(), bins, planned ? frame_work{{}, plan} : frame_work{request},
                                            endless, with_buffers(buffers));
                for (int i = 0; i < taken; ++i) ASSERT_NE(pipeline.next(), nullptr);
            }
}

TEST(histogram_pipeline, a_source_goes_when_no_more_frames_are_read) {
    const video v(20, 20, 9);
    const binning bins = binning::uniform(4, 0, 256);
    const auto request = std::make_shared<const frame_request>(whole_request(v, bins));
    for (int buffers = 1; buffers <= most_buffers; ++buffers)
        for (int step = -2; step < 2; ++step) {  // that fails: -1 is the source, -2 nothing
            std::promise<void> gone;
            std::shared_ptr<std::promise<void>> of_source(&gone, [](std::promise<void>* one) { one->set_value(); });
            frame_source source = [frames = frames_of({v.all()}), n = 0, step,
                                   held = std::move(of_source)](const frame_memory& frame) mutable {
                if (step == -1 && n++ == 3) throw broken("spoilt");
                return frames(frame);
            };
            const auto spoil = [&](int s, detail::frame_slot& slot) {
                if (s == step && slot.frame == 3) throw broken("spoilt");
            };
            detail::frame_pipeline pipeline(v.format(), bins, {request, {}}, std::move(source), buffers,
                                            std::make_unique<spied_worker>(v, bins, spoil));
            const auto has_gone = gone.get_future();
            if (step == -2) {  // there are more frames than buffers
                EXPECT_EQ(has_gone.wait_for(0s), std::future_status::timeout);
            }
            std::int64_t delivered = 0;
            EXPECT_EQ(drain(pipeline, delivered).has_value(), step != -2);
            ASSERT_EQ(has_gone.wait_for(30s), std::future_status::ready) << buffers << " buffers, step " << step;
        }
}

TEST(histogram_pipeline, stages_overlap_from_two_buffers_on) {
    const video v(20, 20, 5);
    const binning bins = binning::uniform(4, 0, 256);
    const auto request = std::make_shared<const frame_request>(whole_request(v, bins));
    for (const int buffers : {1, 2}) {
        std::atomic<int> read{0};
        std::promise<void> second_read;
        auto seen = second_read.get_future();
        auto source = [&, frames = frames_of({v.all()})](const frame_memory& frame) mutable {
            if (++read == 2) second_read.set_value();
            return frames(frame);
        };
        std::atomic<bool> overlapped{false};
        const auto look = [&](int step, detail::frame_slot& slot) {
            if (step != 0 || slot.frame != 0) return;
            // With two buffers the source must come while frame 0 is computed; with one it must not.
            if (buffers == 2)
                overlapped = seen.wait_for(60s) == std::future_status::ready;
            else
                overlapped = read.load() > 1;
        };
        detail::frame_pipeline pipeline(v.format(), bins, {request, {}}, source, buffers,
                                        std::make_unique<spied_worker>(v, bins, look));
        std::int64_t delivered = 0;
        if (buffers == 1) {
            ++delivered;
            const frame_result* const first = pipeline.next();
            ASSERT_NE(first, nullptr);
            EXPECT_EQ(read.load(), 1);  // the only buffer is in the caller's hands
        }
        EXPECT_FALSE(drain(pipeline, delivered));
        EXPECT_EQ(delivered, v.frames);
        EXPECT_EQ(overlapped.load(), buffers == 2);
    }
}

TEST(histogram_pipeline, reports_frames_and_times) {
    const video v(50, 60, 6);
    const binning bins = binning::uniform(16, 0, 256);
    auto slow = [frames = frames_of({v.all()})](const frame_memory& frame) mutable {
        std::this_thread::sleep_for(2ms);
        return frames(frame);
    };
    histogram_pipeline pipeline(v.format(), bins, {whole_request(v, bins)}, slow, with_buffers(2));
    EXPECT_EQ(pipeline.report().frames, 0);
    EXPECT_EQ(pipeline.report().frames_per_second(), 0);
    while (pipeline.next() != nullptr) {
    }
    const pipeline_report report = pipeline.report();
    const auto busy = [&](pipeline_stage s) { return report.busy[static_cast<std::size_t>(s)]; };
    EXPECT_EQ(report.frames, 6);
    EXPECT_GE(busy(pipeline_stage::read), 6 * 0.002);
    EXPECT_GE(report.seconds, busy(pipeline_stage::read));  // one frame is read after the other
    EXPECT_GT(busy(pipeline_stage::compute), 0);
    EXPECT_GT(busy(pipeline_stage::query), 0);
    EXPECT_EQ(busy(pipeline_stage::upload), 0);
    EXPECT_EQ(busy(pipeline_stage::download), 0);
    EXPECT_DOUBLE_EQ(report.frames_per_second(), 6 / report.seconds);
    EXPECT_DOUBLE_EQ(
        report.overlap(),
        (busy(pipeline_stage::read) + busy(pipeline_stage::compute) + busy(pipeline_stage::query)) / report.seconds);
}

TEST(histogram_pipeline, frames_with_weights) {
    const test::weighted_video v(45, 61, 9);
    const binning bins = binning::uniform(13, 0, 256);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (const bool planned : {false, true})
            for (int buffers = 1; buffers <= most_buffers; buffers += 3) {
                pipeline_options options = with_buffers(buffers);
                options.form = layout;
                const auto wrong =
                    test::first_difference_of_pipeline(v, bins, whole_request(v, bins), options, planned);
                ASSERT_FALSE(wrong) << *wrong << ", " << buffers << " buffers";
            }
}

/// Weights of another frame, a missing factor: sums that are only nearly right are found.
TEST(histogram_pipeline, mistaken_weights_are_rejected) {
    const test::weighted_video v(20, 30, 3), other(20, 30, 3, 7);
    const binning bins = binning::uniform(4, 0, 256);
    const frame_request request = whole_request(v, bins);
    const auto found_with = [&](const std::vector<float>& weights) {
        test::weighted_video wrong = v;
        wrong.weights = weights;
        histogram_pipeline pipeline(v.format(), bins, {request}, wrong.source(), of_sums());
        frame_result result = *pipeline.next();
        result.weights = v.weights_of(0);  // as the source gave them, but others were added up
        return test::first_weighted_difference(result, v, bins, request, table_layout::inclusive).value_or("nothing");
    };
    EXPECT_EQ(found_with(v.weights), "nothing");
    EXPECT_NE(found_with(other.weights), "nothing");
    std::vector<float> one_off = v.weights;
    one_off[5 * 30 + 7] += 0.5F;
    EXPECT_NE(found_with(one_off).find("tensor"), std::string::npos);
}

TEST(histogram_pipeline, weights_that_do_not_fit_are_named) {
    const test::weighted_video v(20, 30, 3);
    const binning bins = binning::uniform(4, 0, 256);
    const image_view<const float> fewer(v.weights.data(), 20, 30, 0, 1, 2), narrower(v.weights.data(), 20, 29, 0, 1, 3);
    EXPECT_THROW(frames_of({v.all(), fewer}), invalid_argument);
    const auto expect = [&](frame_source source, const pipeline_options& options, const std::string& text) {
        histogram_pipeline pipeline(v.format(), bins, {whole_request(v, bins)}, std::move(source), options);
        try {
            pipeline.next();
            FAIL() << "nothing was thrown";
        } catch (const pipeline_error& e) {
            EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
        }
    };
    expect(frames_of({v.all(), narrower}), of_sums(), "weights: frames are 20 x 29");
    expect(frames_of({v.all()}), of_sums(), "weights: the pipeline adds them up, but the batch has none");
    expect(v.source(), with_buffers(2), "weights: the batch has them, but the pipeline's entries are counts");
}

/// What the tests above compare with finds these mistakes.
TEST(histogram_pipeline, broken_workers_are_rejected) {
    const video v(20, 20, 6);
    const binning bins = binning::uniform(4, 0, 256);
    const frame_request request = whole_request(v, bins);
    histogram_list stale;
    const std::vector<std::pair<std::string, spied_worker::spy>> mistakes{
        {"histograms",  // of the frame before
         [&](int step, detail::frame_slot& slot) {
             if (step == 1) std::swap(slot.result.histograms, stale);
         }},
        {"tensor",  // its last entry
         [](int step, detail::frame_slot& slot) {
             if (step != 0 || slot.frame != 4) return;
             const tensor_shape& s = slot.result.tensor.entries.shape;
             const auto last = (s.bins - 1) * s.bin_stride + (s.rows - 1) * s.row_stride + (s.cols - 1) * 4;
             auto* const data = static_cast<std::byte*>(const_cast<void*>(slot.result.tensor.entries.data));
             ++*reinterpret_cast<std::uint32_t*>(data + last);
         }},
        {"matches",  // in pixels of the region instead of the frame
         [](int step, detail::frame_slot& slot) {
             if (step == 1)
                 for (auto& m : slot.result.matches) m.where.row -= slot.result.region.row;
         }},
        {"image",  // written to
         [](int step, detail::frame_slot& slot) {
             if (step == 0 && slot.frame == 2) static_cast<std::uint8_t*>(slot.memory.image.data)[3] ^= 1;
         }},
    };
    for (const auto& [what, mistake] : mistakes) {
        detail::frame_pipeline pipeline(v.format(), bins, {std::make_shared<const frame_request>(request), {}},
                                        frames_of({v.all()}), 3,
                                        std::make_unique<spied_worker>(v, bins, nullptr, mistake));
        std::optional<std::string> found;
        while (const frame_result* r = pipeline.next())
            if (!found) found = first_difference<std::uint32_t>(*r, v, bins, request, table_layout::inclusive);
        ASSERT_TRUE(found) << what;
        EXPECT_NE(found->find(what), std::string::npos) << *found;
    }
}

TEST(histogram_pipeline, mistakes_are_named) {
    const video v(20, 20, 2);
    const binning bins = binning::uniform(4, 0, 256);
    const frame_request good = whole_request(v, bins);
    const auto message = [&](const frame_format& format, const frame_request& request, const pipeline_options& options,
                             bool with_source = true) -> std::string {
        try {
            histogram_pipeline(format, bins, {request}, with_source ? frames_of({v.all()}) : frame_source{}, options);
        } catch (const error& e) {
            return e.what();
        }
        return "nothing was thrown";
    };
    const auto expect = [&](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    const pipeline_options o = with_buffers(2);
    expect(message(v.format(), good, with_buffers(0)), "buffers: is 0");
    expect(message(v.format(), good, with_buffers(9)), "buffers: is 9");
    expect(message({dtype::u8, 0, 5}, good, o), "format: extents are 0 x 5");
    expect(message({dtype::u8, INT64_MAX, INT64_MAX}, good, o), "format: 1 x 9223372036854775807");
    expect(message({dtype::u8, INT64_MAX / 4, 1}, good, o), "request: ");
    expect(message(v.format(), good, o, false), "source: is empty");
    expect(message(v.format(), {}, o), "request: asks for nothing");
    expect(message({dtype::f64, 20, 20}, good, o), "64f");
    const auto with = [&](auto change) {
        frame_request r = good;
        change(r);
        return message(v.format(), r, o);
    };
    expect(with([](frame_request& r) { r.region = box{0, 0, 21, 20}; }), "request: region: ");
    expect(with([](frame_request& r) { r.boxes[1] = {0, 0, 2, 2}; }), "request: boxes[1]: ");  // outside the region
    expect(with([](frame_request& r) { r.grids[0].row_step = 0; }), "row_step is 0");
    expect(with([](frame_request& r) { r.target.pop_back(); }), "target has 3 values");
    expect(with([](frame_request& r) { r.target[0] = -1e-9; }), "target has the value -1e-09,");
    expect(with([](frame_request& r) { r.target[0] = r.target[1] = 1e308; }),
           "request: target: its bins add up to inf");
    expect(with([](frame_request& r) { r.count = 0; }), "count is 0");
    pipeline_options wrong = o;
    wrong.entries = dtype::f64;
    expect(message(v.format(), good, wrong), "entries: type is 64f");
    wrong = o;
    wrong.histogram.algorithm = "nonesuch";
    expect(message(v.format(), good, wrong), "nonesuch");
    wrong = o;
    wrong.form = table_layout::exclusive;
    expect(message(v.format(), good, wrong), "histograms: layout is exclusive");
    wrong = o;
    wrong.device = 99;
    expect(message(v.format(), good, wrong), "device");
    wrong = o;
    wrong.entries = dtype::u16;
    frame_request large;
    large.tensor = true;
    expect(message({dtype::u8, 256, 256}, large, wrong), "65535");
    histogram_pipeline left(v.format(), bins, {good}, frames_of({v.all()}), o);
    const histogram_pipeline moved = std::move(left);
    EXPECT_THROW(left.next(), invalid_argument);
    EXPECT_THROW((void)left.report(), invalid_argument);
    // A batch of other frames is found out at the first one.
    histogram_pipeline other({dtype::u8, 20, 21}, bins, {good}, frames_of({v.all()}), o);
    EXPECT_THROW(other.next(), pipeline_error);
}

}  // namespace
}  // namespace boxsum
