#pragma once

#include "support/frames.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <stdexcept>

/// Frames with a weight per pixel. Weights are multiples of one half and few, so that every order of additions gives
/// the same sums, and what comes out is compared exactly.
namespace boxsum::test {

struct weighted_video : video {
    std::vector<float> weights;

    weighted_video(std::int64_t video_rows, std::int64_t video_cols, std::int64_t count, unsigned seed = 1)
        : video(video_rows, video_cols, count, seed), weights(pixels.size()) {
        std::mt19937 engine(seed + 100);
        for (float& w : weights) w = 0.5F * static_cast<float>(engine() % 8);
    }

    image_view<const float> all_weights() const { return {weights.data(), rows, cols, 0, 1, frames}; }
    image_view<const float> weights_of(std::int64_t n) const { return {weights.data() + n * rows * cols, rows, cols}; }
    frame_source source() const { return frames_of({all(), all_weights()}); }
    histogram_inputs inputs(std::int64_t n) const { return {frame(n), weights_of(n)}; }
};

/// Weights of a box, bin by bin, added one by one.
inline std::vector<float> summed(const weighted_video& v, std::int64_t frame, const binning& bins, const box& b) {
    std::vector<float> sums(static_cast<std::size_t>(bins.bins()));
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
            if (const auto k = bins.bin_of(static_cast<double>(v.frame(frame)(r, c))); k >= 0)
                sums[static_cast<std::size_t>(k)] += v.weights_of(frame)(r, c);
    return sums;
}

/// The first entry of a tensor of a region of a frame that is not the sum of weights up to it.
inline std::optional<std::string> wrong_sum(const const_any_histogram_view& tensor, const weighted_video& v,
                                            std::int64_t frame, const binning& bins, const box& region,
                                            table_layout layout) {
    const std::int64_t shift = layout == table_layout::padded ? 1 : 0;
    const tensor_shape& s = tensor.entries.shape;
    if (tensor.form != table_form(layout)) return "tensor: form";
    if (s.type != dtype::f32 || s.bins != bins.bins() || s.rows != region.rows + shift || s.cols != region.cols + shift)
        return "tensor: shape";
    for (std::int64_t b = 0; b < s.bins; ++b) {
        std::vector<float> column(static_cast<std::size_t>(s.cols));  // sums of the rows so far
        for (std::int64_t r = 0; r < s.rows; ++r) {
            float sum = 0;
            const auto* const row = reinterpret_cast<const float*>(static_cast<const std::byte*>(tensor.entries.data) +
                                                                   b * s.bin_stride + r * s.row_stride);
            for (std::int64_t c = 0; c < s.cols; ++c) {
                const std::int64_t i = region.row + r - shift, j = region.col + c - shift;
                if (r >= shift && c >= shift && bins.bin_of(static_cast<double>(v.frame(frame)(i, j))) == b)
                    sum += v.weights_of(frame)(i, j);
                column[static_cast<std::size_t>(c)] += sum;
                if (row[c] != column[static_cast<std::size_t>(c)])
                    return "tensor: bin " + std::to_string(b) + ", row " + std::to_string(r) + ", column " +
                           std::to_string(c);
            }
        }
    }
    return {};
}

/// What is wrong with the result of a frame with weights; nothing when all of it is right.
inline std::optional<std::string> first_weighted_difference(const frame_result& result, const weighted_video& v,
                                                            const binning& bins, const frame_request& request,
                                                            table_layout layout) {
    const auto wrong = [&](const std::string& what) {
        return std::optional<std::string>("frame " + std::to_string(result.frame) + ": " + what);
    };
    for (std::int64_t r = 0; r < v.rows; ++r) {
        const auto* const image = static_cast<const std::byte*>(result.image.data) + r * result.image.shape.row_stride;
        const auto* const weights =
            static_cast<const std::byte*>(result.weights.data) + r * result.weights.shape.row_stride;
        if (std::memcmp(image, v.frame(result.frame).row(r), static_cast<std::size_t>(v.cols)) != 0)
            return wrong("image");
        if (std::memcmp(weights, v.weights_of(result.frame).row(r), static_cast<std::size_t>(v.cols) * 4) != 0)
            return wrong("weights");
    }
    const box region = request.region.value_or(box{0, 0, v.rows, v.cols});
    if ((result.tensor.entries.data != nullptr) != request.tensor) return wrong("tensor: there, or not there");
    if (request.tensor)
        if (const auto entry = wrong_sum(result.tensor, v, result.frame, bins, region, layout)) return wrong(*entry);
    std::vector<float> sums;
    for (const box& b : request.boxes) {
        const auto one = summed(v, result.frame, bins, b);
        sums.insert(sums.end(), one.begin(), one.end());
    }
    if (result.histograms != histogram_list{{}, sums}) return wrong("histograms");

    std::vector<window_grid> grids = request.grids;
    for (window_grid& g : grids)
        if (!g.region) g.region = region;
    const auto whole = integral_histogram<float>(v.inputs(result.frame), bins);
    const auto matches = best_windows(whole, grids, request.target, request.distance, request.count);
    if (result.matches != matches) return wrong("matches");
    sums.clear();
    for (const histogram_match& m : matches) {
        const auto one = summed(v, result.frame, bins, m.where);
        sums.insert(sums.end(), one.begin(), one.end());
    }
    return result.match_histograms == histogram_list{{}, sums} ? std::nullopt : wrong("match_histograms");
}

/// A pipeline of all frames; the request is told beforehand, or planned frame by frame.
inline std::optional<std::string> first_difference_of_pipeline(const weighted_video& v, const binning& bins,
                                                               const frame_request& request,
                                                               const pipeline_options& options, bool planned) {
    const auto plan = [&](std::int64_t frame, const frame_answer* previous) {
        if ((frame > 0) != (previous != nullptr && !previous->histograms.sums.empty()))
            throw std::runtime_error("no sums to plan with");
        return request;
    };
    pipeline_options of_sums = options;
    of_sums.entries = dtype::f32;
    histogram_pipeline pipeline(v.format(), bins, planned ? frame_work{{}, plan} : frame_work{request}, v.source(),
                                of_sums);
    std::int64_t n = 0;
    for (const frame_result* r = pipeline.next(); r != nullptr; r = pipeline.next(), ++n)
        if (const auto wrong = first_weighted_difference(*r, v, bins, request, options.form.layout)) return wrong;
    return n == v.frames ? std::nullopt : std::optional<std::string>("too few frames");
}

/// Frame 0 into host memory, and kept.
inline std::optional<std::string> first_difference_of_tasks(const weighted_video& v, const binning& bins,
                                                            histogram_tasks& tasks) {
    const box all{0, 0, v.rows, v.cols};
    histogram_table<float> tensor(bins.bins(), v.rows, v.cols);
    (void)tasks.run(v.inputs(0), bins, {tensor});
    if (const auto wrong = wrong_sum(tensor, v, 0, bins, all, table_layout::inclusive)) return wrong;
    const kept_histogram kept = tasks.keep(v.inputs(0), bins, dtype::f32);
    const std::vector<box> boxes{all, {3, 4, 5, 6}, {v.rows - 1, v.cols - 1, 1, 1}};
    std::vector<float> sums;
    for (const box& b : boxes) {
        const auto one = summed(v, 0, bins, b);
        sums.insert(sums.end(), one.begin(), one.end());
    }
    if (kept.box_histograms(boxes) != histogram_list{{}, sums}) return "histograms of the kept result";
    return {};
}

}  // namespace boxsum::test
