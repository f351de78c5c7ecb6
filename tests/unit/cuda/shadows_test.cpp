// Variance shadows on the device: the bits of the host's.

#include "cuda/runtime/cuda_try.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/shadow.hpp>
#include <boxsum/error.hpp>
#include <boxsum/shadow.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

/// Values of a type in host and device memory, with rows of its own pitch.
class both_sides {
  public:
    both_sides(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t gap,
               cuda::stream_ref stream)
        : shape_{type, 1, rows, cols, channels, 0, 0}, stream_(stream) {
        shape_.row_stride = (cols * channels + gap) * static_cast<std::int64_t>(size_of(type));
        shape_.plane_stride = rows * shape_.row_stride;
        bytes_.assign(static_cast<std::size_t>(shape_.plane_stride), std::byte{0x5a});
        memory_ = cuda::device_buffer(bytes_.size(), stream);
    }

    void set(std::int64_t r, std::int64_t c, int channel, double value) {
        std::byte* const at = bytes_.data() + r * shape_.row_stride +
                              (c * shape_.channels + channel) * static_cast<std::int64_t>(size_of(shape_.type));
        const auto put = [at](auto v) { std::memcpy(at, &v, sizeof v); };
        switch (shape_.type) {
            case dtype::f32:
                return put(static_cast<float>(value));
            case dtype::f64:
                return put(value);
            case dtype::u32:
                return put(static_cast<std::uint32_t>(value));
            case dtype::s32:
                return put(static_cast<std::int32_t>(value));
            case dtype::u64:
                return put(static_cast<std::uint64_t>(value));
            default:
                return put(static_cast<std::int64_t>(value));
        }
    }
    void upload() {
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(memory_.data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice, stream_.get()));
        stream_.synchronize();
    }
    std::vector<std::byte> downloaded() const {
        std::vector<std::byte> all(bytes_.size());
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(all.data(), memory_.data(), all.size(), cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        return all;
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }
    any_view host() { return {bytes_.data(), shape_}; }
    any_view device() { return {memory_.data(), shape_}; }

  private:
    view_shape shape_;
    cuda::stream_ref stream_;
    std::vector<std::byte> bytes_;
    cuda::device_buffer memory_;
};

class device_shadows : public test::gpu_test {
  protected:
    /// Tables of any contents are as good as those of a map: both sides read the same.
    void compare(dtype of_sums, dtype of_squares, const table_form& form, bool wide, const shadow_options& how,
                 std::int64_t rows, std::int64_t cols) {
        SCOPED_TRACE(std::string(name_of(of_sums)) + ' ' + std::string(name_of(of_squares)) + (wide ? ", 64f" : ""));
        constexpr std::int64_t map_rows = 40, map_cols = 61;
        const std::int64_t border = form.layout == table_layout::padded ? 1 : 0;
        both_sides sums(of_sums, map_rows + border, map_cols + border, 1, 3, stream_),
            squares(of_squares, map_rows + border, map_cols + border, 1, 0, stream_);
        std::mt19937 random(11);
        const auto real = [&](double from, double to) {
            return from + (to - from) * static_cast<double>(random()) / 4294967296.0;
        };
        for (std::int64_t r = 0; r < map_rows + border; ++r)
            for (std::int64_t c = 0; c < map_cols + border; ++c) {
                const auto area = static_cast<double>((r + 1 - border) * (c + 1 - border));
                sums.set(r, c, 0, std::floor(area * 90 + real(0, 60)));
                squares.set(r, c, 0, std::floor(area * 9000 + real(0, 900)));
            }
        const dtype type = wide ? dtype::f64 : dtype::f32;
        both_sides receiver(type, rows, cols, 1, 1, stream_),
            rectangle(wide ? dtype::f32 : dtype::f64, rows, cols, 4, 2, stream_), lit(type, rows, cols, 1, 5, stream_);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                double part[4] = {real(-9, map_rows + 2), real(-9, map_cols + 2), real(0, 20), real(0, 20)};
                if (c % 5 == 1)
                    for (double& p : part) p = std::floor(p);  // edges of pixels
                if (c % 7 == 2) part[2] = real(0, 0.5);        // within one
                if (c % 11 == 3) part[3] = 0;
                if (c % 13 == 4) part[1] = std::numeric_limits<double>::quiet_NaN();
                for (int k = 0; k < 4; ++k) rectangle.set(r, c, k, part[k]);
                receiver.set(r, c, 0, real(0, 400));
            }
        for (both_sides* b : {&sums, &squares, &receiver, &rectangle, &lit}) b->upload();
        cuda::variance_shadows(
            {{{sums.device(), form}, {squares.device(), form}}, receiver.device(), rectangle.device()}, {lit.device()},
            stream_, how);
        variance_shadows({{{sums.host(), form}, {squares.host(), form}}, receiver.host(), rectangle.host()},
                         {lit.host()}, how);
        const std::vector<std::byte> found = lit.downloaded();
        const any_view expected = lit.host();
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_EQ(found[i], lit.bytes()[i]) << "byte " << i << " of rows of " << expected.shape.row_stride;
    }

    cuda::stream stream_;
};

TEST_F(device_shadows, every_pixel_as_on_the_host) {
    const shadow_options how{.min_variance = 40, .bleeding = 0.3};
    const table_form shifted{table_layout::padded, {10, 20}, 17};
    compare(dtype::f32, dtype::f32, table_layout::padded, false, {}, 21, 70);
    compare(dtype::f32, dtype::f64, shifted, true, how, 9, 33);
    compare(dtype::f64, dtype::f32, table_layout::inclusive, false, how, 8, 32);
    compare(dtype::f64, dtype::f64, shifted, false, {}, 17, 40);
    compare(dtype::u32, dtype::u64, table_layout::inclusive, true, how, 1, 97);
    compare(dtype::s32, dtype::s32, table_layout::padded, false, how, 33, 1);
    compare(dtype::s64, dtype::u32, table_layout::padded, true, {.threads = 3}, 7, 65);
}

TEST_F(device_shadows, refusals) {
    both_sides table(dtype::f32, 5, 6, 1, 0, stream_), receiver(dtype::f32, 2, 3, 1, 0, stream_),
        rectangle(dtype::f32, 2, 3, 4, 0, stream_), lit(dtype::f32, 2, 3, 1, 0, stream_);
    const auto complaint = [&](const shadow_inputs& in, const any_view& out, const shadow_options& how = {}) {
        return test::complaint([&] { cuda::variance_shadows_async(in, {out}, stream_, how); });
    };
    const const_any_table_view on_device{table.device()};
    const shadow_inputs good{{on_device, on_device}, receiver.device(), rectangle.device()};
    EXPECT_EQ(complaint(good, lit.device(), {.threads = -1}), "threads: is -1, must be 0 (automatic) or more");
    shadow_inputs bad = good;
    bad.rectangle = receiver.device();
    EXPECT_EQ(complaint(bad, lit.device()), "rectangle: channels is 1, must be 4");
    bad = good;
    bad.moments.squares = const_any_table_view{table.host()};
    EXPECT_EQ(complaint(bad, lit.device()).rfind("moments.squares: ", 0), 0U);
    EXPECT_EQ(complaint(good, lit.host()).rfind("visibility: ", 0), 0U);
    EXPECT_EQ(complaint(good, receiver.device()), "visibility: overlaps receiver");
}

}  // namespace
}  // namespace boxsum
