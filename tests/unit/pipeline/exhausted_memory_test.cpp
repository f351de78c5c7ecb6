#include <boxsum/filters.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_tasks.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

/// While this is set, the first allocation of every thread but the main one fails.
std::atomic<bool> new_threads_starve{false};
/// Allocations of the main thread until one fails; negative: none does.
int until_failure = -1;
const std::thread::id main_thread = std::this_thread::get_id();
thread_local bool has_starved = false;

void* allocate(std::size_t bytes) {
    if (new_threads_starve && !has_starved && std::this_thread::get_id() != main_thread) {
        has_starved = true;
        throw std::bad_alloc();
    }
    if (until_failure >= 0 && std::this_thread::get_id() == main_thread && until_failure-- == 0) throw std::bad_alloc();
    if (void* data = std::malloc(bytes == 0 ? 1 : bytes)) return data;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return allocate(bytes);
}
void operator delete(void* data) noexcept {
    std::free(data);
}
void operator delete(void* data, std::size_t) noexcept {
    std::free(data);
}

namespace boxsum {
namespace {

/// A worker without memory is one that failed, not the end of the process.
TEST(exhausted_memory, of_all_workers_is_reported_by_the_run) {
    const std::vector<std::uint8_t> pixels(64 * 64, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 64, 64);
    const binning bins = binning::uniform(8, 0, 256);
    histogram_tasks tasks({.cpu_workers = 2});
    new_threads_starve = true;
    std::string text;
    try {
        (void)tasks.keep({image}, bins);
    } catch (const workers_failed& e) {
        text = e.what();
    }
    new_threads_starve = false;
    EXPECT_EQ(text, "no worker is left: cpu:0 failed (std::bad_alloc) cpu:1 failed (std::bad_alloc)");
    const box all{0, 0, 64, 64};
    EXPECT_EQ(tasks.keep({image}, bins).box_histograms({&all, 1}).counts[0], 64u * 64u);
}

/// Calls `work` with each of its allocations failing in turn, until all succeed. What it throws is the library's.
template <typename F>
void expect_own_errors(const char* name, F&& work) {
    work();  // what is made once only
    for (int i = 0; i < 1000; ++i) {
        until_failure = i;
        try {
            work();
        } catch (const error&) {
        } catch (const std::exception& e) {
            until_failure = -1;
            ADD_FAILURE() << name << ": allocation " << i << ": " << e.what();
            return;
        }
        if (until_failure >= 0) {  // it had fewer
            until_failure = -1;
            return;
        }
    }
    ADD_FAILURE() << name << " never succeeds";
}

TEST(exhausted_memory, is_an_error_of_the_library) {
    const std::vector<std::uint8_t> pixels(64 * 64, 1), radii(64 * 64, 2);
    std::vector<float> floats(64 * 64, 1), out(64 * 64);
    floats[7] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::uint8_t> bits(64 * 64);
    const image_view<const std::uint8_t> image(pixels.data(), 64, 64), radius(radii.data(), 64, 64);
    const image_view<const float> real(floats.data(), 64, 64);
    const image_view<float> result(out.data(), 64, 64);
    table<std::uint32_t> sums(64, 64);
    const binning bins = binning::uniform(8, 0, 256);
    const auto h = integral_histogram<std::uint32_t>(image, bins);
    histogram_table<std::uint32_t> tensor(8, 64, 64);
    const std::vector<double> target(8, 1);
    const window_grid grid{.rows = 3, .cols = 3};
    std::vector<std::uint32_t> windows(static_cast<std::size_t>(window_count(grid, 64, 64)) * 8);
    histogram_tasks tasks({.cpu_workers = 2});
    const kept_histogram kept = tasks.keep({image}, bins);
    const box all{0, 0, 64, 64};

    expect_own_errors("sat", [&] { sat(image, any_view(sums.view()), {.threads = 2}); });
    expect_own_errors("box_filter", [&] { box_filter({real}, {result}, {.threads = 2}); });
    expect_own_errors("local_statistics", [&] { local_statistics({real}, {.variance = result}, {.threads = 1}); });
    expect_own_errors("local_contrast", [&] { local_contrast({image}, {result}, {}, {.threads = 1}); });
    expect_own_errors("adaptive_threshold", [&] {
        adaptive_threshold({real}, {image_view<std::uint8_t>(bits.data(), 64, 64)}, {.method = threshold_method::wolf},
                           {.threads = 1});
    });
    expect_own_errors("variable_box_filter", [&] { variable_box_filter({real, radius}, {result}, {.threads = 1}); });
    expect_own_errors("integral_histogram", [&] { integral_histogram({image}, bins, {tensor}); });
    expect_own_errors("window_histograms", [&] { window_histograms<std::uint32_t>(h, grid, windows); });
    expect_own_errors("best_windows", [&] { (void)best_windows(h, {&grid, 1}, target, histogram_distance::l1, 5); });
    expect_own_errors("histogram_tasks::run", [&] { (void)tasks.run({image}, bins, {tensor}); });
    expect_own_errors("histogram_tasks::keep", [&] { (void)tasks.keep({image}, bins); });
    expect_own_errors("kept_histogram::box_histograms", [&] { (void)kept.box_histograms({&all, 1}); });
    EXPECT_EQ(kept.box_histograms({&all, 1}).counts[0], 64u * 64u);
}

}  // namespace
}  // namespace boxsum
