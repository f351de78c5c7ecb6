#pragma once

// What the tests of the tile kernels share: any shape and layout beside the sums of a loop on the host, with poison
// around it, in one workspace.

#include "cuda/production/sat/launch.cuh"
#include "cuda/workspace.hpp"
#include "support/device_check.cuh"
#ifdef BOXSUM_EMULATED
#include "support/emulation/settings.hpp"
#ifndef BOXSUM_ONLY_TYPES  // a wrong kernel is compiled where it is tested
#include "support/linked_tile_kernels.cuh"
#endif
#endif

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace boxsum::test {

struct shape {
    std::int64_t rows, cols, planes;
    table_layout layout;
    std::int64_t table_gap = -1;    // elements between rows of the table; -1: rows start at multiples of 16 bytes
    std::int64_t table_offset = 0;  // elements from such a multiple to the table
    std::int64_t image_gap = -1, image_offset = 0;
    std::int64_t channels = 1;
};

/// Whether the tests have kernels of these types. Deliberately wrong kernels (tests/emulated), which are compiled many
/// times over, have one pair of types: BOXSUM_ONLY_TYPES.
template <typename Pixel, typename Table>
constexpr bool has_kernels_of() {
#ifdef BOXSUM_ONLY_TYPES
    return std::is_same_v<std::pair<Pixel, Table>, std::pair<BOXSUM_ONLY_TYPES>>;
#else
    return true;
#endif
}

inline std::int64_t aligned_to_16(std::int64_t bytes) {
    return (bytes + 15) / 16 * 16;
}

/// Planes of small whole numbers, so that every sum is exact, with poison before and behind them and between rows and
/// planes.
template <typename T>
struct host_planes {
    view_shape view;
    std::int64_t first;  // byte
    std::vector<std::byte> bytes;

    host_planes(std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t gap,
                std::int64_t offset)
        : first(64 + offset * std::int64_t{sizeof(T)}) {
        view.type = dtype_of<T>;
        view.planes = planes;
        view.rows = rows;
        view.cols = cols;
        view.channels = channels;
        constexpr std::int64_t size = sizeof(T);
        view.row_stride = gap < 0 ? aligned_to_16(cols * channels * size) + 16 : (cols * channels + gap) * size;
        view.plane_stride = rows * view.row_stride + (gap < 0 ? 32 : 9 * size);
        bytes.assign(static_cast<std::size_t>(first + planes * view.plane_stride + 64), std::byte{0xee});
    }
    T* row(std::int64_t plane, std::int64_t r) {
        return reinterpret_cast<T*>(bytes.data() + first + plane * view.plane_stride + r * view.row_stride);
    }
};

/// What a whole table has around the part that a test computes; zeros where there are no carries.
template <typename Table>
struct part_carries {
    bool has_above = false, has_corner = false, has_left = false;
    host_planes<Table> above, left;

    explicit part_carries(const shape& s, bool above_given = false, bool corner_given = false, bool left_given = false)
        : has_above(above_given),
          has_corner(corner_given),
          has_left(left_given),
          above(s.planes, 1, s.cols + (corner_given ? 1 : 0), s.channels, 1, 3),
          left(s.planes, s.rows, 1, s.channels, 2, 1) {}

    /// `element`: from the part's first column on, the corner before it.
    Table above_at(std::int64_t plane, std::int64_t element) {
        const std::int64_t corner = has_corner ? above.view.channels : 0;
        return has_above && element + corner >= 0 ? above.row(plane, 0)[element + corner] : Table{};
    }
    Table left_at(std::int64_t plane, std::int64_t row, std::int64_t channel) {
        if (row < 0) return above_at(plane, channel - left.view.channels);
        return has_left ? left.row(plane, row)[channel] : Table{};
    }
    carry_shapes shapes() const {
        carry_shapes all;
        if (has_above) all.above = above.view;
        if (has_left) all.left = left.view;
        return all;
    }
};

/// One workspace, which calls of any shape use one after another.
class tile_kernel_test : public gpu_kernel_test {
  protected:
    static constexpr std::size_t workspace_bytes = 8u << 20;
    /// Bytes that a thread may spill in code for compute capability 9.0: a reload queues behind the looks at other
    /// tiles' words. With CUDA 13.0 that many have: 32f64f in rows that start anywhere; 16u and 32f with several
    /// channels in 8-byte tables of such rows; 8u with both tables in 64f in such rows. Straight rows of 8u32u, 32f32f
    /// and of both tables of 8u32u64u have none.
    static std::size_t most_spilled_bytes(const cuda::sat_geometry& sums, const void* squares) {
        return squares != nullptr ? 56 : sums.channels > 1 ? 32 : 16;
    }

    void SetUp() override {
        gpu_kernel_test::SetUp();
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

    /// Every call leaves ticket and counters at zero, which the next one relies on; also by additions that arrive late.
    std::optional<std::string> what_is_left_in_the_header() {
        workspace_header header;
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(&header, workspace_.data(), sizeof header, cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();
        if (header.ticket != 0) return "ticket " + std::to_string(header.ticket) + " is left";
        if (header.early_ticket != 0) return "early ticket " + std::to_string(header.early_ticket) + " is left";
        if (header.finished != 0) return std::to_string(header.finished) + " finished blocks are left";
        for (const std::uint32_t counter : header.reserved)
            if (counter != 0) return "a counter is left at " + std::to_string(counter);
        return {};
    }

    /// Any number where sums are modular, every fourth time the largest or smallest for all pixels; else a small one.
    template <typename Pixel, bool Modular>
    Pixel pixel() {
        if constexpr (Modular && std::is_integral_v<Pixel>) {
            if (turn_ % 8 == 3) return std::numeric_limits<Pixel>::max();
            if (turn_ % 8 == 7) return static_cast<Pixel>(std::numeric_limits<Pixel>::max() + 1);
            return static_cast<Pixel>(random_());
        } else {
            return static_cast<Pixel>(random_() % 8);
        }
    }

    /// Random pixels.
    template <typename Pixel, bool Modular>
    host_planes<Pixel> image_of(const shape& s) {
        host_planes<Pixel> image(s.planes, s.rows, s.cols, s.channels, s.image_gap, s.image_offset);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols * s.channels; ++c) image.row(plane, r)[c] = pixel<Pixel, Modular>();
        return image;
    }

    /// A table of a shape's extents, nothing but poison.
    template <typename Table>
    static host_planes<Table> poisoned_table(const shape& s) {
        const std::int64_t padding = s.layout == table_layout::padded ? 1 : 0;
        return {s.planes, s.rows + padding, s.cols + padding, s.channels, s.table_gap, s.table_offset};
    }

    /// Every other turn a part of a larger table, with any values around it.
    template <typename Table, bool Modular>
    part_carries<Table> carries_of(const shape& s) {
        if (turn_ % 2 == 0) return part_carries<Table>(s);
        const int kind = turn_ / 2 % 5;
        part_carries<Table> carries(s, kind != 1, kind == 0 || kind > 2, kind < 4);
        for (std::int64_t plane = 0; plane < s.planes; ++plane) {
            for (std::int64_t c = 0; c < carries.above.view.cols * s.channels; ++c)
                carries.above.row(plane, 0)[c] = carry<Table, Modular>();
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.channels; ++c) carries.left.row(plane, r)[c] = carry<Table, Modular>();
        }
        return carries;
    }
    template <typename Table, bool Modular>
    Table carry() {
        if constexpr (Modular && std::is_integral_v<Table>)
            return static_cast<Table>(std::uint64_t{random_()} << 32 | random_());
        else
            return static_cast<Table>(random_() % 512);
    }

    /// The image's table, or that of its squares.
    template <bool Squares, typename Table, typename Pixel>
    static host_planes<Table> table_of(const shape& s, host_planes<Pixel>& image, part_carries<Table> around) {
        using sum = cuda::sum_type<Table>;
        const std::int64_t border = s.layout == table_layout::inclusive ? 0 : 1;
        host_planes<Table> expected = poisoned_table<Table>(s);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t r = 0; r < expected.view.rows; ++r) {
                sum row[4]{};
                const std::int64_t image_row = r - border;
                for (std::int64_t c = 0; c < s.channels; ++c)
                    row[c] = static_cast<sum>(around.left_at(plane, image_row, c)) -
                             static_cast<sum>(around.left_at(plane, image_row - 1, c));
                for (std::int64_t c = 0; c < expected.view.cols * s.channels; ++c) {
                    sum& of_channel = row[c % s.channels];
                    if (r >= border && c >= border * s.channels) {
                        const auto x = static_cast<sum>(image.row(plane, r - border)[c - border * s.channels]);
                        of_channel += Squares ? x * x : x;
                    }
                    const std::int64_t element = c - border * s.channels;
                    if (image_row < 0) {
                        expected.row(plane, r)[c] = around.above_at(plane, element);
                    } else if (element < 0) {
                        expected.row(plane, r)[c] = around.left_at(plane, image_row, c);
                    } else {
                        const Table above = r > 0 ? expected.row(plane, r - 1)[c] : around.above_at(plane, element);
                        expected.row(plane, r)[c] = static_cast<Table>(of_channel + static_cast<sum>(above));
                    }
                }
            }
        return expected;
    }

    /// Where the device's table, poison and all, is another.
    template <typename Table>
    std::optional<std::string> what_differs(const shape& s, const host_planes<Table>& expected,
                                            const cuda::device_buffer& table) {
        const std::vector<std::byte> found = download<std::byte>(table);
        for (std::size_t i = 0; i < found.size(); ++i)
            if (found[i] != expected.bytes[i]) {
                const auto at = static_cast<std::int64_t>(i) - expected.first;
                const view_shape& view = expected.view;
                const std::int64_t plane = at / view.plane_stride, r = at % view.plane_stride / view.row_stride;
                const std::int64_t byte = at % view.plane_stride % view.row_stride;
                return "wrong in plane " + std::to_string(plane) + ", row " + std::to_string(r) + ", element " +
                       std::to_string(byte / std::int64_t{sizeof(Table)}) + " of " + std::to_string(s.channels) +
                       " channels, " + std::to_string(s.planes) + " x " + std::to_string(s.rows) + " x " +
                       std::to_string(s.cols) + ", table gap " + std::to_string(s.table_gap) + ", offset " +
                       std::to_string(s.table_offset) + ", image gap " + std::to_string(s.image_gap) + ", offset " +
                       std::to_string(s.image_offset);
            }
        return {};
    }

    /// So many multiprocessors; `older`: as if the device had no copy engine.
    static cuda::device_limits limits(int multiprocessors, bool older = false) {
        int device = 0, major = 0;
        BOXSUM_CUDA_TRY(cudaGetDevice(&device));
        BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
        return {multiprocessors, !older && major >= 9};
    }

    /// Whether there is such a launch; enqueues it.
    bool enqueue(const cuda::tile_launch& launch, const cuda::sat_geometry& sums, void* squares, const execution& how) {
        if (!launch) return false;
#if !defined(BOXSUM_EMULATED) && defined(NDEBUG)
        cudaFuncAttributes code{};
        BOXSUM_CUDA_TRY(cudaFuncGetAttributes(&code, reinterpret_cast<const void*>(launch.kernel)));
        if (code.binaryVersion == 90) EXPECT_LE(code.localSizeBytes, most_spilled_bytes(sums, squares));
#endif
        cuda::map_cache maps;
        launch.start(launch, {sums.image, sums.table, squares, carries_, squares_carries_}, how, maps);
        return true;
    }

    execution in_workspace() {
        execution how;
        how.stream = stream();
        how.header = as<workspace_header>(workspace_);
        how.workspace = as<std::byte>(workspace_) + workspace_header_bytes;
        how.workspace_bytes = workspace_bytes - workspace_header_bytes;
        return how;
    }

    static problem problem_of(const shape& s, const view_shape& image, const view_shape& table) {
        problem p;
        p.image = image;
        p.table = table;
        p.form = s.layout;
        return p;
    }

    /// Computes a table of random pixels, or of their squares, with enqueue(geometry, execution); what is wrong with
    /// it.
    template <typename Pixel, typename Table, bool Squares = false, typename Enqueue>
    std::optional<std::string> wrong_table(const shape& s, Enqueue enqueue) {
        host_planes<Pixel> image = image_of<Pixel, std::is_integral_v<Table>>(s);
        const auto around = carries_of<Table, std::is_integral_v<Table>>(s);
        const uploaded_carries on_device(*this, around, carries_);
        const host_planes<Table> expected = table_of<Squares, Table>(s, image, around);
        const cuda::device_buffer pixels = upload(image.bytes), table = upload(poisoned_table<Table>(s).bytes);
        const problem p = problem_of(s, image.view, expected.view);
        enqueue(cuda::sat_geometry(p, as<std::byte>(pixels) + image.first, p.table,
                                   as<std::byte>(table) + expected.first, around.shapes()),
                in_workspace());
        if (const auto wrong = what_differs(s, expected, table)) return wrong;
        return what_is_left_in_the_header();
    }

    /// The same of both tables, enqueue(geometry of sums, of squares, execution).
    template <typename Pixel, typename Table, typename Squares, typename Enqueue>
    std::optional<std::string> wrong_tables(const shape& s, Enqueue enqueue) {
        constexpr bool modular = std::is_integral_v<Table> && std::is_integral_v<Squares>;
        host_planes<Pixel> image = image_of<Pixel, modular>(s);
        const auto around = carries_of<Table, modular>(s);
        const auto squares_around = carries_of<Squares, modular>(s);
        const uploaded_carries on_device(*this, around, carries_);
        const uploaded_carries squares_on_device(*this, squares_around, squares_carries_);
        const host_planes<Table> expected = table_of<false, Table>(s, image, around);
        const host_planes<Squares> expected_squares = table_of<true, Squares>(s, image, squares_around);
        const cuda::device_buffer pixels = upload(image.bytes), table = upload(poisoned_table<Table>(s).bytes),
                                  squares = upload(poisoned_table<Squares>(s).bytes);
        const problem p = problem_of(s, image.view, expected.view);
        const std::byte* const first = as<std::byte>(pixels) + image.first;
        enqueue(cuda::sat_geometry(p, first, p.table, as<std::byte>(table) + expected.first, around.shapes()),
                cuda::sat_geometry(p, first, expected_squares.view, as<std::byte>(squares) + expected_squares.first,
                                   squares_around.shapes()),
                in_workspace());
        if (const auto wrong = what_differs(s, expected, table)) return "sums " + *wrong;
        if (const auto wrong = what_differs(s, expected_squares, squares)) return "squares " + *wrong;
        return what_is_left_in_the_header();
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

    /// Carries on the device, for as long as this lives; `to` names them for enqueue().
    class uploaded_carries {
      public:
        template <typename Table>
        uploaded_carries(tile_kernel_test& test, const part_carries<Table>& carries, carry_data& to) : to_(to) {
            if (carries.has_above) {
                above_ = test.upload(carries.above.bytes);
                to_.above = as<std::byte>(above_) + carries.above.first;
            }
            if (carries.has_left) {
                left_ = test.upload(carries.left.bytes);
                to_.left = as<std::byte>(left_) + carries.left.first;
            }
        }
        uploaded_carries(const uploaded_carries&) = delete;
        uploaded_carries& operator=(const uploaded_carries&) = delete;
        ~uploaded_carries() { to_ = {}; }

      private:
        carry_data& to_;
        cuda::device_buffer above_, left_;
    };

    carry_data carries_, squares_carries_;
    std::mt19937 random_{1};
    int turn_ = 0;
    cuda::device_buffer workspace_;
};

inline constexpr table_layout layouts[] = {table_layout::inclusive, table_layout::exclusive, table_layout::padded};

}  // namespace boxsum::test
