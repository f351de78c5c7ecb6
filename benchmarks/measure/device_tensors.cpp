#include "measure/device_tensors.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "measure/pipeline_runs.hpp"

#include <boxsum/cuda/histogram.hpp>

#include <algorithm>
#include <cstring>

namespace boxsum::bench {

device_tensors::device_tensors(const histogram_extents& extents, int most_tensors, cuda::stream_ref stream)
    : extents_(extents),
      bins_(binning::uniform(extents.bins, 0, 256)),
      pixels_(random_pixels(extents.planes * extents.rows * extents.cols)),
      image_shape_(cuda::device_shape(dtype::u8, extents.rows, extents.cols, 1, extents.planes)),
      shape_(cuda::device_histogram_shape(dtype::u32, extents.bins, extents.rows, extents.cols, {}, extents.planes)),
      image_(cuda::span_bytes(image_shape_), stream) {
    constexpr std::size_t beyond_cache = std::size_t{400} << 20;
    const auto bytes = static_cast<std::size_t>(extents.planes * shape_.entries.plane_stride);
    const auto wanted = static_cast<int>(std::min<std::size_t>(beyond_cache / bytes + 1, 1000));
    for (int i = 0; i < std::clamp(wanted, 1, most_tensors); ++i) tensors_.emplace_back(bytes, stream);
    const image_view<const std::uint8_t> frames(pixels_.data(), extents.rows, extents.cols, 0, 1, extents.planes);
    cuda::copy(const_any_view(frames), any_view{image_.data(), image_shape_}, stream);
}

void device_tensors::poison(int i, cuda::stream_ref stream) const {
    BOXSUM_CUDA_TRY(cudaMemsetAsync(tensor(i).entries.data, 0xa5, tensor_bytes(), stream.get()));
}

device_launch device_tensors::launch_of(const histogram_options& options, cuda::stream_ref stream) const {
    struct call {
        cuda::histogram_plan plan;
        mutable cuda::workspace workspace;
    };
    const cuda::histogram_plan plan(histogram_shapes{image_shape_, shape_}, bins_, options);
    const auto shared = std::make_shared<const call>(call{plan, cuda::workspace(plan.workspace_bytes(), stream)});
    return [this, shared](int i, cuda::stream_ref on) {
        shared->plan.run_async({image()}, {tensor(i)}, shared->workspace, on);
    };
}

const_any_view device_tensors::host_image(std::int64_t plane) const {
    return image_view<const std::uint8_t>(pixels_.data() + plane * extents_.rows * extents_.cols, extents_.rows,
                                          extents_.cols);
}

const histogram_table<std::uint32_t>& device_tensors::expected(std::int64_t plane) const {
    if (expected_plane_ == plane) return expected_;
    if (!expected_plane_) expected_ = histogram_table<std::uint32_t>(extents_.bins, extents_.rows, extents_.cols);
    expected_plane_.reset();
    integral_histogram({host_image(plane)}, bins_, {expected_});
    expected_plane_ = plane;
    return expected_;
}

std::string device_tensors::mismatch(cuda::stream_ref stream) const {
    histogram_table<std::uint32_t> found(1, extents_.rows, extents_.cols);
    const auto* const first = static_cast<const std::byte*>(tensor(0).entries.data);
    const tensor_shape& s = shape_.entries;
    const image_view<std::uint32_t> one = found.view().bin(0).entries();
    for (std::int64_t plane = 0; plane < extents_.planes; ++plane) {
        const tensor_view<const std::uint32_t> right = expected(plane).view().entries();
        for (std::int64_t bin = 0; bin < extents_.bins; ++bin) {
            const view_shape table{dtype::u32, 1, extents_.rows, extents_.cols, 1, s.row_stride, 0};
            cuda::copy(const_any_view{first + plane * s.plane_stride + bin * s.bin_stride, table}, any_view(one),
                       stream);
            for (std::int64_t r = 0; r < extents_.rows; ++r)
                if (std::memcmp(one.row(r), right.bin(bin).row(r), static_cast<std::size_t>(extents_.cols) * 4) != 0)
                    return "frame " + std::to_string(plane) + ", bin " + std::to_string(bin) + ", row " +
                           std::to_string(r);
        }
    }
    return {};
}

}  // namespace boxsum::bench
