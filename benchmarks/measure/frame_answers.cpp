#include "measure/frame_answers.hpp"

#include "measure/plain_histogram.hpp"

#include <boxsum/histogram_search.hpp>

#include <random>
#include <utility>

namespace boxsum::bench {

const std::vector<std::string>& answer_names() {
    static const std::vector<std::string> names{"boxes", "search"};
    return names;
}

frame_request request_for_answers(const std::string& name, std::int64_t rows, std::int64_t cols, std::int64_t bins) {
    frame_request r;
    if (name == "boxes") {
        std::mt19937_64 random(11);
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        for (int i = 0; i < 1000; ++i) {
            const std::int64_t row = below(rows), col = below(cols);
            r.boxes.push_back({row, col, 1 + below(rows - row), 1 + below(cols - col)});
        }
    } else {
        r.grids = {{.rows = rows / 10, .cols = cols / 20, .row_step = 4, .col_step = 4}};
        r.target.assign(static_cast<std::size_t>(bins), 1.0);
    }
    return r;
}

std::string check_answers(const frame_request& request, std::int64_t bins, const frame_result& result) {
    const view_shape& s = result.image.shape;
    const image_view<const std::uint8_t> image(static_cast<const std::uint8_t*>(result.image.data), s.rows, s.cols,
                                               s.row_stride);
    histogram_table<std::uint32_t> tensor(bins, s.rows, s.cols);
    plain_histogram<std::uint32_t>(image, bins, tensor.view().entries());
    const auto expected = std::as_const(tensor).view().entries();

    // Four entries a bin, of which those above and to the left of the image are 0
    const auto entry = [&](std::int64_t bin, std::int64_t row, std::int64_t col) {
        return row < 0 || col < 0 ? 0u : expected(bin, row, col);
    };
    for (std::size_t i = 0; i < request.boxes.size(); ++i)
        for (std::int64_t b = 0; b < bins; ++b) {
            const box& at = request.boxes[i];
            const std::int64_t top = at.row - 1, left = at.col - 1, bottom = top + at.rows, right = left + at.cols;
            const std::uint32_t count =
                entry(b, bottom, right) - entry(b, top, right) - entry(b, bottom, left) + entry(b, top, left);
            if (result.histograms.counts.at(i * static_cast<std::size_t>(bins) + static_cast<std::size_t>(b)) != count)
                return "wrong: bin " + std::to_string(b) + " of box " + std::to_string(i);
        }
    if (!request.grids.empty() &&
        result.matches != best_windows(tensor, request.grids, request.target, request.distance, request.count))
        return "wrong: the best window is another one";
    return "equal";
}

}  // namespace boxsum::bench
