#include "histogram/answers.hpp"
#include "histogram/host_tensors.hpp"
#include "histogram/pipelines.hpp"
#include "histogram/rows.hpp"
#include "measure/frame_answers.hpp"
#include "measure/pipeline_runs.hpp"
#include "measure/plain_histogram.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

namespace boxsum::bench {
namespace {

histogram_bench_options short_run() {
    histogram_bench_options options;
    options.rounds = 2;
    options.round_ms = 0.1;
    options.frames = 3;
    options.threads = 2;
    return options;
}

TEST(plain_histogram, counts_pixels_above_and_to_the_left) {
    const std::vector<std::uint8_t> pixels{0, 64, 255, 128, 0, 63};
    histogram_table<std::uint32_t> tensor(4, 2, 3);
    const image_view<const std::uint8_t> image(pixels.data(), 2, 3);
    plain_histogram<std::uint32_t>(image, 4, tensor.view().entries());
    for (std::int64_t b = 0; b < 4; ++b)
        for (std::int64_t r = 0; r < 2; ++r)
            for (std::int64_t c = 0; c < 3; ++c) {
                std::uint32_t count = 0;
                for (std::int64_t y = 0; y <= r; ++y)
                    for (std::int64_t x = 0; x <= c; ++x) count += image(y, x) / 64 == b ? 1 : 0;
                EXPECT_EQ(tensor.view().entries()(b, r, c), count) << b << " " << r << " " << c;
            }
    histogram_table<std::uint32_t> other(4, 2, 3);
    plain_histogram<std::uint32_t>(image, 4, other.view().entries());
    EXPECT_TRUE(
        same_tensor<std::uint32_t>(std::as_const(tensor).view().entries(), std::as_const(other).view().entries()));
    ++other.view().entries()(3, 1, 2);
    EXPECT_FALSE(
        same_tensor<std::uint32_t>(std::as_const(tensor).view().entries(), std::as_const(other).view().entries()));
}

TEST(measure_on_host, every_algorithm_is_right_and_timed) {
    const std::vector<histogram_row> rows = measure_on_host({33, 40, 8}, short_run());
    ASSERT_EQ(rows.size(), 4u);
    for (const histogram_row& r : rows) {
        EXPECT_EQ(r.check, "equal") << r.algorithm;
        ASSERT_TRUE(r.us) << r.algorithm;
        EXPECT_LE(*r.low_us, *r.us);
        EXPECT_LE(*r.us, *r.high_us);
        EXPECT_FALSE(r.measured_bins);
    }
    EXPECT_EQ(rows[0].algorithm, "sequential");
    EXPECT_EQ(rows[0].threads, 1);
    EXPECT_EQ(rows[1].algorithm, "sequential");  // bins dealt to threads
    EXPECT_EQ(rows[1].threads, 2);
    EXPECT_EQ(rows[3].algorithm, "cpu");
    EXPECT_EQ(rows[3].threads, 2);
}

TEST(measure_on_host, threads_have_bins_to_compute) {
    EXPECT_EQ(measured_bins({720, 1280, 128}, 16), 128);  // small enough
    EXPECT_EQ(measured_bins({8192, 8192, 128}, 1), 2);    // 512 MiB
    EXPECT_EQ(measured_bins({8192, 8192, 128}, 16), 16);  // figure 17: never fewer than threads
    EXPECT_EQ(measured_bins({8192, 8192, 128}, 12), 16);
    EXPECT_EQ(measured_bins({8192, 8192, 33}, 4), 33);  // a part must be a whole number of times in it
    EXPECT_EQ(cpu_degrees(1), (std::vector<int>{1}));
    EXPECT_EQ(cpu_degrees(12), (std::vector<int>{1, 8, 12}));
    EXPECT_EQ(cpu_degrees(32), (std::vector<int>{1, 8, 16, 32}));
}

TEST(measure_stream, tensors_of_streams_are_right) {
    for (const histogram_row& r : measure_stream({30, 50, 16, {1, 2}, {"cpu"}}, short_run(), {})) {
        EXPECT_EQ(r.check, "equal") << r.buffers << r.note;
        EXPECT_EQ(r.samples, 3);
        EXPECT_TRUE(r.us && r.overlap && r.compute_us);
        EXPECT_FALSE(r.download_us) << "there is no link on the CPU";
    }
}

TEST(measure_stream, what_cannot_run_says_so_and_the_others_go_on) {
    const std::vector<histogram_row> rows = measure_stream({30, 50, 16, {2}, {"no-such", "cpu"}}, short_run(), {});
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_FALSE(rows[0].us);
    EXPECT_NE((rows[0].check + rows[0].note).find("no-such"), std::string::npos) << rows[0].check << rows[0].note;
    EXPECT_TRUE(rows[1].us);
}

TEST(measure_answers, those_of_streams_are_right) {
    const std::vector<histogram_row> rows = measure_answers({60, 80, 16, {1, 3}}, short_run(), {});
    ASSERT_EQ(rows.size(), 8u);  // boxes and a search, copied and in place
    for (const histogram_row& r : rows) {
        EXPECT_EQ(r.check, "equal") << r.parameters << r.note;
        EXPECT_EQ(r.samples, 3);
        EXPECT_TRUE(r.us && r.compute_us && r.query_us && r.read_us);
    }
    EXPECT_EQ(rows[0].parameters, "boxes");
    EXPECT_EQ(rows[7].parameters, "search, in place");
}

TEST(measure_answers, wrong_ones_are_found) {
    constexpr std::int64_t rows = 50, cols = 60, bins = 8;
    for (const std::string& name : answer_names()) {
        frame_run run{rows, cols, bins, 1};
        run.request = request_for_answers(name, rows, cols, bins);
        std::vector<std::string> found;
        run.look = [&](const frame_result& result) {
            found.push_back(check_answers(run.request, bins, result));
            frame_result wrong = result;
            if (name == "boxes")
                ++wrong.histograms.counts[777 * bins + 3];
            else
                wrong.matches[0].where.col += 4;
            found.push_back(check_answers(run.request, bins, wrong));
        };
        (void)run_frames(run);
        ASSERT_EQ(found.size(), 2u);
        EXPECT_EQ(found[0], "equal");
        EXPECT_EQ(found[1], name == "boxes" ? "wrong: bin 3 of box 777" : "wrong: the best window is another one");
    }
}

TEST(measure_large, bins_as_tasks_are_right_wherever_they_end) {
    const large_case c{"small", 60, 70, 12};
    result_memory memory({c}, false);
    const std::vector<histogram_row> rows = measure_large(c, short_run(), {}, memory);
    ASSERT_EQ(rows.size(), 4u);
    for (const histogram_row& r : rows) {
        EXPECT_EQ(r.check, "equal") << r.what << r.note;
        EXPECT_TRUE(r.us && r.pinning_us);
        EXPECT_EQ(r.image, "small");
        EXPECT_EQ(r.what, &r - rows.data() < 2 ? "tasks-kept" : "tasks-host");
        EXPECT_GE(*r.tasks, 4);
    }
}

TEST(measure_large, what_is_too_large_for_a_cpu_is_not_tried) {
    const large_case c{"64MB", 8192, 8192, 128};
    result_memory memory({c}, false);
    for (const histogram_row& r : measure_large(c, short_run(), {}, memory)) {
        EXPECT_FALSE(r.us || r.wrong());
        EXPECT_NE(r.note.find("more than 2.1 GB"), std::string::npos) << r.note;
    }
}

TEST(result_memory, grows_to_what_is_needed_and_refuses_what_there_is_not) {
    const large_case small{"small", 10, 20, 3}, larger{"larger", 20, 20, 3}, absurd{"absurd", 1 << 20, 1 << 20, 8};
    result_memory memory({small, larger, absurd}, false);
    memory.view(small).entries()(2, 9, 19) = 7;
    EXPECT_EQ(memory.view(small).entries()(2, 9, 19), 7u) << "the same memory again";
    memory.view(larger).entries()(2, 19, 19) = 8;
    EXPECT_THROW((void)memory.view(absurd), out_of_memory);
    memory.view(small).entries()(2, 9, 19) = 9;
    EXPECT_EQ(memory.view(small).entries()(2, 9, 19), 9u);
}

TEST(available_host_bytes, is_that_of_a_machine) {
    EXPECT_GT(available_host_bytes(), std::int64_t{1} << 20);
    EXPECT_LT(available_host_bytes(), std::int64_t{1} << 50);
}

template <typename Exception>
histogram_row failed_with(const Exception& e) {
    histogram_row row;
    row.us = 1;
    try {
        throw e;
    } catch (...) {
        failed(row);
    }
    return row;
}

TEST(failed, missing_memory_is_a_note_and_anything_else_is_wrong) {
    EXPECT_EQ(failed_with(out_of_memory("no room")).note, "no room");
    EXPECT_EQ(failed_with(unsupported("no such device")).note, "no such device");
    EXPECT_FALSE(failed_with(std::bad_alloc()).wrong());
    EXPECT_TRUE(failed_with(std::runtime_error("broken")).wrong());
    EXPECT_TRUE(failed_with(7).wrong());
    EXPECT_FALSE(failed_with(7).us);
}

}  // namespace
}  // namespace boxsum::bench
