// Copies between any strides on the device, against one element after the other on the host.

#include "cuda/runtime/strided_copy.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

constexpr auto poison = std::byte{0xa5};

/// How the elements of a batch lie in memory.
enum class order : std::uint8_t {
    packed,
    gaps,           ///< behind pixels, rows and planes
    upside_down,    ///< rows from the last to the first
    mirrored,       ///< columns
    all_backwards,  ///< planes, too
    transposed,     ///< columns one after the other
    turned,         ///< and those backwards
    interleaved,    ///< pixel by pixel of all planes
};
constexpr order orders[] = {order::packed,        order::gaps,       order::upside_down, order::mirrored,
                            order::all_backwards, order::transposed, order::turned,      order::interleaved};

struct placed {
    view_shape shape;
    cuda::element_strides strides{};
    std::int64_t first = 0;  ///< byte of element (0, 0, 0, 0)
    std::int64_t bytes = 0;  ///< of all
};

placed place(view_shape s, order how) {
    const auto pixel = s.channels * static_cast<std::int64_t>(size_of(s.type));
    placed p{s};
    cuda::element_strides& v = p.strides;
    v.col = pixel;
    v.row = s.cols * pixel;
    v.plane = s.rows * v.row;
    p.bytes = s.planes * v.plane;
    const auto mirror = [&] {
        p.first += (s.cols - 1) * v.col;
        v.col = -v.col;
    };
    const auto flip = [&] {
        p.first += (s.rows - 1) * v.row;
        v.row = -v.row;
    };
    switch (how) {
        case order::packed:
            break;
        case order::gaps:
            v.col = 3 * pixel;
            v.row = s.cols * v.col + 5 * pixel;
            v.plane = s.rows * v.row + 7 * pixel;
            p.first = 2 * pixel;
            p.bytes = p.first + s.planes * v.plane;
            break;
        case order::upside_down:
            flip();
            break;
        case order::mirrored:
            mirror();
            break;
        case order::all_backwards:
            flip();
            mirror();
            p.first += (s.planes - 1) * v.plane;
            v.plane = -v.plane;
            break;
        case order::transposed:
        case order::turned:
            v.row = pixel;
            v.col = s.rows * pixel;
            if (how == order::turned) mirror();
            break;
        case order::interleaved:
            v.plane = pixel;
            v.col = s.planes * pixel;
            v.row = s.cols * v.col;
            break;
    }
    return p;
}

/// Byte of an element.
std::size_t at(const placed& p, std::int64_t plane, std::int64_t row, std::int64_t col, std::int64_t channel) {
    return static_cast<std::size_t>(p.first + plane * p.strides.plane + row * p.strides.row + col * p.strides.col +
                                    channel * static_cast<std::int64_t>(size_of(p.shape.type)));
}

class strided_copy : public test::gpu_stream_test {
  protected:
    std::vector<std::byte> any_bytes(std::int64_t count) {
        std::vector<std::byte> bytes(static_cast<std::size_t>(count));
        for (std::byte& b : bytes) b = static_cast<std::byte>(random_());
        return bytes;
    }

    /// Copies, and compares all of the target's memory, what lies between its elements too.
    void expect_copied(const placed& from, const placed& to) {
        const std::vector<std::byte> source = any_bytes(from.bytes);
        std::vector<std::byte> expected(static_cast<std::size_t>(to.bytes), poison);
        const cuda::device_buffer d_source(source.size(), stream()), d_target(expected.size(), stream());
        const auto send = [&](const cuda::device_buffer& there, const std::vector<std::byte>& bytes) {
            BOXSUM_CUDA_TRY(
                cudaMemcpyAsync(there.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream().get()));
        };
        send(d_source, source);
        send(d_target, expected);
        cuda::enqueue_copy_strided(from.shape, static_cast<const std::byte*>(d_source.data()) + from.first,
                                   from.strides, static_cast<std::byte*>(d_target.data()) + to.first, to.strides,
                                   stream());
        std::vector<std::byte> found(expected.size());
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(found.data(), d_target.data(), found.size(), cudaMemcpyDeviceToHost, stream().get()));
        stream().synchronize();

        const view_shape& s = from.shape;
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t row = 0; row < s.rows; ++row)
                for (std::int64_t col = 0; col < s.cols; ++col)
                    for (std::int64_t channel = 0; channel < s.channels; ++channel)
                        std::memcpy(expected.data() + at(to, plane, row, col, channel),
                                    source.data() + at(from, plane, row, col, channel), size_of(s.type));
        ASSERT_TRUE(found == expected);
    }

  private:
    std::mt19937 random_{17};
};

/// Around the size of a tile, for every width of elements and number of channels.
TEST_F(strided_copy, between_all_orders_is_exact) {
    struct extents {
        std::int64_t planes, rows, cols;
    };
    std::int64_t channels = 0;
    for (const dtype type : {dtype::u8, dtype::f16, dtype::f32, dtype::s64})
        for (const extents e : {extents{1, 1, 1}, {1, 1, 70}, {2, 67, 1}, {3, 31, 33}, {1, 32, 32}, {2, 65, 40}})
            for (const order a : orders)
                for (const order b : orders) {
                    channels = channels % 4 + 1;
                    const view_shape s{type, e.planes, e.rows, e.cols, channels, 0, 0};
                    expect_copied(place(s, a), place(s, b));
                    if (HasFatalFailure())
                        FAIL() << name_of(type) << ", " << e.planes << " x " << e.rows << " x " << e.cols << " x "
                               << channels << ", from " << int(a) << " to " << int(b);
                }
}

/// More tiles than blocks are launched for.
TEST_F(strided_copy, of_many_tiles) {
    const view_shape s{dtype::u32, 2500, 3, 2, 1, 0, 0};
    expect_copied(place(s, order::packed), place(s, order::mirrored));
    expect_copied(place(s, order::transposed), place(s, order::packed));
}

/// Rows, columns, planes, and all of them, that are one and the same.
TEST_F(strided_copy, repeats_what_has_no_stride) {
    const view_shape s{dtype::u16, 3, 37, 45, 2, 0, 0};
    for (const order to : {order::packed, order::transposed})
        for (int which = 1; which < 8; ++which) {
            placed from = place(s, order::packed);
            if ((which & 1) != 0) from.strides.row = 0;
            if ((which & 2) != 0) from.strides.col = 0;
            if ((which & 4) != 0) from.strides.plane = 0;
            expect_copied(from, place(s, to));
            if (HasFatalFailure()) FAIL() << which;
        }
}

}  // namespace
}  // namespace boxsum
