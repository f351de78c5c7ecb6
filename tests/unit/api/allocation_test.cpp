// What a call takes of the heap: nothing, unless the documentation says so. malloc() and its like are this program's
// own here, and operator new calls them.

#include <boxsum/boxsum.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT: glibc's names
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT
}

namespace {
std::atomic<std::int64_t> taken{0};
}

extern "C" void* malloc(std::size_t bytes) noexcept {
    ++taken;
    return __libc_malloc(bytes);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    ++taken;
    return __libc_memalign(alignment, bytes);
}

namespace boxsum {
namespace {

/// Heap blocks that the second call takes; the first one may find out about the machine.
template <typename F>
std::int64_t blocks_of(F&& call) {
    call();
    const std::int64_t before = taken;
    call();
    return taken - before;
}

TEST(allocation, is_counted) {
    memory_pool keeps_nothing(0);
    EXPECT_EQ(blocks_of([&] { keeps_nothing.acquire(100); }), 1);
    EXPECT_EQ(blocks_of([] { const std::vector<int> some(100); }), 1);
}

template <typename T, typename Entry>
void expect_none(std::int64_t rows, std::int64_t cols) {
    const std::vector<T> pixels(static_cast<std::size_t>(rows * cols), T{1});
    const image_view<const T> image(pixels.data(), rows, cols);
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        table<Entry> sums(rows, cols, layout);
        EXPECT_EQ(blocks_of([&] { sat({image}, {sums}); }), 0) << rows << " " << name_of(layout);
        EXPECT_EQ(blocks_of([&] { box_sum(sums, {.rows = 3, .cols = 5}); }), 0);
        EXPECT_EQ(blocks_of([&] { box_mean(sums, {.row = 1, .rows = 3, .cols = 5}); }), 0);
    }
}

TEST(allocation, tables_and_boxes_take_nothing) {
    expect_none<std::uint8_t, std::uint32_t>(16, 16);
    expect_none<std::uint8_t, std::uint64_t>(64, 33);
    expect_none<std::uint16_t, std::uint64_t>(200, 300);
    expect_none<float, float>(100, 100);
    expect_none<double, double>(16, 16);
}

TEST(allocation, many_boxes_take_nothing) {
    const std::vector<std::uint8_t> pixels(64 * 64, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 64, 64);
    table<std::uint32_t> sums(64, 64), squares(64, 64);
    EXPECT_EQ(blocks_of([&] { sat({image}, {sums, squares}); }), 0);
    const std::vector<box> boxes(100, {.row = 2, .col = 3, .rows = 7, .cols = 9});
    std::vector<scalar> as_scalars(100);
    std::vector<double> as_doubles(100);
    EXPECT_EQ(blocks_of([&] { box_sums(sums, boxes, as_scalars); }), 0);
    EXPECT_EQ(blocks_of([&] { box_means(sums, boxes, as_doubles); }), 0);
    EXPECT_EQ(blocks_of([&] { box_variances({sums, squares}, boxes, as_doubles); }), 0);
    EXPECT_EQ(as_scalars[99].u, 63u);
}

/// Working memory of filters comes from the pool, which has it from the last call.
TEST(allocation, filters_and_windows_take_nothing) {
    const std::vector<std::uint8_t> bytes(64 * 64, 1);
    const std::vector<float> floats(64 * 64, 1.0F);
    std::vector<std::uint8_t> out(64 * 64);
    std::vector<float> real(64 * 64), spread(64 * 64);
    const image_view<const std::uint8_t> image(bytes.data(), 64, 64);
    const image_view<const float> reals(floats.data(), 64, 64);
    const image_view<std::uint8_t> result(out.data(), 64, 64);
    const image_view<float> mean(real.data(), 64, 64), deviation(spread.data(), 64, 64);
    const filter_options options{.window = 7, .border = border_mode::reflect, .threads = 1};
    EXPECT_EQ(blocks_of([&] { box_filter({image}, {result}, options); }), 0);
    EXPECT_EQ(blocks_of([&] { box_filter({reals}, {mean}, options); }), 0);
    EXPECT_EQ(blocks_of([&] { local_statistics({image}, {.mean = mean, .deviation = deviation}, options); }), 0);
    EXPECT_EQ(blocks_of([&] { adaptive_threshold({image}, {result}, {}, options); }), 0);
    EXPECT_EQ(blocks_of([&] { local_contrast({reals}, {mean}, {}, options); }), 0);
    const table<std::uint32_t> sums = sat<std::uint32_t>(image);
    EXPECT_EQ(blocks_of([&] { window_means(sums, mean, {.window = 7, .threads = 1}); }), 0);
}

TEST(allocation, histograms_take_nothing) {
    const std::vector<std::uint8_t> bytes(64 * 64, 1);
    const image_view<const std::uint8_t> image(bytes.data(), 64, 64);
    const binning bins = binning::uniform(16, 0, 256);
    histogram_table<std::uint32_t> histograms(16, 64, 64);
    EXPECT_EQ(blocks_of([&] { integral_histogram({image}, bins, {histograms}, {.threads = 1}); }), 0);
}

/// The pool has the memory of the last table for the next one.
TEST(allocation, a_table_of_its_own_takes_no_block_after_the_first) {
    const std::vector<std::uint8_t> pixels(64 * 64, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 64, 64);
    EXPECT_EQ(blocks_of([&] { (void)sat<std::uint32_t>(image); }), 0);
}

}  // namespace
}  // namespace boxsum
