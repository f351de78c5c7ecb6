// The kernels of each instruction set, forced in turn, against the definition: every width up to 300, so that every
// remainder of every vector length occurs, with every type, layout, misalignment, store policy and 1 to 4 threads.

#include "cpu/instruction_set.hpp"
#include "cpu/records.hpp"
#include "verify/conformance.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace boxsum {
namespace {

class sat_simd : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (cpu::find_kernels(GetParam()) == nullptr) GTEST_SKIP() << "this machine or build has no " << GetParam();
    }

    execution how(int threads, store_policy store, const std::string& more = "") const {
        execution e;
        e.parameters = parse_parameters(simd_sat_record, "isa=" + GetParam() + more);
        e.threads = threads;
        e.store = store;
        return e;
    }
};

struct types {
    dtype input;
    dtype table;
    std::optional<dtype> squares;
};

std::vector<types> all_types() {
    std::vector<types> all;
    for (const type_pair t : type_pairs()) all.push_back({t.input, t.table, {}});
    for (const squares_triple t : squares_triples()) all.push_back({t.input, t.table, t.squares});
    return all;
}

TEST_P(sat_simd, is_the_forced_set) {
    const std::vector<std::uint8_t> pixels(16);
    std::vector<std::uint32_t> sums(16);
    const image_view<const std::uint8_t> image(pixels.data(), 4, 4);
    const image_view<std::uint32_t> table(sums.data(), 4, 4);
    EXPECT_EQ(decide_sat({image}, {{table}}, {.parameters = "isa=" + GetParam()}).instruction_set, GetParam());
}

TEST_P(sat_simd, matches_the_definition_for_every_width) {
    std::uint64_t turn = 0;
    for (const types& t : all_types())
        for (std::int64_t cols = 1; cols <= 300; ++cols, ++turn) {
            conformance_case c;
            c.input = t.input;
            c.table = t.table;
            c.squares = t.squares;
            c.layout = std::array{table_layout::inclusive, table_layout::padded, table_layout::exclusive}[turn % 3];
            c.rows = 1 + static_cast<std::int64_t>(turn * 7 % 11);
            c.cols = cols;
            c.channels = turn % 5 == 0 ? 2 + static_cast<std::int64_t>(turn / 5 % 3) : 1;
            c.planes = turn % 13 == 0 ? 3 : 1;
            c.table_gap = turn % 2 == 0 ? -1 : static_cast<std::int64_t>(turn % 7);
            c.image_gap = static_cast<std::int64_t>(turn % 3);
            c.image_offset = static_cast<std::int64_t>(turn % 17);
            c.table_offset = turn % 4 == 1 ? static_cast<std::int64_t>(turn % 5) : 0;
            c.in_place = c.layout == table_layout::inclusive && !t.squares && size_of(t.input) == size_of(t.table);
            c.contents = turn % 2 == 0 ? pattern::random : pattern::position;
            c.seed = turn + 1;
            const auto store = turn / 2 % 2 == 0 ? store_policy::streaming : store_policy::cached;
            const std::string fetch = turn % 3 == 0 ? ",fetch=on" : ",fetch=off";
            const auto wrong = check_record(simd_sat_record, c, how(1 + static_cast<int>(turn % 4), store, fetch));
            ASSERT_FALSE(wrong) << *wrong;
        }
}

/// Bands of rows: every integer type, layout and remainder, in place, with more threads than rows for a band each, and
/// whatever the other threads do at the time.
TEST_P(sat_simd, matches_the_definition_in_bands) {
    std::uint64_t turn = 0;
    for (const types& t : all_types()) {
        if (is_floating(t.table) || (t.squares && is_floating(*t.squares))) continue;
        for (const std::int64_t rows : {31, 33, 50, 67, 131})
            for (const std::int64_t cols : {1, 64, 65, 200}) {
                conformance_case c;
                c.input = t.input;
                c.table = t.table;
                c.squares = t.squares;
                c.layout = std::array{table_layout::inclusive, table_layout::padded, table_layout::exclusive}[turn % 3];
                c.rows = rows;
                c.cols = cols;
                c.channels = turn % 5 == 0 ? 2 + static_cast<std::int64_t>(turn / 5 % 3) : 1;
                c.table_gap = static_cast<std::int64_t>(turn % 7);
                c.image_gap = static_cast<std::int64_t>(turn % 3);
                c.image_offset = static_cast<std::int64_t>(turn % 17);
                c.in_place = c.layout == table_layout::inclusive && !t.squares && size_of(t.input) == size_of(t.table);
                c.contents = turn % 4 == 0 ? pattern::position : turn % 4 == 1 ? pattern::all_max : pattern::random;
                c.seed = ++turn;
                const auto wrong = check_record(simd_sat_record, c,
                                                how(2 + static_cast<int>(turn % 4), store_policy::cached,
                                                    turn % 2 == 0 ? ",scheme=bands,fetch=on" : ",scheme=bands"));
                ASSERT_FALSE(wrong) << *wrong;
            }
    }
}

/// The sums of columns start from any value and touch nothing beyond their range.
TEST_P(sat_simd, adds_columns) {
    const cpu::kernel_set& set = *cpu::find_kernels(GetParam());
    const auto& entry = set.kernels[static_cast<std::size_t>(cpu::kernel_id::square_u16_u64)];
    const auto& floating = set.kernels[static_cast<std::size_t>(cpu::kernel_id::f32_f64)];
    EXPECT_EQ(floating.add_columns, nullptr);
    for (std::int64_t cols = 1; cols <= 150; ++cols) {
        std::vector<std::uint16_t> image(static_cast<std::size_t>(5 * (cols + 3)));
        for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint16_t>(65535 - i * 7919);
        std::vector<std::uint64_t> sums(static_cast<std::size_t>(cols + 2), ~std::uint64_t{0} - 5);
        std::vector<std::uint64_t> expected = sums;
        for (std::int64_t r = 0; r < 5; ++r)
            for (std::int64_t i = 0; i < cols; ++i) {
                const std::uint64_t x = image[static_cast<std::size_t>(r * (cols + 3) + i)];
                expected[static_cast<std::size_t>(1 + i)] += x * x;
            }
        entry.add_columns(image.data(), (cols + 3) * 2, 5, cols, sums.data() + 1);
        ASSERT_EQ(sums, expected) << cols << " columns";
    }
}

/// Past the caches, rows longer than what is staged of them, which start on lines, on vectors and anywhere else.
TEST_P(sat_simd, streams_long_rows_that_start_anywhere) {
    std::uint64_t turn = 0;
    for (const types& t : all_types())
        for (const std::int64_t cols : {255, 256, 257, 511, 513, 1024, 1061, 1553}) {
            conformance_case c;
            c.input = t.input;
            c.table = t.table;
            c.squares = t.squares;
            c.layout = std::array{table_layout::inclusive, table_layout::padded, table_layout::exclusive}[turn % 3];
            c.rows = 1 + static_cast<std::int64_t>(turn * 5 % 14);
            c.cols = cols;
            c.channels = turn % 4 == 3 ? 2 + static_cast<std::int64_t>(turn / 4 % 3) : 1;
            c.planes = 1 + static_cast<std::int64_t>(turn % 2);
            c.table_gap = turn % 5 == 0 ? -1 : static_cast<std::int64_t>(turn % 7);
            c.table_offset = static_cast<std::int64_t>(turn % 19);
            c.in_place = c.layout == table_layout::inclusive && !t.squares && size_of(t.input) == size_of(t.table);
            c.contents = turn % 2 == 0 ? pattern::random : pattern::position;
            c.seed = ++turn;
            const auto wrong = check_record(simd_sat_record, c, how(1, store_policy::streaming));
            ASSERT_FALSE(wrong) << *wrong;
        }
}

TEST_P(sat_simd, matches_the_definition_across_tiles_and_panels) {
    std::uint64_t turn = 0;
    for (const types& t : all_types())
        for (const std::int64_t cols : {256, 257, 320, 511, 777, 1025})
            for (const store_policy store : {store_policy::cached, store_policy::streaming}) {
                conformance_case c;
                c.input = t.input;
                c.table = t.table;
                c.squares = t.squares;
                c.layout = turn % 2 == 0 ? table_layout::padded : table_layout::inclusive;
                c.rows = 67 + static_cast<std::int64_t>(turn % 5);
                c.cols = cols;
                c.channels = turn % 3 == 0 ? 1 + static_cast<std::int64_t>(turn / 3 % 4) : 1;
                c.planes = 1 + static_cast<std::int64_t>(turn % 2);
                c.table_gap = -1;
                c.contents = turn % 2 == 0 ? pattern::position : pattern::random;
                c.seed = ++turn;
                const auto wrong = check_record(simd_sat_record, c, how(2 + static_cast<int>(turn % 3), store));
                ASSERT_FALSE(wrong) << *wrong;
            }
}

/// The bytes of one view, with what lies between its rows.
std::vector<std::byte> bytes_of(host_block& block, const view_shape& s) {
    const std::int64_t bytes = (s.planes - 1) * s.plane_stride + (s.rows - 1) * s.row_stride +
                               s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
    return {block.data(), block.data() + bytes};
}

/// The tables of one way to compute them.
std::vector<std::byte> bits_of(const conformance_case& c, const execution& how) {
    std::vector<std::byte> bits;
    const auto wrong =
        check_record(simd_sat_record, c, how,
                     [&](const algorithm_record& record, const problem& p, host_memory& memory, const execution& e) {
                         run_on_host(record, p, memory, e);
                         bits = bytes_of(memory.table, p.table);
                         if (!p.squares) return;
                         const auto squares = bytes_of(memory.squares, *p.squares);
                         bits.insert(bits.end(), squares.begin(), squares.end());
                     });
    EXPECT_FALSE(wrong) << *wrong;
    return bits;
}

TEST_P(sat_simd, float_bits_do_not_depend_on_threads_or_stores) {
    for (const types& t : all_types()) {
        if (!is_floating(t.table) && !(t.squares && is_floating(*t.squares))) continue;
        for (const std::int64_t channels : {1, 3})
            for (const std::int64_t cols : {63, 1100}) {
                conformance_case c;
                c.input = t.input;
                c.table = t.table;
                c.squares = t.squares;
                c.rows = 71;
                c.cols = cols;
                c.channels = channels;
                c.table_gap = -1;
                c.layout = channels == 1 ? table_layout::padded : table_layout::inclusive;
                const auto once = bits_of(c, how(1, store_policy::cached));
                for (const int threads : {1, 2, 4})
                    for (const store_policy store : {store_policy::cached, store_policy::streaming}) {
                        if (threads == 1 && store == store_policy::cached) continue;
                        const auto again = bits_of(c, how(threads, store));
                        ASSERT_EQ(once.size(), again.size());
                        ASSERT_EQ(std::memcmp(once.data(), again.data(), once.size()), 0)
                            << describe(c) << ", " << threads << " threads, "
                            << (store == store_policy::cached ? "cached" : "streaming");
                    }
            }
    }
}

/// Memory that ends where an unreadable page begins.
class guarded {
  public:
    explicit guarded(std::size_t bytes) : bytes_(bytes) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        mapped_ = (bytes + page - 1) / page * page + page;
        base_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base_ == MAP_FAILED || ::mprotect(end(), page, PROT_NONE) != 0) throw std::bad_alloc();
    }
    guarded(const guarded&) = delete;
    guarded& operator=(const guarded&) = delete;
    ~guarded() { ::munmap(base_, mapped_); }

    void* data() const { return end() - bytes_; }

  private:
    std::byte* end() const {
        return static_cast<std::byte*>(base_) + mapped_ - static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    }
    std::size_t bytes_;
    std::size_t mapped_ = 0;
    void* base_ = nullptr;
};

/// Neither the image nor the tables are touched behind their last element, for any remainder of any vector length. (The
/// sanitizers do not see into the vector kernels.)
TEST_P(sat_simd, touches_nothing_behind_image_or_tables) {
    for (const types& t : all_types())
        for (std::int64_t cols = 1; cols <= 140; ++cols) {
            conformance_case c;
            c.input = t.input;
            c.table = t.table;
            c.squares = t.squares;
            c.layout = std::array{table_layout::inclusive, table_layout::padded,
                                  table_layout::exclusive}[static_cast<std::size_t>(cols % 3)];
            c.rows = 1 + cols % 9;
            c.cols = cols;
            c.channels = cols % 4 == 0 ? 3 : 1;
            const problem p = problem_of(c);
            const auto bytes = [](const view_shape& s) {
                return static_cast<std::size_t>(s.rows * s.cols * s.channels) * size_of(s.type);  // packed
            };
            const guarded image(bytes(p.image));
            const guarded table(bytes(p.table));
            const guarded squares(p.squares ? bytes(*p.squares) : 1);
            simd_sat_record.enqueue(p, {image.data(), table.data(), p.squares ? squares.data() : nullptr},
                                    how(1 + static_cast<int>(cols % 2), store_policy::automatic,
                                        cols % 3 == 0 ? ",fetch=on" : ",fetch=off"));
        }
}

/// Row sums beyond 2^31: the wide and scalar kernels take over where 32 bits do not hold them.
TEST_P(sat_simd, wide_rows_do_not_wrap) {
    struct wide {
        types t;
        std::int64_t cols;
    };
    for (const wide& w : {wide{{dtype::u16, dtype::u64, {}}, 70001}, wide{{dtype::s16, dtype::s64, {}}, 140001},
                          wide{{dtype::u8, dtype::u64, dtype::u64}, 70001},
                          wide{{dtype::u8, dtype::f64, dtype::f64}, 70001}, wide{{dtype::u8, dtype::u64, {}}, 8500001},
                          wide{{dtype::u8, dtype::f32, {}}, 8500001}, wide{{dtype::u8, dtype::u32, {}}, 8500001}}) {
        conformance_case c;
        c.input = w.t.input;
        c.table = w.t.table;
        c.squares = w.t.squares;
        c.rows = 2;
        c.cols = w.cols;
        c.contents = pattern::all_max;
        for (int threads = 1; threads <= 2; ++threads) {
            const auto wrong = check_record(simd_sat_record, c, how(threads, store_policy::automatic));
            ASSERT_FALSE(wrong) << *wrong;
        }
    }
}

/// Rows so long that one thread cuts them, and the second panel starts from a table row in memory.
TEST_P(sat_simd, long_rows_in_tiles_of_one_thread) {
    for (const store_policy store : {store_policy::cached, store_policy::streaming}) {
        conformance_case c;
        c.input = dtype::u8;
        c.table = dtype::u32;
        c.squares = dtype::u64;
        c.rows = 261;
        c.cols = 33001;
        c.table_gap = -1;
        const auto wrong = check_record(simd_sat_record, c, how(1, store));
        ASSERT_FALSE(wrong) << *wrong;
    }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(isa, sat_simd, testing::Values("scalar", "avx2", "avx512", "avx512-vnni", "neon"), test_name);

}  // namespace
}  // namespace boxsum
