#include <boxsum/histogram_tasks.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace {

/// While this is set, the first allocation of every thread but the main one fails.
std::atomic<bool> new_threads_starve{false};
/// Allocations of more bytes than this fail.
std::atomic<std::size_t> most_bytes{SIZE_MAX};
const std::thread::id main_thread = std::this_thread::get_id();
thread_local bool has_starved = false;

void* allocate(std::size_t bytes) {
    if (new_threads_starve && !has_starved && std::this_thread::get_id() != main_thread) {
        has_starved = true;
        throw std::bad_alloc();
    }
    if (bytes > most_bytes) throw std::bad_alloc();
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
        (void)tasks.keep(image, bins);
    } catch (const workers_failed& e) {
        text = e.what();
    }
    new_threads_starve = false;
    EXPECT_EQ(text, "no worker is left: cpu:0 failed (std::bad_alloc) cpu:1 failed (std::bad_alloc)");
    const box all{0, 0, 64, 64};
    EXPECT_EQ(tasks.keep(image, bins).box_histograms({&all, 1})[0], 64u * 64u);
}

}  // namespace
}  // namespace boxsum
