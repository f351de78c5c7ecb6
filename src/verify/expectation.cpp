#include "verify/expectation.hpp"

#include "core/visit_types.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

namespace boxsum {
namespace {

template <typename T>
long double to_long_double(T value) {
    if constexpr (std::is_same_v<T, float16>)
        return to_float(value);
    else
        return static_cast<long double>(value);
}

template <typename T>
image_view<const T> typed(const void* data, const view_shape& s) {
    return {static_cast<const T*>(data), s};
}

template <typename T>
std::string text(T value) {
    char buffer[64];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

int float_class(long double x) {
    return std::isnan(x) ? 0 : std::isinf(x) ? (x > 0 ? 1 : -1) : 2;
}

}  // namespace

/// The inclusive sums of a plane of the whole image, one row after the other: a row's fit the first cache, where all of
/// them would be up to 32 bytes a pixel of fresh memory.
class expectation::rows {
  public:
    rows(const expectation& of, std::int64_t plane) : of_(of), plane_(plane) {
        const auto length = static_cast<std::size_t>(of.image_.cols * of.image_.channels);
        if (!is_floating(of.table_.type)) {
            modular_.resize(length);
            return;
        }
        sums_.resize(length);
        if (is_signed(of.image_.type)) magnitudes_.resize(length);
    }

    /// From here on it is this row's sums, zeros for row -1. Rows only follow each other.
    void go_to(std::int64_t row) {
        for (; row_ < row; ++row_) add(row_ + 1);
    }

    /// The table's entry.
    template <typename T>
    T entry(std::int64_t c, std::int64_t channel) const {
        if (c < 0) return T{};
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(modular_[at(c, channel)]);
        else
            return static_cast<T>(sums_[at(c, channel)]);
    }

    long double sum(std::int64_t c, std::int64_t channel) const { return sums_[at(c, channel)]; }
    long double magnitude(std::int64_t c, std::int64_t channel) const {
        return (magnitudes_.empty() ? sums_ : magnitudes_)[at(c, channel)];
    }

  private:
    std::size_t at(std::int64_t c, std::int64_t channel) const {
        return static_cast<std::size_t>(c * of_.image_.channels + channel);
    }

    // T(r, c) = I(r, c) + T(r-1, c) + T(r, c-1) - T(r-1, c-1) would subtract; the row sum does not (no infinities of
    // opposite sign that the definition lacks).
    void add(std::int64_t r) {
        visit_dtype(of_.image_.type, [&]<typename T>() {
            const std::int64_t channels = of_.image_.channels, length = of_.image_.cols * channels;
            const T* const pixels =
                reinterpret_cast<const T*>(of_.pixels_.data()) + (plane_ * of_.image_.rows + r) * length;
            const auto scan = [&](auto& sums, auto wide) {
                auto* const row = sums.data();
                for (std::int64_t channel = 0; channel < channels; ++channel) {
                    typename std::decay_t<decltype(sums)>::value_type row_sum{};
                    for (std::int64_t i = channel; i < length; i += channels) {
                        row_sum += wide(pixels[i]);
                        row[i] += row_sum;
                    }
                }
            };
            const bool square = of_.square_;
            if (sums_.empty()) {
                if constexpr (std::is_integral_v<T>)
                    scan(modular_, [&](T pixel) {
                        const auto x = static_cast<std::uint64_t>(pixel);
                        return square ? x * x : x;
                    });
                return;
            }
            const auto wide = [&](T pixel) {
                const long double x = to_long_double(pixel);
                return square ? x * x : x;
            };
            scan(sums_, wide);
            if (magnitudes_.empty()) return;
            scan(magnitudes_, [&](T pixel) {
                const long double x = std::fabs(wide(pixel));
                return std::isfinite(x) ? x : 0.0L;  // where it matters the sum is not finite anyway
            });
        });
    }

    const expectation& of_;
    std::int64_t plane_;
    std::int64_t row_ = -1;
    std::vector<std::uint64_t> modular_;   // integer table: modulo 2^64
    std::vector<long double> sums_;        // floating table
    std::vector<long double> magnitudes_;  // and sums of absolute values, where they are others
};

expectation::expectation(const problem& p, const const_any_view& whole, std::int64_t row, std::int64_t col, bool square)
    : table_(square ? *p.squares : p.table),
      image_(whole.shape),
      row_(row),
      col_(col),
      shift_(p.form.border()),
      square_(square) {
    const std::int64_t pixel = image_.channels * static_cast<std::int64_t>(size_of(image_.type));
    const std::int64_t stride = image_.pixel_stride();
    const std::int64_t pieces = stride == pixel ? 1 : image_.cols;  // of a row, each together
    const std::int64_t bytes = image_.cols / pieces * pixel;
    pixels_.resize(static_cast<std::size_t>(image_.planes * image_.rows * image_.cols * pixel));
    std::byte* to = pixels_.data();
    for (std::int64_t plane = 0; plane < image_.planes; ++plane)
        for (std::int64_t r = 0; r < image_.rows; ++r)
            for (std::int64_t piece = 0; piece < pieces; ++piece, to += bytes)
                std::memcpy(to,
                            static_cast<const std::byte*>(whole.data) + plane * image_.plane_stride +
                                r * image_.row_stride + piece * stride,
                            static_cast<std::size_t>(bytes));
}

void expectation::put_entries(std::int64_t row, std::int64_t col, const any_view& entries) const {
    const view_shape& s = entries.shape;
    visit_dtype(s.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>) {
            const image_view<T> out(static_cast<T*>(entries.data), s.rows, s.cols, s.row_stride, s.channels, s.planes,
                                    s.plane_stride);
            for (std::int64_t plane = 0; plane < s.planes; ++plane) {
                rows whole(*this, plane);
                for (std::int64_t r = 0; r < s.rows; ++r) {
                    whole.go_to(row + r);
                    for (std::int64_t c = 0; c < s.cols; ++c)
                        for (std::int64_t channel = 0; channel < s.channels; ++channel)
                            out(r, c, channel, plane) = whole.entry<T>(col + c, channel);
                }
            }
        }
    });
}

template <typename T>
std::optional<std::string> expectation::compare(const void* table, std::int64_t depth) const {
    const image_view<const T> view = typed<T>(table, table_);
    const long double unit = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
    // Their product is T's smallest denormal. By itself compilers keep it as a T, which x87 takes a hundred cycles to
    // load.
    const long double tiny[] = {std::is_same_v<T, float> ? 0x1p-75L : 0x1p-537L,
                                std::is_same_v<T, float> ? 0x1p-74L : 0x1p-537L};
    // A square is one rounding more, and may fall below the smallest denormal.
    const bool is_part = row_ > 0 || col_ > 0;
    const long double k = static_cast<long double>(depth + (square_ ? 1 : 0) + (is_part ? 3 : 0));
    const long double gamma = k * unit / (1 - k * unit);
    // Texts are made where an entry is wrong: a string in the loop over the others costs more than the comparison.
    const auto wrong = [&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t channel, T got,
                           const std::string& expected) {
        return std::string(square_ ? "squares" : "table") + " at plane " + std::to_string(plane) + ", row " +
               std::to_string(r) + ", col " + std::to_string(c) + ", channel " + std::to_string(channel) + ": " +
               text(got) + ", expected " + expected;
    };
    for (std::int64_t plane = 0; plane < table_.planes; ++plane) {
        rows whole(*this, plane);
        for (std::int64_t r = 0; r < table_.rows; ++r) {
            const std::int64_t row = row_ + r - shift_;
            whole.go_to(row);
            for (std::int64_t c = 0; c < table_.cols; ++c) {
                const T* const pixel = &view(r, c, 0, plane);
                const bool border = r < shift_ || c < shift_;
                const std::int64_t col = col_ + c - shift_;
                for (std::int64_t channel = 0; channel < table_.channels; ++channel) {
                    const T got = pixel[channel];
                    if constexpr (std::is_integral_v<T>) {
                        const T want = whole.entry<T>(col, channel);
                        if (got != want) return wrong(plane, r, c, channel, got, text(want));
                    } else {
                        const long double want =
                            border ? static_cast<long double>(whole.entry<T>(col, channel)) : whole.sum(col, channel);
                        const long double underflow =
                            square_ && !border ? static_cast<long double>((row + 1) * (col + 1)) * tiny[0] * tiny[1]
                                               : 0.0L;
                        const long double bound = border ? 0.0L : gamma * whole.magnitude(col, channel) + underflow;
                        const auto value = static_cast<long double>(got);
                        // The bound is finite, so what is not finite is never within it.
                        const bool ok = std::fabs(value - want) <= bound ||
                                        (float_class(want) != 2 && float_class(value) == float_class(want));
                        if (!ok)
                            return wrong(
                                plane, r, c, channel, got,
                                text(static_cast<double>(want)) + " within " + text(static_cast<double>(bound)));
                    }
                }
            }
        }
    }
    return {};
}

std::optional<std::string> expectation::mismatch(const void* table, std::int64_t depth) const {
    std::optional<std::string> result;
    visit_dtype(table_.type, [&]<typename T>() {
        if constexpr (std::is_same_v<T, u32> || std::is_same_v<T, s32> || std::is_same_v<T, u64> ||
                      std::is_same_v<T, s64> || std::is_floating_point_v<T>)
            result = compare<T>(table, depth);
        else
            result = "type " + std::string(name_of(table_.type)) + " is no table type";
    });
    return result;
}

double expectation::rms_error(const void* table) const {
    long double sum = 0;
    std::int64_t count = 0;
    visit_dtype(table_.type, [&]<typename T>() {
        if constexpr (std::is_floating_point_v<T>) {
            const image_view<const T> view = typed<T>(table, table_);
            for (std::int64_t plane = 0; plane < table_.planes; ++plane) {
                rows whole(*this, plane);
                for (std::int64_t r = shift_; r < table_.rows; ++r) {
                    whole.go_to(row_ + r - shift_);
                    for (std::int64_t c = shift_; c < table_.cols; ++c)
                        for (std::int64_t channel = 0; channel < table_.channels; ++channel) {
                            const long double want = whole.sum(col_ + c - shift_, channel);
                            if (!std::isfinite(want)) continue;
                            const long double e = static_cast<long double>(view(r, c, channel, plane)) - want;
                            sum += e * e;
                            ++count;
                        }
                }
            }
        }
    });
    return count == 0 ? 0.0 : static_cast<double>(std::sqrt(sum / static_cast<long double>(count)));
}

}  // namespace boxsum
