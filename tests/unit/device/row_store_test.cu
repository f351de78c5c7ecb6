#include "cuda/device/row_store.cuh"
#include "support/device_check.cuh"

#include <algorithm>

namespace boxsum::cuda {
namespace {

template <typename Sum>
constexpr Sum poison = static_cast<Sum>(987654);

class device_row_store : public test::gpu_kernel_test {
  protected:
    /// Runs kernel(row) on a row that starts `offset` elements into poisoned memory, which is returned.
    template <typename Sum, typename Kernel, typename... Arguments>
    std::vector<Sum> stored(Kernel kernel, int offset, const Arguments&... arguments) {
        const device_buffer memory = upload(std::vector<Sum>(memory_elements, poison<Sum>));
        launch(kernel, {.block = 32}, stream(), as<Sum>(memory) + offset, arguments...);
        return download<Sum>(memory);
    }

    /// Whether the memory holds first, first + step, ... in `count` elements behind the offset, and poison elsewhere.
    template <typename Sum>
    static void expect_elements(const std::vector<Sum>& memory, int offset, int count, int first, int step) {
        for (int i = 0; i < memory_elements; ++i) {
            const bool inside = i >= offset && i < offset + count;
            const Sum expected = inside ? static_cast<Sum>(first + (i - offset) * step) : poison<Sum>;
            ASSERT_EQ(memory[static_cast<std::size_t>(i)], expected)
                << "element " << i - offset << " of " << count << " at offset " << offset;
        }
    }

    static constexpr int memory_elements = 256;
};

template <typename Sum>
constexpr int row_elements = 32 * 16 / static_cast<int>(sizeof(Sum));

/// Element i is i + 1. The row is there or not.
template <typename Sum, int Unit>
__global__ void row_kernel(Sum* row, bool there) {
    constexpr int lane_cols = row_elements<Sum> / 32;
    Sum x[lane_cols];
    for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Sum>(threadIdx.x * lane_cols + i + 1);
    using row_ends = cuda::row_ends<Sum, lane_cols, Unit>;
    __shared__ typename row_ends::memory memory;
    const row_ends ends(memory, threadIdx.x);
    store_row(row_piece<Sum, lane_cols>(row, threadIdx.x), x, ends, 0, there, (threadIdx.x + 1) % 32);
    ends.store(reinterpret_cast<std::byte*>(row), 0, there ? 1 : 0, threadIdx.x);
}

/// The same one place on, with `left` = 0 before.
template <typename Sum>
__global__ void one_behind_kernel(Sum* row) {
    constexpr int lane_cols = row_elements<Sum> / 32;
    Sum x[lane_cols];
    for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Sum>(threadIdx.x * lane_cols + i + 1);
    move_one_behind(x, Sum{}, threadIdx.x);
    store_streaming(row + threadIdx.x * lane_cols, x);
}

/// Rows of `pieces` pieces side by side, one element apart, so that none may write beside itself. Element i is i + 1,
/// counted with the gaps.
template <typename Sum, int Unit>
__global__ void pieces_kernel(Sum* first, int rows, int pieces) {
    constexpr int lane_cols = row_elements<Sum> / 32;
    const int step = pieces * row_elements<Sum> + 1;
    using row_ends = cuda::row_ends<Sum, lane_cols, Unit>;
    __shared__ typename row_ends::memory memory;
    const row_ends ends(memory, threadIdx.x);
    for (int piece = 0; piece < pieces; ++piece) {
        row_piece<Sum, lane_cols> of_lane(first + piece * row_elements<Sum>, threadIdx.x);
        for (int k = 0; k < rows; ++k, of_lane.move(step * sizeof(Sum))) {
            const int start = k * step + piece * row_elements<Sum>;
            Sum x[lane_cols];
            for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Sum>(start + threadIdx.x * lane_cols + i + 1);
            store_row(of_lane, x, ends, k, true, (threadIdx.x + 1) % 32);
            const int put = k % ends.rows + 1;
            if (put == ends.rows || k == rows - 1)
                ends.store(reinterpret_cast<std::byte*>(first + start - (put - 1) * step), step * sizeof(Sum), put,
                           threadIdx.x);
        }
    }
}

/// The same; element i of a piece is 3 i more than the one before the piece, 3 i - 1 where it belongs to the piece to
/// the right: who stored it can be told. The last piece has `last` elements only, which are not stored by itself.
template <typename Sum>
__global__ void whole_sectors_kernel(Sum* first, int rows, int pieces, int last) {
    constexpr int lane_cols = row_elements<Sum> / 32;
    const int step = (pieces - 1) * row_elements<Sum> + last + 1;
    using row_ends = cuda::row_ends<Sum, lane_cols, 32>;
    __shared__ typename row_ends::memory memory;
    const row_ends ends(memory, threadIdx.x);
    for (int piece = 0; piece < pieces - 1; ++piece) {
        row_piece<Sum, lane_cols> of_lane(first + piece * row_elements<Sum>, threadIdx.x);
        const int beside = piece == pieces - 2 ? last : row_elements<Sum>;
        for (int k = 0; k < rows; ++k, of_lane.move(step * sizeof(Sum))) {
            const int start = k * step + piece * row_elements<Sum>;
            Sum x[lane_cols];
            for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<Sum>(3 * (start + threadIdx.x * lane_cols + i));
            store_row(of_lane, x, ends, k, true, (threadIdx.x + 1) % 32);
            const int put = k % ends.rows + 1;
            if (put == ends.rows || k == rows - 1)
                ends.store_whole(
                    reinterpret_cast<std::byte*>(first + start - (put - 1) * step), step * sizeof(Sum), put, piece == 0,
                    beside, [](int, int i) { return static_cast<Sum>(3 * i + 3 - 1); }, threadIdx.x);
        }
    }
}

template <typename Sum>
__global__ void zeros_kernel(Sum* row, int valid) {
    store_zeros<row_elements<Sum> / 32>(row, valid, threadIdx.x);
}

TEST_F(device_row_store, whole_rows_start_anywhere) {
    const auto check = [&]<typename Sum>(Sum) {
        for (int offset = 4; offset < 12; ++offset)
            for (const bool there : {false, true})
                for (const auto kernel : {row_kernel<Sum, 16>, row_kernel<Sum, 32>})
                    expect_elements(stored<Sum>(kernel, offset, there), offset, there ? row_elements<Sum> : 0, 1, 1);
    };
    check(float{});
    check(std::uint32_t{});
    check(double{});
    check(std::uint64_t{});
}

TEST_F(device_row_store, pieces_of_many_rows_meet) {
    const auto check = [&]<typename Sum>(Sum) {
        constexpr int rows = 19;
        for (const auto kernel : {pieces_kernel<Sum, 16>, pieces_kernel<Sum, 32>})
            for (const int pieces : {1, 3})
                for (int offset = 0; offset < 4; ++offset) {
                    const int step = pieces * row_elements<Sum> + 1;
                    const device_buffer memory = upload(std::vector<Sum>(offset + rows * step + 4, poison<Sum>));
                    launch(kernel, {.block = 32}, stream(), as<Sum>(memory) + offset, rows, pieces);
                    const std::vector<Sum> got = download<Sum>(memory);
                    for (int i = 0; i < static_cast<int>(got.size()); ++i) {
                        const int at = i - offset;
                        const bool inside = at >= 0 && at < rows * step && at % step != step - 1;
                        ASSERT_EQ(got[static_cast<std::size_t>(i)], inside ? static_cast<Sum>(at + 1) : poison<Sum>)
                            << "element " << at << ", offset " << offset << ", " << pieces << " pieces";
                    }
                }
    };
    check(float{});
    check(std::uint64_t{});
}

TEST_F(device_row_store, sectors_are_stored_as_a_whole_by_the_piece_to_their_left) {
    using sum = std::uint32_t;
    constexpr int rows = 19, cols = row_elements<sum>, sector = 8;
    for (const int pieces : {2, 4})
        for (const int last : {0, 1, 4, 7, 8, 50})
            for (int offset = 0; offset < sector; ++offset) {
                const int step = (pieces - 1) * cols + last + 1;
                const device_buffer memory = upload(std::vector<sum>(offset + rows * step + 64, poison<sum>));
                launch(whole_sectors_kernel<sum>, {.block = 32}, stream(), as<sum>(memory) + offset, rows, pieces,
                       last);
                const std::vector<sum> got = download<sum>(memory);
                for (int i = 0; i < static_cast<int>(got.size()); ++i) {
                    const int at = i - offset, col = at % step, piece = col / cols;
                    // Elements of the row from the start of a piece on, and before the first whole sector.
                    const int before = (sector - (i - col % cols) % sector) % sector;
                    const bool of_left = piece > 0 && col % cols < before;
                    const bool stored = at >= 0 && at < rows * step && col < (pieces - 1) * cols + last &&
                                        (piece < pieces - 1 || of_left);
                    const int value = of_left ? 3 * at - 1 : 3 * at;
                    ASSERT_EQ(got[static_cast<std::size_t>(i)], stored ? static_cast<sum>(value) : poison<sum>)
                        << "element " << at << ", offset " << offset << ", " << pieces << " pieces, the last of "
                        << last;
                }
            }
}

TEST_F(device_row_store, rows_one_behind_leave_their_last_element_to_the_next) {
    const auto check = [&]<typename Sum>(Sum) {
        constexpr int offset = 16 / sizeof(Sum);
        expect_elements(stored<Sum>(one_behind_kernel<Sum>, offset), offset, row_elements<Sum>, 0, 1);
    };
    check(float{});
    check(std::uint32_t{});
    check(double{});
    check(std::uint64_t{});
}

TEST_F(device_row_store, zeros_start_and_end_anywhere) {
    for (int offset = 4; offset < 8; ++offset)
        for (const int valid : {-1, 0, 1, 31, 32, 33, 64, 127, 128}) {
            expect_elements(stored<std::uint32_t>(zeros_kernel<std::uint32_t>, offset, valid), offset,
                            std::max(0, valid), 0, 0);
            expect_elements(stored<double>(zeros_kernel<double>, offset, std::min(valid, 64)), offset,
                            std::clamp(valid, 0, 64), 0, 0);
        }
}

}  // namespace
}  // namespace boxsum::cuda
