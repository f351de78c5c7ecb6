#pragma once

#include <boxsum/histogram_pipeline.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// Frames of pipelines, and what must come out, computed frame by frame without a pipeline.
namespace boxsum::test {

/// Random frames, distinct from each other.
struct video {
    std::int64_t rows, cols, frames;
    std::vector<std::uint8_t> pixels;

    video(std::int64_t video_rows, std::int64_t video_cols, std::int64_t count, unsigned seed = 1)
        : rows(video_rows),
          cols(video_cols),
          frames(count),
          pixels(static_cast<std::size_t>(video_rows * video_cols * count)) {
        std::mt19937 engine(seed);
        for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(engine());
    }

    image_view<const std::uint8_t> all() const { return {pixels.data(), rows, cols, 0, 1, frames}; }
    image_view<const std::uint8_t> frame(std::int64_t n) const { return {pixels.data() + n * rows * cols, rows, cols}; }
    frame_format format() const { return {dtype::u8, rows, cols}; }
};

/// A search in half of the frame, two boxes, the tensor: everything that a request can ask for.
inline frame_request whole_request(const video& v, const binning& bins) {
    frame_request r;
    r.region = box{1, 2, v.rows - 3, v.cols - 4};
    r.tensor = true;
    r.boxes = {{1, 2, 5, 7}, {4, 3, v.rows - 6, v.cols - 5}};
    r.grids = {{.rows = 6, .cols = 5, .row_step = 2, .col_step = 1, .region = box{2, 3, v.rows - 5, v.cols - 6}},
               {.rows = 9, .cols = 8, .row_step = 1, .col_step = 3}};
    for (std::int64_t b = 0; b < bins.bins(); ++b) r.target.push_back(static_cast<double>(b % 3));
    r.count = 3;
    r.match_histograms = true;
    return r;
}

/// Pixels of a box, counted one by one.
inline std::vector<std::uint32_t> counted(const image_view<const std::uint8_t>& frame, const binning& bins,
                                          const box& b) {
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(bins.bins()));
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
        for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
            if (const auto k = bins.bin_of(static_cast<double>(frame(r, c))); k >= 0)
                ++counts[static_cast<std::size_t>(k)];
    return counts;
}

/// What is wrong with the result of a frame; nothing when all of it is right. Entries are T.
template <typename T>
std::optional<std::string> first_difference(const frame_result& result, const video& v, const binning& bins,
                                            const frame_request& request, table_layout layout) {
    const auto wrong = [&](const std::string& what) {
        return std::optional<std::string>("frame " + std::to_string(result.frame) + ": " + what);
    };
    if (result.frame < 0 || result.frame >= v.frames) return wrong("there is none");
    const auto frame = v.frame(result.frame);
    for (std::int64_t r = 0; r < v.rows; ++r)
        if (std::memcmp(static_cast<const std::byte*>(result.image.data) + r * result.image.shape.row_stride,
                        frame.row(r), static_cast<std::size_t>(v.cols)) != 0)
            return wrong("image: row " + std::to_string(r));

    const box region = request.region.value_or(box{0, 0, v.rows, v.cols});
    if (result.region != region) return wrong("region");
    if ((result.tensor.entries.data != nullptr) != request.tensor) return wrong("tensor: there, or not there");
    if (request.tensor) {
        const std::int64_t shift = layout == table_layout::padded ? 1 : 0;
        const tensor_shape& s = result.tensor.entries.shape;
        if (result.tensor.form != table_form(layout)) return wrong("tensor: form");
        if (s.type != dtype_of<T> || s.bins != bins.bins() || s.rows != region.rows + shift ||
            s.cols != region.cols + shift)
            return wrong("tensor: shape");
        for (std::int64_t b = 0; b < s.bins; ++b) {
            std::vector<std::uint32_t> column(static_cast<std::size_t>(s.cols));  // counts of the rows so far
            for (std::int64_t r = 0; r < s.rows; ++r) {
                std::uint32_t count = 0;
                const auto* const row = reinterpret_cast<const T*>(
                    static_cast<const std::byte*>(result.tensor.entries.data) + b * s.bin_stride + r * s.row_stride);
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    if (r >= shift && c >= shift)
                        count += bins.bin_of(
                                     static_cast<double>(frame(region.row + r - shift, region.col + c - shift))) == b;
                    column[static_cast<std::size_t>(c)] += count;
                    if (row[c] != static_cast<T>(column[static_cast<std::size_t>(c)]))
                        return wrong("tensor: bin " + std::to_string(b) + ", row " + std::to_string(r) + ", column " +
                                     std::to_string(c));
                }
            }
        }
    }

    std::vector<std::uint32_t> histograms;
    for (const box& b : request.boxes) {
        const auto one = counted(frame, bins, b);
        histograms.insert(histograms.end(), one.begin(), one.end());
    }
    if (result.histograms != histogram_list{histograms, {}}) return wrong("histograms");

    // The search itself has its own tests; here it is held to a search over the tensor of the whole frame.
    std::vector<window_grid> grids = request.grids;
    for (window_grid& g : grids)
        if (!g.region) g.region = region;
    std::vector<histogram_match> matches;
    if (!grids.empty())
        matches = best_windows(integral_histogram<std::uint32_t>(frame, bins), grids, request.target, request.distance,
                               request.count);
    if (result.matches != matches) return wrong("matches");
    histograms.clear();
    if (request.match_histograms)
        for (const histogram_match& m : matches) {
            const auto one = counted(frame, bins, m.where);
            histograms.insert(histograms.end(), one.begin(), one.end());
        }
    return result.match_histograms == histogram_list{histograms, {}} ? std::nullopt : wrong("match_histograms");
}

}  // namespace boxsum::test
