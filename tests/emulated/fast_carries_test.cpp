// Tables in parts by the record `fast` on an emulated device: random grids of parts, each with the carries that the
// whole table has around it, are the table at once.

#include "api/registry.hpp"
#include "core/visit_types.hpp"
#include "cuda/production/records.hpp"
#include "cuda/workspace.hpp"
#include "support/emulation/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

/// Planes of rows of interleaved channels, rows `gap` elements apart.
template <typename T>
struct planes_of {
    view_shape view;
    std::vector<T> data;

    planes_of(std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t gap,
              T value = {}) {
        constexpr std::int64_t size = sizeof(T);
        view.type = dtype_of<T>;
        view.planes = planes;
        view.rows = rows;
        view.cols = cols;
        view.channels = channels;
        view.row_stride = (cols * channels + gap) * size;
        view.plane_stride = rows * view.row_stride;
        data.assign(static_cast<std::size_t>(planes * view.plane_stride / size + 8), value);
    }
    T& at(std::int64_t plane, std::int64_t row, std::int64_t element) {
        return data[static_cast<std::size_t>(plane * view.plane_stride + row * view.row_stride) / sizeof(T) +
                    static_cast<std::size_t>(element)];
    }
    /// Of a part.
    view_shape part(std::int64_t rows, std::int64_t cols) const {
        view_shape v = view;
        v.rows = rows;
        v.cols = cols;
        return v;
    }
};

struct random_shapes {
    std::mt19937 engine;

    std::int64_t from_to(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(most - least + 1));
    }
    /// 0, up to three cuts, the end.
    std::vector<std::int64_t> cuts(std::int64_t end) {
        std::vector<std::int64_t> all = {0, end};
        for (std::int64_t n = from_to(0, 3); n > 0; --n) all.push_back(from_to(0, end));
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }
};

/// Of an image, or of its squares; the whole table, of every layout the entries but the border.
template <typename Table, bool Squares, typename Pixel>
planes_of<Table> whole_table(planes_of<Pixel>& image, std::int64_t gap) {
    const view_shape& v = image.view;
    using wide = std::conditional_t<std::is_integral_v<Table>, std::uint64_t, double>;
    planes_of<Table> whole(v.planes, v.rows, v.cols, v.channels, gap);
    for (std::int64_t plane = 0; plane < v.planes; ++plane)
        for (std::int64_t r = 0; r < v.rows; ++r) {
            std::vector<wide> row(static_cast<std::size_t>(v.channels));
            for (std::int64_t e = 0; e < v.cols * v.channels; ++e) {
                const auto x = static_cast<wide>(image.at(plane, r, e));
                wide& sum = row[static_cast<std::size_t>(e % v.channels)] += Squares ? x * x : x;
                whole.at(plane, r, e) =
                    static_cast<Table>(sum + (r > 0 ? static_cast<wide>(whole.at(plane, r - 1, e)) : wide{}));
            }
        }
    return whole;
}

struct part_place {
    std::int64_t row, col, rows, cols;
};

/// The carries of a part, which lie in the whole table; without corner where the part starts at its first column.
template <typename Table>
void take_carries(planes_of<Table>& whole, const part_place& at, carry_shapes& shapes, carry_data& memory) {
    const std::int64_t corner = at.col > 0 ? 1 : 0, channels = whole.view.channels;
    if (at.row > 0) {
        shapes.above = whole.part(1, at.cols + corner);
        memory.above = &whole.at(0, at.row - 1, (at.col - corner) * channels);
    }
    if (at.col > 0) {
        shapes.left = whole.part(at.rows, 1);
        memory.left = &whole.at(0, at.row, (at.col - 1) * channels);
    }
}

/// Where a part's table, poison and all, is not that part of the whole table; or empty.
template <typename Table>
std::string what_differs(planes_of<Table>& whole, planes_of<Table>& table, const part_place& at, table_layout layout,
                         Table poison) {
    const std::int64_t border = layout == table_layout::inclusive ? 0 : 1, channels = whole.view.channels;
    for (std::int64_t plane = 0; plane < table.view.planes; ++plane)
        for (std::int64_t r = 0; r < table.view.rows; ++r)
            for (std::int64_t e = 0; e < table.view.row_stride / std::int64_t{sizeof(Table)}; ++e) {
                const std::int64_t row = at.row + r - border, element = at.col * channels + e - border * channels;
                Table expected = row < 0 || element < 0 ? Table{} : whole.at(plane, row, element);
                if (e >= table.view.cols * channels) expected = poison;
                if (table.at(plane, r, e) != expected)
                    return "plane " + std::to_string(plane) + ", row " + std::to_string(r) + ", element " +
                           std::to_string(e) + " of the part at " + std::to_string(at.row) + ", " +
                           std::to_string(at.col) + " of " + std::to_string(at.rows) + " x " + std::to_string(at.cols);
            }
    return {};
}

class fast_carries : public ::testing::Test {
  protected:
    template <typename Pixel, typename Table, typename Squares = void>
    void expect_parts(std::string_view parameters, const emulation::settings& device, std::int64_t most_rows,
                      std::int64_t most_cols) {
        using squares_type = std::conditional_t<std::is_void_v<Squares>, Table, Squares>;
        const emulation::scoped_settings scope(device);
        const parameter_values values = parse_parameters(sat_fast_record, parameters);
        const table_layout layout = std::vector{table_layout::inclusive, table_layout::exclusive,
                                                table_layout::padded}[static_cast<std::size_t>(turn_ % 3)];
        const std::int64_t channels = std::is_void_v<Squares> || turn_ % 4 == 0 ? random_.from_to(1, 4) : 1;
        const std::int64_t rows = random_.from_to(1, most_rows), cols = random_.from_to(1, most_cols);
        const std::int64_t planes = random_.from_to(1, 2);
        planes_of<Pixel> image(planes, rows, cols, channels, random_.from_to(0, 4));
        for (Pixel& x : image.data)
            x = static_cast<Pixel>(std::is_integral_v<Table> ? random_.engine() : random_.engine() % 8);
        auto whole = whole_table<Table, false>(image, random_.from_to(0, 4));
        auto whole_squares = whole_table<squares_type, true>(image, random_.from_to(0, 4));
        const auto row_cuts = random_.cuts(rows), col_cuts = random_.cuts(cols);
        for (std::size_t i = 0; i + 1 < row_cuts.size(); ++i)
            for (std::size_t j = 0; j + 1 < col_cuts.size(); ++j) {
                const part_place at{row_cuts[i], col_cuts[j], row_cuts[i + 1] - row_cuts[i],
                                    col_cuts[j + 1] - col_cuts[j]};
                const std::int64_t padding = layout == table_layout::padded ? 1 : 0;
                constexpr auto poison = static_cast<Table>(77);
                constexpr auto squares_poison = static_cast<squares_type>(78);
                const std::int64_t gap =
                    turn_ % 2 == 0 ? random_.from_to(0, 4) : (16 - (at.cols + padding) * channels % 16) % 16;
                planes_of<Table> table(planes, at.rows + padding, at.cols + padding, channels, gap, poison);
                planes_of<squares_type> squares(planes, at.rows + padding, at.cols + padding, channels, gap,
                                                squares_poison);
                problem p;
                p.image = image.part(at.rows, at.cols);
                p.table = table.view;
                p.form = layout;
                buffers memory{&image.at(0, at.row, at.col * channels), table.data.data()};
                take_carries(whole, at, p.carries, memory.carries);
                if (!std::is_void_v<Squares>) {
                    p.squares = squares.view;
                    memory.squares = squares.data.data();
                    take_carries(whole_squares, at, p.squares_carries, memory.squares_carries);
                }
                ASSERT_TRUE(check_support(sat_fast_record, p, values));
                run(p, memory, values);
                const std::string sums_differ = what_differs(whole, table, at, layout, poison);
                EXPECT_EQ(sums_differ, "") << where(parameters, layout, rows, cols, channels);
                if (std::is_void_v<Squares>) continue;
                const std::string squares_differ = what_differs(whole_squares, squares, at, layout, squares_poison);
                EXPECT_EQ(squares_differ, "") << "squares, " << where(parameters, layout, rows, cols, channels);
            }
        ++turn_;
    }

    static std::string where(std::string_view parameters, table_layout layout, std::int64_t rows, std::int64_t cols,
                             std::int64_t channels) {
        return std::string(parameters) + ", " + std::string(name_of(layout)) + ", whole " + std::to_string(rows) +
               " x " + std::to_string(cols) + ", " + std::to_string(channels) + " channels";
    }

    void run(const problem& p, const buffers& memory, const parameter_values& values) {
        const std::size_t bytes = sat_fast_record.workspace_bytes(p, values);
        workspace_.assign(workspace_header_bytes + 256 + bytes, std::byte{});
        const auto begin = reinterpret_cast<std::uintptr_t>(workspace_.data());
        std::byte* const header = workspace_.data() + (256 - begin % 256) % 256;
        execution how;
        how.parameters = values;
        how.header = reinterpret_cast<workspace_header*>(header);
        how.workspace = header + workspace_header_bytes;
        how.workspace_bytes = bytes;
        sat_fast_record.enqueue(p, memory, how);
    }

    random_shapes random_{std::mt19937{7}};
    std::vector<std::byte> workspace_;
    int turn_ = 0;
};

TEST_F(fast_carries, parts_by_tiles_are_the_table_at_once) {
    for (const int capability : {9, 9, 8})
        for (int i = 0; i < 12; ++i) {
            const emulation::settings device{.seed = static_cast<std::uint64_t>(i + 1),
                                             .resident_blocks = 1 + i % 3,
                                             .multiprocessors = 1 + i % 2,
                                             .compute_capability = capability};
            expect_parts<u8, u32>("path=tiles", device, 420, 420);
            expect_parts<f32, f32>("path=tiles", device, 300, 300);
            expect_parts<f64, f64>("path=tiles", device, 200, 200);
        }
}

/// Which are computed in column parts themselves, on this device from 8192 columns on.
TEST_F(fast_carries, parts_of_wide_tables_are_the_table_at_once) {
    const emulation::settings device{.multiprocessors = 1};
    for (int i = 0; i < 3; ++i) {
        expect_parts<u8, u32>("path=tiles", device, 3, 40000);
        expect_parts<f32, f32>("path=tiles", device, 3, 40000);
    }
    expect_parts<u8, u32>("path=tiles", device, 70, 20000);
    expect_parts<u8, u32, u64>("path=tiles", device, 3, 20000);
}

TEST_F(fast_carries, parts_by_one_wave_are_the_table_at_once) {
    for (int i = 0; i < 12; ++i) {
        const emulation::settings device{.seed = static_cast<std::uint64_t>(i + 1),
                                         .multiprocessors = std::vector{2, 8, 200}[static_cast<std::size_t>(i % 3)]};
        expect_parts<u8, u32>("path=wave", device, 300, 300);
        expect_parts<f32, f32>("path=wave", device, 200, 300);
        expect_parts<f64, f64>("path=wave", device, 200, 200);
    }
}

TEST_F(fast_carries, parts_of_both_tables_are_the_tables_at_once) {
    for (const std::string_view parameters : {"path=tiles", "path=wave", ""})
        for (int i = 0; i < 8; ++i) {
            const emulation::settings device{.seed = static_cast<std::uint64_t>(i + 1), .multiprocessors = 1};
            expect_parts<u8, u32, u64>(parameters, device, 200, 300);
            expect_parts<u8, u32, u32>(parameters, device, 200, 300);
            expect_parts<f32, f32, f32>(parameters, device, 100, 200);
        }
}

}  // namespace
}  // namespace boxsum
