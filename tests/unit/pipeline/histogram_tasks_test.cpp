#include "pipeline/bin_run.hpp"
#include "support/bin_workers.hpp"
#include "support/weighted_frames.hpp"

#include <boxsum/histogram_tasks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace boxsum {
namespace {

using detail::bin_job;
using detail::bin_worker;
using test::failing_worker;

using workers = std::vector<std::unique_ptr<bin_worker>>;

template <typename T>
std::vector<T> random_pixels(std::int64_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<T> pixels(static_cast<std::size_t>(n));
    for (T& p : pixels) p = static_cast<T>(engine() % 300);
    return pixels;
}

/// A tensor with gaps and poison, what must come into it, and what is wrong with what came.
template <typename Entry>
class checked_output {
  public:
    template <typename T>
    checked_output(const image_view<const T>& image, const binning& bins, table_layout layout)
        : form_(layout),
          rows_(form_.table_extent(image.rows())),
          cols_(form_.table_extent(image.cols())),
          bins_(bins.bins()),
          planes_(image.planes()),
          row_(cols_ + 3),
          entries_(static_cast<std::size_t>(planes_ * bins_ * rows_ * row_), poison),
          expected_(entries_) {
        // By the definition: no algorithm of the library.
        const std::int64_t shift = layout == table_layout::padded ? 1 : 0;
        for (std::int64_t p = 0; p < planes_; ++p)
            for (std::int64_t b = 0; b < bins_; ++b) {
                std::vector<std::uint32_t> column(static_cast<std::size_t>(cols_));
                for (std::int64_t r = 0; r < rows_; ++r) {
                    std::uint32_t count = 0;
                    for (std::int64_t c = 0; c < cols_; ++c) {
                        if (r >= shift && c >= shift)
                            count += bins.bin_of(static_cast<double>(image(r - shift, c - shift, 0, p))) == b;
                        column[static_cast<std::size_t>(c)] += count;
                        expected_[at(p, b, r, c)] = static_cast<Entry>(column[static_cast<std::size_t>(c)]);
                    }
                }
            }
    }

    any_histogram_view view() {
        const auto row = row_ * static_cast<std::int64_t>(sizeof(Entry));
        return histogram_view<Entry>({entries_.data(), bins_, rows_, cols_, row, 0, planes_}, form_);
    }

    std::optional<std::string> wrong() const {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (entries_[i] != expected_[i]) return "entry " + std::to_string(i);
        return {};
    }

    /// The same for groups that were kept.
    std::optional<std::string> wrong(std::span<const kept_histogram::group> groups) const {
        std::int64_t next = 0;
        for (const auto& g : groups) {
            if (g.first_bin != next || g.device) return "group of bin " + std::to_string(next);
            const tensor_shape& s = g.tensor.entries.shape;
            if (g.tensor.form != form_) return "form of a group";
            for (std::int64_t p = 0; p < planes_; ++p)
                for (std::int64_t b = 0; b < s.bins; ++b)
                    for (std::int64_t r = 0; r < rows_; ++r)
                        if (std::memcmp(static_cast<const std::byte*>(g.tensor.entries.data) + p * s.plane_stride +
                                            b * s.bin_stride + r * s.row_stride,
                                        &expected_[at(p, next + b, r, 0)],
                                        static_cast<std::size_t>(cols_) * sizeof(Entry)) != 0)
                            return "bin " + std::to_string(next + b) + ", row " + std::to_string(r);
            next += s.bins;
        }
        return next == bins_ ? std::nullopt : std::optional<std::string>("number of bins");
    }

  private:
    static constexpr Entry poison = static_cast<Entry>(0x5a5a5a5a);
    std::size_t at(std::int64_t p, std::int64_t b, std::int64_t r, std::int64_t c) const {
        return static_cast<std::size_t>(((p * bins_ + b) * rows_ + r) * row_ + c);
    }

    table_form form_;
    std::int64_t rows_, cols_, bins_, planes_, row_;
    std::vector<Entry> entries_, expected_;
};

template <typename T, typename Entry>
void check_run(const image_view<const T>& image, const binning& bins, const histogram_tasks_options& options,
               table_layout layout) {
    histogram_tasks tasks(options);
    checked_output<Entry> output(image, bins, layout);
    const histogram_tasks_report report = tasks.run({image}, bins, {output.view()});
    const auto wrong = output.wrong();
    EXPECT_FALSE(wrong) << *wrong << ", " << bins.bins() << " bins";
    std::int64_t done = 0;
    for (const task_worker_report& w : report.workers) {
        done += w.tasks;
        EXPECT_EQ(w.failure, "");
    }
    EXPECT_EQ(done, report.tasks);
    EXPECT_EQ(report.tasks, (bins.bins() + report.bins_per_task - 1) / report.bins_per_task);
    if (options.bins_per_task == 0) {
        const auto count = static_cast<std::int64_t>(report.workers.size());
        EXPECT_GE(report.tasks, std::min(bins.bins(), 4 * count));
    }
    EXPECT_EQ(report.pinned_bytes, 0u);

    const kept_histogram kept = tasks.keep({image}, bins, dtype_of<Entry>, layout);
    const auto wrong_kept = output.wrong(kept.groups());
    EXPECT_FALSE(wrong_kept) << *wrong_kept;
}

template <typename T, typename Entry>
void check_run(const std::vector<T>& pixels, std::int64_t rows, std::int64_t cols, std::int64_t planes,
               const binning& bins, const histogram_tasks_options& options, table_layout layout) {
    check_run<T, Entry>(image_view<const T>(pixels.data(), rows, cols, 0, 1, planes), bins, options, layout);
}

template <typename T>
void check_strides(const binning& bins) {
    constexpr std::int64_t rows = 13, cols = 17, planes = 2, e = sizeof(T);
    const auto pixels = random_pixels<T>(planes * 2 * rows * cols, 5);
    const T* const last = pixels.data() + pixels.size() - 1;
    const histogram_tasks_options two{.cpu_workers = 2, .bins_per_task = 3};
    for (const image_view<const T>& image :
         {image_view<const T>(last, rows, cols, {.row = -cols * e, .col = -e, .plane = -rows * cols * e}, 1, planes),
          image_view<const T>(pixels.data(), cols, rows, {.row = e, .col = cols * e, .plane = rows * cols * e}, 1,
                              planes),
          image_view<const T>(pixels.data(), rows, cols,
                              {.row = 2 * cols * e, .col = 2 * e, .plane = 2 * rows * cols * e}, 1, planes)})
        check_run<T, std::uint32_t>(image, bins, two, table_layout::padded);
}

TEST(histogram_tasks, images_with_any_strides) {
    check_strides<std::uint8_t>(binning::uniform(8, 0, 256));
    check_strides<float>(binning::uniform(8, 0, 300));
    check_strides<std::int32_t>(binning::indices(300));
}

TEST(histogram_tasks, equals_a_direct_count_for_every_type_and_rule) {
    constexpr std::int64_t rows = 19, cols = 23;
    const std::pair three(histogram_tasks_options{.cpu_workers = 3}, table_layout::inclusive);
    const std::pair padded(histogram_tasks_options{.cpu_workers = 2, .bins_per_task = 5}, table_layout::padded);
    const auto bytes = random_pixels<std::uint8_t>(2 * rows * cols, 1);
    const auto words = random_pixels<std::uint16_t>(rows * cols, 2);
    auto numbers = random_pixels<std::int32_t>(rows * cols, 3);
    numbers[5] = -7;
    auto floats = random_pixels<float>(rows * cols, 4);
    floats[7] = std::numeric_limits<float>::quiet_NaN();
    floats[8] = -std::numeric_limits<float>::infinity();
    std::vector<std::uint16_t> table(256);
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = i % 5 == 0 ? binning::no_bin : static_cast<std::uint16_t>(i * 7 % 33);
    for (const auto& [options, layout] : {three, padded}) {
        check_run<std::uint8_t, std::uint32_t>(bytes, rows, cols, 2, binning::uniform(13, 3, 250.5), options, layout);
        check_run<std::uint8_t, std::uint16_t>(bytes, rows, cols, 1, binning::lookup(33, table), options, layout);
        check_run<std::uint8_t, std::uint32_t>(bytes, rows, cols, 1, binning::uniform(1, 0, 256), options, layout);
        check_run<std::uint16_t, std::uint32_t>(words, rows, cols, 1, binning::indices(300), options, layout);
        for (const out_of_range outside : {out_of_range::ignored, out_of_range::clamped}) {
            check_run<std::int32_t, std::uint32_t>(numbers, rows, cols, 1, binning::uniform(255, 0, 299, outside),
                                                   options, layout);
            check_run<float, std::uint32_t>(floats, rows, cols, 1, binning::uniform(256, 10, 290, outside), options,
                                            layout);
            check_run<float, std::uint16_t>(floats, rows, cols, 1, binning::uniform(40, 10, 290, outside), options,
                                            layout);
        }
    }
}

TEST(histogram_tasks, kept_bins_answer_boxes) {
    constexpr std::int64_t rows = 30, cols = 40;
    const auto pixels = random_pixels<std::uint8_t>(2 * rows * cols, 5);
    const image_view<const std::uint8_t> image(pixels.data(), rows, cols, 0, 1, 2);
    const binning bins = binning::uniform(21, 0, 256);
    const auto whole = integral_histogram<std::uint32_t>(image, bins);
    const std::vector<box> boxes{{0, 0, rows, cols}, {3, 4, 5, 6}, {29, 39, 1, 1}};
    histogram_tasks tasks({.cpu_workers = 2});
    for (const dtype entries : {dtype::u32, dtype::u16}) {
        const kept_histogram kept = tasks.keep({image}, bins, entries);
        EXPECT_EQ(kept.bins(), 21);
        EXPECT_GE(kept.groups().size(), 8u);
        for (const std::int64_t plane : {0, 1}) {
            std::vector<std::uint32_t> expected;
            for (const box& b : boxes) {
                const auto one = box_histogram(whole, b, plane);
                expected.insert(expected.end(), one.begin(), one.end());
            }
            EXPECT_EQ(kept.box_histograms(boxes, plane), (histogram_list{expected, {}}));
        }
        EXPECT_THROW(kept.box_histograms(boxes, 2), invalid_argument);
        EXPECT_THROW(kept.box_histograms(std::vector<box>{{0, 0, 31, 1}}), invalid_argument);
    }
}

/// A run of injected workers over a small image.
struct injected {
    static constexpr std::int64_t rows = 17, cols = 19;

    explicit injected(std::int64_t count) : bins(binning::uniform(count, 0, 256)) {}

    detail::bin_run_result run(std::span<const std::unique_ptr<bin_worker>> team, bool keep) {
        any_histogram_view tensor = output.view();
        if (keep) tensor.entries.data = nullptr;
        return detail::run_bins({{image}, &bins, {.threads = 1}, tensor}, 1, team);
    }

    binning bins;
    std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 6);
    image_view<const std::uint8_t> image{pixels.data(), rows, cols};
    checked_output<std::uint32_t> output{image, bins, table_layout::inclusive};

    /// The result of a run that kept its bins.
    std::optional<std::string> wrong(const detail::bin_run_result& done) const {
        std::vector<kept_histogram::group> groups;
        for (const auto& part : done.kept) {
            if (part == nullptr) return "a result is missing";
            groups.push_back({static_cast<std::int64_t>(groups.size()), part->device(), part->tensor()});
        }
        return output.wrong(groups);
    }
};

TEST(histogram_tasks, a_slow_worker_does_fewer_tasks) {
    constexpr int ratio = 3, count = 64;
    injected t(count);
    test::virtual_time time(ratio, count);
    workers team;
    team.push_back(
        std::make_unique<test::paced_worker>(detail::make_cpu_bin_worker(0), time, &test::virtual_time::fast_task));
    team.push_back(
        std::make_unique<test::paced_worker>(detail::make_cpu_bin_worker(1), time, &test::virtual_time::slow_task));
    const auto done = t.run(team, false);
    const auto wrong = t.output.wrong();
    EXPECT_FALSE(wrong) << *wrong;
    const auto &fast = done.report.workers[0], &slow = done.report.workers[1];
    EXPECT_EQ(fast.tasks + slow.tasks, count);
    // In equal shares the run would take 3 x 32 units of time; balanced it takes 48.
    EXPECT_NEAR(static_cast<double>(fast.tasks), ratio * count / (ratio + 1), 2);
    EXPECT_NEAR(static_cast<double>(slow.tasks), count / (ratio + 1), 2);
}

TEST(histogram_tasks, a_failing_worker_gives_its_tasks_back) {
    for (const bool keep : {false, true})
        for (const auto where : {failing_worker::at::begin, failing_worker::at::start, failing_worker::at::finish})
            for (const int after : {0, 2}) {
                injected t(16);
                workers team;
                auto bad_one = std::make_unique<failing_worker>(detail::make_cpu_bin_worker(0), where, after);
                auto good_one =
                    std::make_unique<test::waiting_worker>(detail::make_cpu_bin_worker(1), bad_one->failure());
                team.push_back(std::move(bad_one));
                team.push_back(std::move(good_one));
                const auto done = t.run(team, keep);
                const auto wrong = keep ? t.wrong(done) : t.output.wrong();
                EXPECT_FALSE(wrong) << *wrong;
                const auto &bad = done.report.workers[0], &good = done.report.workers[1];
                // What it kept is lost with it; what it wrote is there.
                EXPECT_EQ(bad.tasks, keep || where == failing_worker::at::begin ? 0 : after);
                EXPECT_EQ(good.tasks, 16 - bad.tasks);
                EXPECT_EQ(bad.failure.rfind("broken at ", 0), 0u) << bad.failure;
                EXPECT_EQ(good.failure, "");
            }
}

TEST(histogram_tasks, without_a_worker_left_the_run_fails_and_says_why) {
    injected t(16);
    for (const bool keep : {false, true}) {
        workers team;
        team.push_back(std::make_unique<failing_worker>(detail::make_cpu_bin_worker(0), failing_worker::at::begin));
        team.push_back(std::make_unique<failing_worker>(detail::make_cpu_bin_worker(1), failing_worker::at::start, 3));
        try {
            (void)t.run(team, keep);
            FAIL() << "nothing was thrown";
        } catch (const workers_failed& e) {
            EXPECT_STREQ(e.what(), "no worker is left: cpu:0 failed (broken at begin) cpu:1 failed (broken at start)");
        }
    }
}

/// What the tests above compare with finds a task that is lost, and one that two workers wrote.
TEST(histogram_tasks, broken_workers_are_rejected) {
    class lazy : public test::wrapped_worker {
      public:
        using wrapped_worker::wrapped_worker;
        void start(const detail::bin_task& task) override {
            if (task.number != 5) wrapped_worker::start(task);
        }
    };
    class misplacing : public test::wrapped_worker {
      public:
        using wrapped_worker::wrapped_worker;
        void start(const detail::bin_task& task) override {
            wrapped_worker::start({task.number, task.first_bin == 3 ? 4 : task.first_bin, task.bins});
        }
    };
    {
        injected t(8);
        workers team;
        team.push_back(std::make_unique<lazy>(detail::make_cpu_bin_worker(0)));
        (void)t.run(team, false);
        EXPECT_TRUE(t.output.wrong());
    }
    {
        injected t(8);
        workers team;
        team.push_back(std::make_unique<misplacing>(detail::make_cpu_bin_worker(0)));
        (void)t.run(team, false);
        EXPECT_TRUE(t.output.wrong());
        EXPECT_TRUE(t.wrong(t.run(team, true)));
    }
}

TEST(histogram_tasks, add_weights) {
    const test::weighted_video v(37, 53, 1);
    for (const int count : {1, 3}) {
        histogram_tasks tasks({.cpu_workers = count});
        const auto wrong = test::first_difference_of_tasks(v, binning::uniform(13, 10, 240), tasks);
        EXPECT_FALSE(wrong) << *wrong;
    }
    // Pixels that become bin numbers first, and any weights: the same bits as of one call, in either layout.
    std::mt19937 engine(3);
    std::uniform_real_distribution<float> any(-1, 1);
    std::vector<float> pixels(37 * 53), weights(pixels.size());
    for (float& p : pixels) p = any(engine);
    for (float& w : weights) w = any(engine);
    const image_view<const float> image(pixels.data(), 37, 53), of_pixels(weights.data(), 37, 53);
    const binning bins = binning::uniform(9, -1, 0.9);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
        const auto expected = integral_histogram<float>({image, of_pixels}, bins, layout);
        histogram_table<float> found(9, 37, 53, layout);
        (void)histogram_tasks({.cpu_workers = 2}).run({image, of_pixels}, bins, {found});
        for (std::int64_t b = 0; b < 9; ++b)
            for (std::int64_t r = 0; r < found.view().entries().rows(); ++r)
                ASSERT_EQ(std::memcmp(found.view().bin(b).entries().row(r), expected.view().bin(b).entries().row(r),
                                      static_cast<std::size_t>(found.view().entries().cols()) * 4),
                          0)
                    << "bin " << b << ", row " << r;
    }
}

/// Weights that are mixed up between tasks: what the test above compares with finds it.
TEST(histogram_tasks, mistaken_weights_are_rejected) {
    const test::weighted_video v(20, 30, 1), other(20, 30, 1, 9);
    const binning bins = binning::uniform(4, 0, 256);
    histogram_table<float> tensor(4, 20, 30);
    histogram_tasks tasks({.cpu_workers = 2});
    (void)tasks.run({v.frame(0), other.weights_of(0)}, bins, {tensor});
    EXPECT_TRUE(test::wrong_sum(tensor, v, 0, bins, {0, 0, 20, 30}, table_layout::inclusive));
}

TEST(histogram_tasks, mistakes_are_named) {
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const error& e) {
            return e.what();
        }
        return "nothing was thrown";
    };
    const auto expect = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    expect(message([] { histogram_tasks({.cpu_workers = -1}); }), "cpu_workers: is -1");
    expect(message([] { histogram_tasks({.bins_per_task = -2}); }), "bins_per_task: is -2");
    expect(message([] { histogram_tasks({.devices = {0}, .cpu_workers = 1}); }), "devices are given");
    expect(message([] { histogram_tasks({.devices = {1000}}); }), "device");
    const auto pixels = random_pixels<std::uint8_t>(300 * 300, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 300, 300);
    const binning bins = binning::uniform(2, 0, 256);
    histogram_tasks tasks({.cpu_workers = 2});
    EXPECT_EQ(tasks.workers(), (std::vector<std::string>{"cpu:0", "cpu:1"}));
    expect(message([&] { (void)tasks.keep({image}, bins, dtype::u16); }), "65535");
    expect(message([&] { (void)tasks.keep({image}, bins, dtype::f32); }), "32f");
    expect(message([&] { (void)tasks.keep({}, bins); }), "image");
    expect(message([&] { (void)tasks.run({image}, bins, {}); }), "histograms");
    const std::vector<float> weights(300 * 300, 1.0F);
    const image_view<const float> of_pixels(weights.data(), 300, 300), fewer(weights.data(), 299, 300);
    histogram_table<std::uint32_t> counts(2, 300, 300);
    expect(message([&] { (void)tasks.run({image, of_pixels}, bins, {counts}); }), "sums of weights");
    expect(message([&] { (void)tasks.keep({image, fewer}, bins, dtype::f32); }), "weights: extents are");
    expect(message([&] {
               (void)tasks.keep({image, {nullptr, of_pixels.shape()}}, bins, dtype::f32);
           }),
           "weights: data is null");
    histogram_table<std::uint32_t> wrong(3, 300, 300);
    expect(message([&] { (void)tasks.run({image}, bins, {wrong}); }), "bins is 3");
    const const_any_view hopeless{
        pixels.data(), {dtype::u8, 1, std::int64_t{1} << 31, std::int64_t{1} << 30, 1, std::int64_t{1} << 30, 0}};
    expect(message([&] { (void)tasks.keep({hopeless}, binning::uniform(1024, 0, 256)); }), "histograms");

    histogram_tasks misnamed({.cpu_workers = 1, .histogram = {.algorithm = "no-such"}});
    EXPECT_THROW((void)misnamed.keep({image}, bins), unsupported);
    EXPECT_THROW((void)misnamed.run({image}, bins, {counts}), unsupported);
    histogram_tasks elsewhere({.cpu_workers = 1, .histogram = {.algorithm = "wf-tis"}});
    EXPECT_THROW((void)elsewhere.keep({image}, bins), unsupported);
    histogram_tasks misguided({.cpu_workers = 1, .histogram = {.parameters = "x=1"}});
    EXPECT_THROW((void)misguided.run({image}, bins, {counts}), invalid_argument);
    EXPECT_THROW((void)misguided.keep({image, of_pixels}, bins, dtype::f32), invalid_argument);

    kept_histogram kept = tasks.keep({image}, bins);
    const kept_histogram taken = std::move(kept);
    expect(message([&] { (void)kept.box_histograms({}); }), "histogram: was moved from");
    EXPECT_TRUE(taken.box_histograms({}).empty());
    const histogram_tasks other = std::move(tasks);
    expect(message([&] { (void)tasks.keep({image}, bins); }), "histogram_tasks: was moved from");
    expect(message([&] { (void)tasks.run({image}, bins, {counts}); }), "was moved from");
}

}  // namespace
}  // namespace boxsum
