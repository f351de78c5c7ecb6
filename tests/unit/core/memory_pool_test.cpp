#include "core/control_group.hpp"
#include "core/memory_limit.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/table.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace boxsum {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(memory_pool, reuses_a_freed_block) {
    memory_pool pool(64 * mib);
    void* first = nullptr;
    {
        const host_buffer a = pool.acquire(3 * mib);
        first = a.data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 * mib), 0u);
        EXPECT_EQ(pool.usage().used_bytes, 4 * mib);  // whole huge pages
        EXPECT_EQ(pool.usage().cached_bytes, 0u);
    }
    EXPECT_EQ(pool.usage().used_bytes, 0u);
    EXPECT_EQ(pool.usage().cached_bytes, 4 * mib);
    EXPECT_EQ(pool.usage().cached_blocks, 1u);
    const host_buffer b = pool.acquire(3 * mib + 1);
    EXPECT_EQ(b.data(), first);
    EXPECT_EQ(pool.usage().cached_bytes, 0u);
    EXPECT_EQ(pool.usage().reused, 1u);
    EXPECT_EQ(pool.usage().fresh, 1u);
}

/// Every size is served by a block that holds it, is aligned, and is at most an eighth larger or within one unit.
TEST(memory_pool, blocks_fit_their_requests) {
    memory_pool pool(1 << 30);
    for (std::size_t power = 0; power < 24; ++power)
        for (std::size_t part = 0; part < 16; ++part)
            for (const std::size_t off : {0U, 1U, 2U}) {
                const std::size_t bytes = (std::size_t{1} << power) * (16 + part) / 16 + off - 1;
                if (bytes == 0) continue;
                const host_buffer a = pool.acquire(bytes);
                std::memset(a.data(), 1, bytes);
                const std::size_t capacity = pool.usage().used_bytes;
                const std::size_t unit = bytes < 65536 ? 64 : bytes < 2 * mib ? 4096 : 2 * mib;
                ASSERT_GE(capacity, bytes);
                ASSERT_LE(capacity - bytes, std::max(unit, bytes / 8)) << bytes;
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % unit, 0u) << bytes;
            }
    // Whoever comes back in any order finds the own size again.
    const std::uint64_t fresh = pool.usage().fresh;
    std::vector<host_buffer> all;
    for (std::size_t bytes : {100u, 5000u, 70000u, 3000000u, 70000u, 5000u, 100u}) all.push_back(pool.acquire(bytes));
    EXPECT_LE(pool.usage().fresh, fresh + 3);
}

TEST(memory_pool, keeps_no_more_than_its_limit) {
    memory_pool pool(1000);
    { const host_buffer a = pool.acquire(900); }
    EXPECT_EQ(pool.usage().cached_blocks, 1u);
    { const host_buffer b = pool.acquire(5000); }  // above the limit by itself: not kept, and nothing gives way to it
    EXPECT_EQ(pool.usage().cached_blocks, 1u);
    EXPECT_LE(pool.usage().cached_bytes, 1000u);
    EXPECT_EQ(pool.usage().evicted, 0u);
    pool.set_limit(100);
    EXPECT_EQ(pool.usage().cached_bytes, 0u);
    EXPECT_EQ(pool.usage().evicted, 1u);
    pool.set_limit(1000);
    { const host_buffer a = pool.acquire(900); }
    EXPECT_GT(pool.usage().cached_bytes, 0u);
    pool.trim();
    EXPECT_EQ(pool.usage().cached_bytes, 0u);
}

/// A full cache of sizes that nobody asks for any more does not keep new ones out: the oldest go.
TEST(memory_pool, stale_sizes_give_way_by_age) {
    memory_pool pool(32 * mib);
    {
        std::vector<host_buffer> stale;
        for (int i = 0; i < 8; ++i) stale.push_back(pool.acquire(4 * mib));
    }
    EXPECT_EQ(pool.usage().cached_bytes, 32 * mib);
    { const host_buffer young = pool.acquire(6 * mib); }
    EXPECT_EQ(pool.usage().cached_bytes, 30 * mib);
    EXPECT_EQ(pool.usage().evicted, 2u);
    const std::uint64_t fresh = pool.usage().fresh;
    for (int i = 0; i < 10; ++i) {
        const host_buffer wanted = pool.acquire(6 * mib);
        const host_buffer other = pool.acquire(10 * mib);
    }
    EXPECT_EQ(pool.usage().fresh, fresh + 1);  // the first of 10 MiB
    EXPECT_LE(pool.usage().cached_bytes, 32 * mib);

    // The order is that of giving back, not of sizes: the youngest of the stale ones are still there.
    pool.trim();
    host_buffer a = pool.acquire(8 * mib), b = pool.acquire(10 * mib), c = pool.acquire(12 * mib);
    void* const of_b = b.data();
    a = {};
    b = {};
    c = {};
    { const host_buffer d = pool.acquire(4 * mib); }
    EXPECT_EQ(pool.acquire(10 * mib).data(), of_b);
    EXPECT_EQ(pool.usage().cached_bytes, 26 * mib);  // 8 MiB went
}

std::string status_line(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
    return "0";
}
std::size_t kib_of(const std::string& name) {
    return std::stoull(status_line(name));
}

/// A folder of files as the kernel writes them for control groups.
class control_groups {
  public:
    explicit control_groups(const std::string& name)
        : folder_(std::filesystem::temp_directory_path() / ("boxsum-" + name + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~control_groups() { std::filesystem::remove_all(folder_); }
    void write(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((folder_ / path).parent_path());
        std::ofstream(folder_ / path) << text << "\n";
    }
    control_group_files files() const { return {(folder_ / "cgroup").string(), folder_.string()}; }

  private:
    std::filesystem::path folder_;
};

TEST(memory_limit, is_the_least_of_all_groups_around_the_process) {
    const std::size_t machine = memory_of_process({"/no/such/file", "/no/such/folder"});
    EXPECT_GT(machine, 64 * mib);
    {
        control_groups v2("v2");
        v2.write("cgroup", "0::/web/worker/");
        EXPECT_EQ(memory_of_process(v2.files()), machine);
        v2.write("web/worker/memory.max", "max");
        EXPECT_EQ(memory_of_process(v2.files()), machine);
        v2.write("web/memory.max", "41943040");
        EXPECT_EQ(memory_of_process(v2.files()), 41943040u);
        v2.write("web/worker/memory.max", "31457280");
        EXPECT_EQ(memory_of_process(v2.files()), 31457280u);
        v2.write("web/worker/memory.high", "20971520");
        EXPECT_EQ(memory_of_process(v2.files()), 20971520u);
        v2.write("memory.max", "10485760");
        EXPECT_EQ(memory_of_process(v2.files()), 10485760u);
    }
    {
        control_groups v1("v1");
        v1.write("cgroup", "5:cpu,cpuacct:/a\n4:devices,memory:/docker/0123\n1:name=systemd:/b");
        v1.write("memory/memory.limit_in_bytes", "9223372036854771712");
        EXPECT_EQ(memory_of_process(v1.files()), machine);
        v1.write("memory/docker/0123/memory.limit_in_bytes", "419430400");
        EXPECT_EQ(memory_of_process(v1.files()), 419430400u);
        v1.write("memory/a/memory.limit_in_bytes", "1");  // of another controller's group
        EXPECT_EQ(memory_of_process(v1.files()), 419430400u);
    }
    {
        control_groups container("container");  // it sees its own group at the top, under the host's name
        container.write("cgroup", "0::/../../kubepods/pod1");
        container.write("memory.max", "52428800");
        EXPECT_EQ(memory_of_process(container.files()), 52428800u);
    }
}

TEST(memory_limit, of_resources_counts) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
    const rlimit less{std::size_t{3} << 30, before.rlim_max};
    if (before.rlim_max < less.rlim_cur) GTEST_SKIP() << "there is a lower limit already";
    ASSERT_EQ(::setrlimit(RLIMIT_DATA, &less), 0);
    EXPECT_LE(memory_of_process({"/no/such/file", "/no/such/folder"}), std::size_t{3} << 30);
    ASSERT_EQ(::setrlimit(RLIMIT_DATA, &before), 0);
}

TEST(processor_quota, is_the_least_of_all_groups_around_the_process) {
    constexpr int none = std::numeric_limits<int>::max();
    EXPECT_EQ(processor_quota({"/no/such/file", "/no/such/folder"}), none);
    control_groups v2("cpu2");
    v2.write("cgroup", "0::/a/b");
    v2.write("a/cpu.max", "max 100000");
    EXPECT_EQ(processor_quota(v2.files()), none);
    v2.write("a/cpu.max", "350000 100000");
    EXPECT_EQ(processor_quota(v2.files()), 3);
    v2.write("a/b/cpu.max", "20000 100000");
    EXPECT_EQ(processor_quota(v2.files()), 1);
    control_groups v1("cpu1");
    v1.write("cgroup", "3:memory:/m\n2:cpu,cpuacct:/a");
    v1.write("cpu/a/cpu.cfs_period_us", "100000");
    v1.write("cpu/a/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(processor_quota(v1.files()), none);
    v1.write("cpu/a/cpu.cfs_quota_us", "200000");
    EXPECT_EQ(processor_quota(v1.files()), 2);
}

TEST(memory_limit, shared_pool_keeps_a_sixteenth_and_a_gibibyte_at_most) {
    EXPECT_EQ(default_pool_limit(400 * mib), 25 * mib);
    EXPECT_EQ(default_pool_limit(std::size_t{1} << 40), 1024 * mib);
    if (std::getenv("BOXSUM_POOL_LIMIT") == nullptr) {
        EXPECT_EQ(memory_pool::shared().usage().limit_bytes, default_pool_limit(memory_of_process()));
    }
}

TEST(memory_limit, is_read_from_text) {
    EXPECT_EQ(parse_bytes("X", "0"), 0u);
    EXPECT_EQ(parse_bytes("X", "1000"), 1000u);
    EXPECT_EQ(parse_bytes("X", "3K"), 3072u);
    EXPECT_EQ(parse_bytes("X", "64M"), 64 * mib);
    EXPECT_EQ(parse_bytes("X", "2G"), 2048 * mib);
    for (const char* wrong : {"", "M", "-1", "1.5G", "64 M", "64MB", "17179869184G", "99999999999999999999"}) try {
            parse_bytes("BOXSUM_POOL_LIMIT", wrong);
            ADD_FAILURE() << wrong;
        } catch (const invalid_argument& e) {
            EXPECT_EQ(e.what(), "BOXSUM_POOL_LIMIT: is '" + std::string(wrong) +
                                    "', must be a number of bytes, or one with K, M or G behind it");
        }
}

/// Images that grow from frame to frame, as in a process with a limit of 400 MiB: beside the table in use and its image
/// no more is held than a sixteenth.
TEST(memory_pool, growing_tables_stay_within_a_control_groups_limit) {
    control_groups group("growing");
    group.write("cgroup", "0::/");
    group.write("memory.max", std::to_string(400 * mib));
    memory_pool pool(default_pool_limit(memory_of_process(group.files())));
    const std::size_t before = kib_of("VmRSS");
    std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak so far is none of ours
    for (std::int64_t n = 600; n <= 4600; n += 80) {
        const host_buffer pixels = pool.acquire(static_cast<std::size_t>(n * n));
        std::memset(pixels.data(), 1, pixels.size());
        table<std::uint32_t> sums(n, n, table_layout::inclusive, 1, 1, pool.allocator());
        sat({image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(pixels.data()), n, n)}, {sums});
        ASSERT_EQ(sums.view()(n - 1, n - 1), static_cast<std::uint32_t>(n * n));
    }
    const std::size_t peak_mib = (kib_of("VmHWM") - before) / 1024;
    EXPECT_LE(peak_mib, 4600u * 4600 * 5 / mib + 25 + 24);  // the largest pair, the cache, and what threads bring along
    EXPECT_LE(pool.usage().cached_bytes, 25 * mib);
    EXPECT_GT(pool.usage().evicted, 10u);
}

TEST(memory_pool, impossible_sizes_are_out_of_memory) {
    memory_pool pool(0);
    EXPECT_THROW(pool.acquire(std::numeric_limits<std::size_t>::max()), out_of_memory);
    try {
        pool.acquire(std::size_t{1} << 62);
        ADD_FAILURE();
    } catch (const out_of_memory& e) {
        EXPECT_STREQ(e.what(), "cannot allocate 4611686018427387904 bytes of host memory from the library's pool");
    }
    EXPECT_EQ(pool.usage().used_bytes, 0u);
    EXPECT_EQ(pool.usage().fresh, 0u);
}

TEST(memory_pool, serves_many_threads) {
    memory_pool pool(mib / 8);  // so little that blocks are given up all the time
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&pool, t] {
            for (int i = 0; i < 500; ++i) {
                const std::size_t size = 64 + static_cast<std::size_t>((i * 3701 + t * 1103) % 100000);
                const host_buffer buffer = pool.acquire(size);
                std::memset(buffer.data(), t, size);
                const auto* bytes = static_cast<const unsigned char*>(buffer.data());
                for (std::size_t k = 0; k < size; ++k) ASSERT_EQ(bytes[k], t);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(pool.usage().used_bytes, 0u);
    EXPECT_LE(pool.usage().cached_bytes, mib / 8);
    EXPECT_EQ(pool.usage().reused + pool.usage().fresh, 2000u);
}

/// An allocator that knows what is out, and how much of it.
struct counting_allocator {
    std::map<void*, std::size_t> out;
    int calls = 0;
    std::size_t misaligned_by = 0;

    host_allocator functions() {
        return {.name = "the test's",
                .context = this,
                .allocate = [](void* context, std::size_t bytes) -> void* {
                    auto& self = *static_cast<counting_allocator*>(context);
                    ++self.calls;
                    if (bytes > std::size_t{1} << 40) return nullptr;
                    auto* const data = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
                    void* const given = data + self.misaligned_by;
                    self.out[given] = bytes;
                    return given;
                },
                .deallocate =
                    [](void* context, void* data, std::size_t bytes) noexcept {
                        auto& self = *static_cast<counting_allocator*>(context);
                        EXPECT_EQ(self.out.at(data), bytes);
                        self.out.erase(data);
                        std::free(static_cast<std::byte*>(data) - self.misaligned_by);
                    }};
    }
};

TEST(host_allocator, gives_tables_their_memory) {
    counting_allocator mine;
    {
        table<std::uint32_t> t(5, 7, table_layout::padded, 1, 2, mine.functions());
        ASSERT_EQ(mine.out.size(), 1u);
        EXPECT_EQ(mine.out.begin()->first, t.view().entries().data());
        EXPECT_EQ(mine.out.begin()->second, static_cast<std::size_t>(t.view().entries().plane_stride() + 5 * 64 + 32));
        table<std::uint32_t> moved = std::move(t);
        EXPECT_EQ(mine.out.size(), 1u);
        moved = table<std::uint32_t>(2, 2, table_layout::inclusive, 1, 1, mine.functions());
        EXPECT_EQ(mine.out.size(), 1u);
        EXPECT_EQ(mine.calls, 2);
        const host_buffer nothing(0, mine.functions());
        EXPECT_NE(nothing.data(), nullptr);
    }
    EXPECT_TRUE(mine.out.empty());
    EXPECT_THROW(table<double>(1 << 20, 1 << 20, table_layout::inclusive, 1, 1, mine.functions()), out_of_memory);
}

TEST(host_allocator, is_checked) {
    counting_allocator mine;
    mine.misaligned_by = 8;
    try {
        const host_buffer b(100, mine.functions());
        ADD_FAILURE();
    } catch (const invalid_argument& e) {
        EXPECT_STREQ(e.what(), "allocator: 'the test's' gave memory that is not aligned to 64 bytes");
    }
    EXPECT_TRUE(mine.out.empty());
    host_allocator half = mine.functions();
    half.deallocate = nullptr;
    EXPECT_THROW(host_buffer(100, half), invalid_argument);
    half = mine.functions();
    half.allocate = nullptr;
    EXPECT_THROW(host_buffer(100, half), invalid_argument);
}

TEST(table, has_aligned_rows_and_knows_its_layout) {
    const table<std::uint32_t> t(7, 13, table_layout::padded, 3, 2);
    const auto view = t.view().entries();
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
