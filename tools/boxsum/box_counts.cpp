#include "box_counts.hpp"

#include "pixels.hpp"

#include <algorithm>
#include <type_traits>

namespace boxsum::cli {
namespace {

/// From a pixel to its bin: by a table where there are few values.
template <typename T>
class bin_finder {
  public:
    explicit bin_finder(const binning& bins) : bins_(bins) {
        if constexpr (tabled)
            for (std::size_t v = 0; v < std::size_t{1} << (8 * sizeof(T)); ++v)
                table_.push_back(number(static_cast<double>(v)));
    }

    std::uint16_t operator()(T pixel) const {
        if constexpr (tabled)
            return table_[pixel];
        else
            return number(static_cast<double>(number_of(pixel)));
    }

  private:
    static constexpr bool tabled = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>;

    std::uint16_t number(double value) const {
        const std::int64_t bin = bins_.bin_of(value);
        return bin < 0 ? binning::no_bin : static_cast<std::uint16_t>(bin);
    }

    const binning& bins_;
    std::vector<std::uint16_t> table_;
};

}  // namespace

writable_image bin_numbers(const image& source, std::int64_t channel, const binning& bins, const box& where) {
    const writable_image out = allocate_image(packed_shape(dtype::u16, where.rows, where.cols, 1));
    const std::int64_t step = source.view.shape.channels;
    visit_type(source.view.shape.type, [&]<typename T>(std::type_identity<T>) {
        const bin_finder<T> find(bins);
        for (std::int64_t r = 0; r < where.rows; ++r) {
            const T* from = row_as<T>(source.view, where.row + r) + where.col * step + channel;
            auto* const to = row_as<std::uint16_t>(out.view, r);
            for (std::int64_t c = 0; c < where.cols; ++c, from += step) to[c] = find(*from);
        }
    });
    return out;
}

std::vector<std::uint64_t> count_boxes(const image& source, std::int64_t channel, const binning& bins,
                                       std::span<const box> boxes) {
    const auto n = static_cast<std::size_t>(bins.bins());
    std::vector<std::uint64_t> counts(boxes.size() * n);
    std::vector<std::uint64_t> of_box(binning::no_bin +
                                      std::size_t{1});  // what has no bin is counted, too, and dropped
    const std::int64_t step = source.view.shape.channels;
    visit_type(source.view.shape.type, [&]<typename T>(std::type_identity<T>) {
        const bin_finder<T> find(bins);
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            const box& b = boxes[i];
            std::fill_n(of_box.begin(), n, 0);
            for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
                const T* pixel = row_as<T>(source.view, r) + b.col * step + channel;
                for (std::int64_t c = 0; c < b.cols; ++c, pixel += step) ++of_box[find(*pixel)];
            }
            std::copy_n(of_box.begin(), n, counts.begin() + static_cast<std::ptrdiff_t>(i * n));
        }
    });
    return counts;
}

}  // namespace boxsum::cli
