#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace boxsum {
namespace {

TEST(memory_pool, reuses_a_freed_block) {
    memory_pool pool(std::size_t{64} << 20);
    void* first = nullptr;
    {
        const host_buffer a = pool.acquire(std::size_t{3} << 20);
        first = a.data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (std::size_t{2} << 20), 0u);
    }
    EXPECT_EQ(pool.cached_bytes(), std::size_t{4} << 20);  // whole huge pages
    const host_buffer b = pool.acquire((std::size_t{3} << 20) + 1);
    EXPECT_EQ(b.data(), first);
    EXPECT_EQ(pool.cached_bytes(), 0u);
}

TEST(memory_pool, keeps_no_more_than_its_limit) {
    memory_pool pool(1000);
    { const host_buffer a = pool.acquire(900); }
    EXPECT_GT(pool.cached_bytes(), 0u);
    { const host_buffer b = pool.acquire(5000); }
    EXPECT_LE(pool.cached_bytes(), 1000u);
    pool.trim();
    EXPECT_EQ(pool.cached_bytes(), 0u);
}

TEST(memory_pool, impossible_sizes_are_out_of_memory) {
    memory_pool pool(0);
    EXPECT_THROW(pool.acquire(std::numeric_limits<std::size_t>::max()), out_of_memory);
    EXPECT_THROW(pool.acquire(std::size_t{1} << 62), out_of_memory);
}

TEST(memory_pool, serves_many_threads) {
    memory_pool pool(std::size_t{1} << 20);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&pool, t] {
            for (int i = 0; i < 500; ++i) {
                const std::size_t size = 64 + static_cast<std::size_t>((i * 37 + t * 11) % 4000);
                const host_buffer buffer = pool.acquire(size);
                std::memset(buffer.data(), t, size);
                const auto* bytes = static_cast<const unsigned char*>(buffer.data());
                for (std::size_t k = 0; k < size; ++k) ASSERT_EQ(bytes[k], t);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST(table, has_aligned_rows_and_knows_its_layout) {
    const table<std::uint32_t> t(7, 13, table_layout::padded, 3, 2);
    const auto view = t.view();
    EXPECT_EQ(view.rows(), 8);
    EXPECT_EQ(view.cols(), 14);
    EXPECT_EQ(view.row_stride(), 192);  // 14 * 3 * 4 = 168 bytes, rounded up
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.row(5, 1)) % 64, 0u);
    EXPECT_EQ(t.layout(), table_layout::padded);
}

TEST(table, refuses_empty_and_hopeless_extents) {
    EXPECT_THROW(table<float>(0, 5), invalid_argument);
    EXPECT_THROW(table<float>(5, 5, table_layout::inclusive, 5), invalid_argument);
    EXPECT_THROW(table<double>(std::int64_t{1} << 40, std::int64_t{1} << 40), invalid_argument);
    EXPECT_THROW(table<double>(std::int64_t{1} << 29, std::int64_t{1} << 29), out_of_memory);
    try {
        const table<std::uint8_t> nothing(2, INT64_MAX);
        ADD_FAILURE();
    } catch (const invalid_argument& e) {
        EXPECT_STREQ(e.what(), "table: 1 x 2 x 9223372036854775807 x 1 elements do not fit a 64-bit address space");
    }
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded}) {
        EXPECT_THROW(table<std::uint8_t>(INT64_MAX, 1, layout), invalid_argument);
        EXPECT_THROW(table<std::uint8_t>(INT64_MAX, INT64_MAX, layout), invalid_argument);
        try {
            const table<float> nothing(5, 0, layout);
            ADD_FAILURE() << name_of(layout);
        } catch (const invalid_argument& e) {
            EXPECT_STREQ(e.what(), "image_cols: is 0, must be at least 1");
        }
    }
}

}  // namespace
}  // namespace boxsum
