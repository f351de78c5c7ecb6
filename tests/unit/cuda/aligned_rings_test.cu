// The kernels for one channel by themselves: with rings of words so short that small images go round
// them many times, with either way down the columns, as one wave, several planes, and calls that follow each other in
// one workspace. On a GPU and on an emulated device (tests/emulated), where blocks start in any order.

#include "cuda/production/sat_aligned_launch.cuh"
#include "cuda/production/sat_wave_launch.cuh"
#include "cuda/workspace.hpp"
#include "support/device_check.cuh"
#ifdef BOXSUM_EMULATED
#include "support/emulation/settings.hpp"
#endif

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using cuda::aligned_columns;

struct shape {
    std::int64_t rows, cols, planes;
    table_layout layout;
    std::int64_t table_gap = -1;    // elements between rows of the table; -1: rows start at multiples of 16 bytes
    std::int64_t table_offset = 0;  // elements from such a multiple to the table
    std::int64_t image_gap = -1, image_offset = 0;
};

std::int64_t aligned_to_16(std::int64_t bytes) {
    return (bytes + 15) / 16 * 16;
}

/// Planes of small whole numbers, so that every sum is exact, with poison before and behind them and between rows and
/// planes.
template <typename T>
struct host_planes {
    view_shape view;
    std::int64_t first;  // byte
    std::vector<std::byte> bytes;

    host_planes(std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t gap = -1,
                std::int64_t offset = 0)
        : first(64 + offset * std::int64_t{sizeof(T)}) {
        view.type = dtype_of<T>;
        view.planes = planes;
        view.rows = rows;
        view.cols = cols;
        view.channels = 1;
        constexpr std::int64_t size = sizeof(T);
        view.row_stride = gap < 0 ? aligned_to_16(cols * size) + 16 : (cols + gap) * size;
        view.plane_stride = rows * view.row_stride + (gap < 0 ? 32 : 9 * size);
        bytes.assign(static_cast<std::size_t>(first + planes * view.plane_stride + 64), std::byte{0xee});
    }
    T* row(std::int64_t plane, std::int64_t r) {
        return reinterpret_cast<T*>(bytes.data() + first + plane * view.plane_stride + r * view.row_stride);
    }
};

/// One workspace, which calls of any shape use one after another.
class aligned_rings : public test::gpu_kernel_test {
  protected:
    static constexpr std::size_t workspace_bytes = 8u << 20;

    void SetUp() override {
        test::gpu_kernel_test::SetUp();
        workspace_ = upload(std::vector<std::byte>(workspace_bytes));
    }

    /// Of the workspace's header, whose first word it is.
    std::uint32_t epoch() {
        std::uint32_t value = 0;
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(&value, workspace_.data(), sizeof value, cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        return value;
    }
    void set_epoch(std::uint32_t value) {
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(workspace_.data(), &value, sizeof value, cudaMemcpyHostToDevice, stream().get()));
        stream().synchronize();
    }

    /// Computes a table of random pixels with enqueue(problem, geometry, execution); what is wrong with it.
    template <typename Pixel, typename Table, typename Enqueue>
    std::optional<std::string> wrong_table(const shape& s, Enqueue enqueue) {
        using sum = cuda::sum_type<Table>;
        const std::int64_t padding = s.layout == table_layout::padded ? 1 : 0;
        const std::int64_t border = s.layout == table_layout::inclusive ? 0 : 1;
        host_planes<Pixel> image(s.planes, s.rows, s.cols, s.image_gap, s.image_offset);
        host_planes<Table> expected(s.planes, s.rows + padding, s.cols + padding, s.table_gap, s.table_offset);
        const std::vector<std::byte> poisoned = expected.bytes;
        for (std::int64_t plane = 0; plane < s.planes; ++plane) {
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols; ++c) image.row(plane, r)[c] = static_cast<Pixel>(random_() % 8);
            for (std::int64_t r = 0; r < expected.view.rows; ++r) {
                sum row{};
                for (std::int64_t c = 0; c < expected.view.cols; ++c) {
                    if (r >= border && c >= border) row += static_cast<sum>(image.row(plane, r - border)[c - border]);
                    const sum above = r > 0 ? static_cast<sum>(expected.row(plane, r - 1)[c]) : sum{};
                    expected.row(plane, r)[c] = static_cast<Table>(row + above);
                }
            }
        }

        const device_buffer image_memory = upload(image.bytes), table_memory = upload(poisoned);
        problem p;
        p.image = image.view;
        p.table = expected.view;
        p.layout = s.layout;
        const cuda::sat_geometry g(p, as<std::byte>(image_memory) + image.first, p.table,
                                   as<std::byte>(table_memory) + expected.first);
        execution how;
        how.stream = stream();
        how.header = as<workspace_header>(workspace_);
        how.workspace = as<std::byte>(workspace_) + workspace_header_bytes;
        how.workspace_bytes = workspace_bytes - workspace_header_bytes;
        enqueue(g, how);

        const std::vector<std::byte> found = download<std::byte>(table_memory);
        if (found == expected.bytes) return {};
        for (std::size_t i = 0; i < found.size(); ++i)
            if (found[i] != expected.bytes[i]) {
                const auto at = static_cast<std::int64_t>(i) - expected.first;
                const std::int64_t plane = at / p.table.plane_stride,
                                   r = at % p.table.plane_stride / p.table.row_stride;
                const std::int64_t byte = at % p.table.plane_stride % p.table.row_stride;
                return "wrong in plane " + std::to_string(plane) + ", row " + std::to_string(r) + ", column " +
                       std::to_string(byte / std::int64_t{sizeof(Table)}) + " of " + std::to_string(s.planes) + " x " +
                       std::to_string(s.rows) + " x " + std::to_string(s.cols) + ", table gap " +
                       std::to_string(s.table_gap) + ", offset " + std::to_string(s.table_offset) + ", image gap " +
                       std::to_string(s.image_gap) + ", offset " + std::to_string(s.image_offset);
            }
        return "wrong";
    }

    template <typename Pixel, typename Table, aligned_columns Columns>
    std::optional<std::string> wrong_in_pipeline(const shape& s, int tiles_in_flight, int blocks) {
        return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            cuda::enqueue_aligned_pipeline<Pixel, cuda::sum_type<Table>, Columns>(g, blocks, tiles_in_flight, how);
        });
    }

    template <typename Pixel, typename Table, int WarpRows>
    std::optional<std::string> wrong_in_wave(const shape& s) {
        return wrong_table<Pixel, Table>(s, [&](const cuda::sat_geometry& g, const execution& how) {
            cuda::enqueue_wave<Pixel, cuda::sum_type<Table>, WarpRows>(g, how);
        });
    }

    /// Runs f() with blocks in another order every time; what it says is wrong.
    template <typename F>
    void expect_right(const shape& s, const char* kernel, F f) {
        ++turn_;
#ifdef BOXSUM_EMULATED
        using emulation::block_order;
        constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
        const emulation::scoped_settings device(
            {.seed = static_cast<std::uint64_t>(turn_), .order = orders[turn_ % 3], .resident_blocks = 1 + turn_ % 4});
#endif
        const std::optional<std::string> wrong = f();
        EXPECT_FALSE(wrong) << *wrong << ", " << kernel << ", layout " << static_cast<int>(s.layout) << ", turn "
                            << turn_;
    }

    /// Both ways down the columns.
    template <typename Pixel, typename Table>
    void expect_tables(const shape& s, int tiles_in_flight) {
        expect_right(s, "groups", [&] {
            return wrong_in_pipeline<Pixel, Table, aligned_columns::groups>(s, tiles_in_flight, 1 + turn_ % 5);
        });
        expect_right(s, "chain", [&] {
            return wrong_in_pipeline<Pixel, Table, aligned_columns::chain>(s, tiles_in_flight, 1 + turn_ % 5);
        });
    }

    template <typename Pixel, typename Table>
    void expect_waves(const shape& s) {
        expect_right(s, "wave, 4 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 4>(s); });
        expect_right(s, "wave, 8 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 8>(s); });
        expect_right(s, "wave, 16 rows a warp", [&] { return wrong_in_wave<Pixel, Table, 16>(s); });
    }

    std::mt19937 random_{1};
    int turn_ = 0;
    device_buffer workspace_;
};

constexpr table_layout layouts[] = {table_layout::inclusive, table_layout::exclusive, table_layout::padded};

TEST_F(aligned_rings, tall_images_go_round_the_ring_many_times) {
    for (const table_layout layout : layouts) {
        expect_tables<f32, f32>({64 * 45 + 7, 129, 1, layout}, 1);
        expect_tables<u8, u32>({64 * 33 + 1, 200, 1, layout}, 1);
    }
}

TEST_F(aligned_rings, wide_images_have_several_groups) {
    for (const table_layout layout : layouts) {
        expect_tables<f32, f32>({70, 128 * 18 + 3, 1, layout}, 1);
        expect_tables<u8, u32>({64 * 7, 128 * 9, 1, layout}, 1);
    }
}

TEST_F(aligned_rings, planes_follow_each_other_in_the_ring) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {1, 64, 65, 150, 64 * 5 + 1, 64 * 9}) {
            expect_tables<f32, f32>({rows, 130, 13, layout}, 1);
            expect_tables<u8, u32>({rows, 40, 19, layout}, 1);
        }
}

TEST_F(aligned_rings, edges_of_every_kind_of_tile) {
    for (const table_layout layout : layouts)
        for (const std::int64_t rows : {1, 63, 64, 65, 128})
            for (const std::int64_t cols : {1, 3, 4, 127, 128, 129, 131, 256}) {
                expect_tables<f32, f32>({rows, cols, 1, layout}, 9);
                expect_tables<u8, u32>({rows, cols, 2, layout}, 9);
                expect_tables<f64, f64>({rows, cols, 1, layout}, 9);
            }
}

TEST_F(aligned_rings, rows_of_the_table_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t gap : {0, 1, 2, 3})
            for (const std::int64_t offset : {0, 1, 2, 3})
                for (const std::int64_t cols : {1, 126, 127, 128, 257, 258}) {
                    expect_tables<f32, f32>({66, cols, 1, layout, gap, offset}, 9);
                    if (gap < 2 && offset < 2) {
                        expect_tables<u8, u32>({129, cols, 2, layout, gap, offset}, 9);
                        expect_tables<f64, f64>({66, cols / 2 + 1, 2, layout, gap, offset}, 9);
                    }
                }
}

TEST_F(aligned_rings, rows_of_the_image_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t cols : {1, 5, 127, 128, 130, 255, 257}) {
            for (std::int64_t offset = 0; offset < 16; ++offset) {
                expect_tables<u8, u32>({66, cols, 1, layout, -1, 0, offset % 5, offset}, 9);
                if (offset % 3 == 0) expect_tables<u8, u32>({130, cols, 2, layout, 1, offset, 16, offset + 1}, 1);
            }
            for (std::int64_t offset = 0; offset < 4; ++offset) {
                expect_tables<f32, f32>({66, cols, 2, layout, offset, offset, offset % 3, offset}, 9);
                expect_tables<f32, f32>({66, cols, 1, layout, -1, 0, 0, offset}, 9);
            }
            for (std::int64_t offset = 0; offset < 2; ++offset)
                expect_tables<f64, f64>({66, cols / 2 + 1, 2, layout, 0, 0, 1 - offset, offset}, 9);
        }
    expect_tables<f32, f32>({64 * 45 + 7, 129, 1, table_layout::padded, 0, 1, 0, 1}, 1);
    expect_tables<u8, u32>({70, 128 * 18 + 3, 3, table_layout::inclusive, 0, 0, 0, 0}, 1);
}

TEST_F(aligned_rings, waves_store_rows_that_start_at_any_element) {
    for (const table_layout layout : layouts)
        for (const std::int64_t gap : {0, 1, 2, 3})
            for (const std::int64_t cols : {1, 127, 128, 257}) {
                expect_waves<f32, f32>({66, cols, 1, layout, gap, (gap + cols) % 4});
                expect_waves<f64, f64>({66, cols, 2, layout, gap, cols % 2});
            }
}

TEST_F(aligned_rings, sums_of_eight_bytes) {
    for (const table_layout layout : layouts) {
        expect_tables<f64, f64>({64 * 21 + 5, 64 * 2 + 3, 1, layout}, 1);
        expect_tables<f64, f64>({70, 64 * 18 + 1, 2, layout}, 1);
    }
}

TEST_F(aligned_rings, waves_with_more_publishers_than_are_looked_at_together) {
    for (const table_layout layout : layouts) {
        expect_waves<f32, f32>({32 * 27 + 5, 129, 1, layout});
        expect_waves<u8, u32>({33, 128 * 19 + 2, 1, layout});
        expect_waves<f64, f64>({32 * 11, 64 * 9, 1, layout});
        expect_waves<u8, u32>({70, 131, 5, layout});
        for (const std::int64_t cols : {1, 4, 127, 129}) expect_waves<f32, f32>({31, cols, 3, layout});
    }
}

TEST_F(aligned_rings, epochs_start_over) {
    set_epoch(cuda::tag_epochs - 3);
    for (int i = 0; i < 8; ++i) expect_tables<f32, f32>({64 * 19, 300, 1, table_layout::inclusive}, 1);
    EXPECT_LT(epoch(), 20u);
    EXPECT_GT(epoch(), 0u);
}

TEST_F(aligned_rings, an_epoch_that_is_used_twice_is_seen) {
    const shape s{64 * 3, 128 * 3, 1, table_layout::inclusive};
    int wrong = 0;
    for (int i = 0; i < 4; ++i) {
        set_epoch(5);
        wrong += wrong_in_pipeline<f32, f32, aligned_columns::groups>(s, 9, 3) ? 1 : 0;
    }
    EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace boxsum
