// A table made in parts, through the public API: any grid of parts, each with what its neighbours made.

#include <boxsum/sat.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct grid {
    std::vector<std::int64_t> rows, cols;  ///< where parts begin, and the end
};

template <typename Random>
std::vector<std::int64_t> cuts(std::int64_t extent, Random& random) {
    std::vector<std::int64_t> at{0, extent};
    for (auto parts = random() % 4; parts > 0; --parts)
        at.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent)));
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    return at;
}

template <typename T>
image_view<T> part_of(const image_view<T>& v, std::int64_t row, std::int64_t col, std::int64_t rows,
                      std::int64_t cols) {
    return {&v(row, col), rows, cols, v.row_stride(), v.channels(), v.planes(), v.plane_stride()};
}

/// Fills the tables of a whole image part by part. Their carries are what lies around them in the tables.
template <typename T, typename Sum, typename Square>
void fill_in_parts(const image_view<const T>& image, const grid& parts, moment_tables<Sum, Square>& tables,
                   const sat_options& options) {
    const auto inclusive = [&](auto& t) { return part_of(t.view().entries(), 1, 1, image.rows(), image.cols()); };
    const auto s = inclusive(tables.sums);
    const auto q = inclusive(tables.squares);
    const auto carries_of = [](const auto& whole, std::int64_t row, std::int64_t col, std::int64_t rows,
                               std::int64_t cols) -> table_carries {
        table_carries c;
        if (row > 0)
            c.above = col > 0 ? part_of(whole, row - 1, col - 1, 1, cols + 1) : part_of(whole, row - 1, 0, 1, cols);
        if (col > 0) c.left = part_of(whole, row, col - 1, rows, 1);
        return c;
    };
    for (std::size_t i = 0; i + 1 < parts.rows.size(); ++i)
        for (std::size_t j = 0; j + 1 < parts.cols.size(); ++j) {
            const std::int64_t row = parts.rows[i], col = parts.cols[j];
            const std::int64_t rows = parts.rows[i + 1] - row, cols = parts.cols[j + 1] - col;
            sat({part_of(image, row, col, rows, cols), carries_of(s, row, col, rows, cols),
                 carries_of(q, row, col, rows, cols)},
                {{part_of(s, row, col, rows, cols)}, {part_of(q, row, col, rows, cols)}}, options);
        }
}

template <typename T>
std::vector<std::byte> bits_of(const table<T>& t) {
    std::vector<std::byte> bits;
    for (std::int64_t plane = 0; plane < t.planes(); ++plane)
        for (std::int64_t r = 1; r < t.rows(); ++r) {
            const auto* const row = reinterpret_cast<const std::byte*>(&t(r, 1, 0, plane));
            bits.insert(bits.end(), row, row + (t.cols() - 1) * t.channels() * static_cast<std::int64_t>(sizeof(T)));
        }
    return bits;
}

/// `exact`: sums are integers, so that parts have the whole's bits; else they are as close as the bound says.
template <typename T, typename Sum, typename Square>
void random_grids(bool exact) {
    std::mt19937_64 random(5);
    for (int turn = 0; turn < 12; ++turn) {
        const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 150);
        const std::int64_t cols = 1 + static_cast<std::int64_t>(random() % 700);
        const std::int64_t channels = turn % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 4) : 1;
        const std::int64_t planes = 1 + turn % 2;
        std::vector<T> pixels(static_cast<std::size_t>(rows * cols * channels * planes));
        for (T& p : pixels) p = static_cast<T>(static_cast<double>(random() % 65536) / (exact ? 257 : 65536.0));
        const image_view<const T> image(pixels.data(), rows, cols, 0, channels, planes);
        const auto whole = sat_squares<Sum, Square>(image, table_layout::padded);
        const grid parts{cuts(rows, random), cuts(cols, random)};
        const std::string what = name_of(squares_triple{dtype_of<T>, dtype_of<Sum>, dtype_of<Square>}) + " " +
                                 std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols) +
                                 " x " + std::to_string(channels) + " in " + std::to_string(parts.rows.size() - 1) +
                                 " x " + std::to_string(parts.cols.size() - 1);
        std::vector<std::byte> first;
        for (const sat_options& options : {sat_options{.threads = 1}, sat_options{.threads = 3},
                                           sat_options{.algorithm = "simd", .parameters = "scheme=bands", .threads = 2},
                                           sat_options{.threads = 4, .store = store_policy::streaming}}) {
            moment_tables<Sum, Square> made{{rows, cols, table_layout::padded, channels, planes},
                                            {rows, cols, table_layout::padded, channels, planes}};
            fill_in_parts(image, parts, made, options);
            std::vector<std::byte> bits = bits_of(made.sums);
            const std::vector<std::byte> more = bits_of(made.squares);
            bits.insert(bits.end(), more.begin(), more.end());
            if (first.empty()) first = bits;
            ASSERT_TRUE(bits == first) << what << ", " << options.threads << " threads";
            if (exact) {
                ASSERT_TRUE(bits_of(made.sums) == bits_of(whole.sums)) << what;
                ASSERT_TRUE(more == bits_of(whole.squares)) << what;
                continue;
            }
            const double bound = static_cast<double>(2 * (rows + cols) + 100) * 0x1p-23;
            for (std::int64_t r = 1; r <= rows; ++r)
                for (std::int64_t c = 1; c <= cols; ++c) {
                    const double want = static_cast<double>(whole.sums(r, c));
                    ASSERT_NEAR(static_cast<double>(made.sums(r, c)), want, bound * want)
                        << what << ' ' << r << ' ' << c;
                }
        }
    }
}

TEST(parts, integer_tables_are_the_whole_bit_for_bit) {
    random_grids<std::uint8_t, std::uint32_t, std::uint64_t>(true);
    random_grids<std::uint8_t, std::uint32_t, std::uint32_t>(true);
    random_grids<std::uint16_t, std::uint64_t, std::uint64_t>(true);
}

TEST(parts, floats_have_bits_of_their_grid_whatever_the_threads) {
    random_grids<float, float, float>(false);
    random_grids<float, float, double>(false);
    random_grids<std::uint8_t, std::uint32_t, double>(true);  // integers below 2^53: exact
}

/// Row sums left of a part that no 32-bit scan can start from: the wide and scalar kernels take over.
TEST(parts, what_lies_left_may_be_beyond_32_bits) {
    const std::vector<std::uint16_t> pixels(40 * 70, 65535);
    const image_view<const std::uint16_t> image(pixels.data(), 40, 70);
    const std::vector<std::uint8_t> bytes(40 * 70, 255);
    const image_view<const std::uint8_t> byte_image(bytes.data(), 40, 70);
    std::vector<std::uint64_t> left;
    std::vector<double> left_reals;
    for (std::uint64_t r = 0; r < 40; ++r) {
        left.push_back((r + 1) * 0x1234567890ULL);
        left_reals.push_back(static_cast<double>(left.back()) + 0.5);
    }
    const auto t = sat<std::uint64_t>({.image = image, .carries = {.left = image_view(left.data(), 40, 1)}});
    const auto reals = sat<double>({.image = byte_image, .carries = {.left = image_view(left_reals.data(), 40, 1)}});
    for (std::int64_t r = 0; r < 40; ++r)
        for (std::int64_t c = 0; c < 70; ++c) {
            const auto n = static_cast<std::uint64_t>((r + 1) * (c + 1));
            ASSERT_EQ(t(r, c), left[static_cast<std::size_t>(r)] + n * 65535) << r << ' ' << c;
            ASSERT_EQ(reals(r, c), left_reals[static_cast<std::size_t>(r)] + static_cast<double>(n * 255));
        }
}

}  // namespace
}  // namespace boxsum
