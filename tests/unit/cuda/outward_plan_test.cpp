// Tables with an offset and an origin on a device: every entry by definition, on poisoned memory; pixels are small
// integers, so that floating tables are exact, too. And what plans say of such forms.

#include "support/complaint.hpp"
#include "support/device_block.hpp"
#include "support/gpu.hpp"
#include "support/random_blocks.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::device_block;
using test::lying;

/// Of value(row, column).
template <typename Number, typename Value>
Number integral(std::int64_t rows, std::int64_t cols, const Value& value) {
    Number sum{};
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) sum += value(r, c);
    return sum;
}

/// The integral from the origin to (row, col), with the sign of their distances' product, by adding up all pixels of
/// the rectangle between them.
template <typename Number, typename Value>
Number outward(const table_origin& o, std::int64_t row, std::int64_t col, const Value& value) {
    const std::int64_t r0 = std::min(o.row, row), c0 = std::min(o.col, col);
    const Number sum = integral<Number>(std::max(o.row, row) - r0, std::max(o.col, col) - c0,
                                        [&](std::int64_t r, std::int64_t c) { return value(r0 + r, c0 + c); });
    return (row < o.row) != (col < o.col) ? Number{} - sum : sum;
}

class outward_plan : public test::gpu_stream_test, protected test::random_blocks {
  protected:
    outward_plan() : random_blocks(29) {}

    /// Fills the host's table with what the definition says.
    template <bool Squared, typename Pixel, typename Sum>
    static void define(const block<Sum>& table, const block<Pixel>& image, const table_form& form) {
        table.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, Sum& entry) {
            const std::int64_t border = form.border(), channels = image.view().channels();
            const auto offset = static_cast<std::int64_t>(form.offset_of(k, plane, channels));
            const auto sum =
                outward<std::int64_t>(form.origin, r + 1 - border, c + 1 - border, [&](std::int64_t y, std::int64_t x) {
                    const std::int64_t less = static_cast<std::int64_t>(image.view()(y, x, k, plane)) - offset;
                    return Squared ? less * less : less;
                });
            entry = static_cast<Sum>(sum);
        });
    }

    /// Of random images; `Squares` void: without a table of squares.
    template <typename Pixel, typename Sum, typename Squares = void>
    void check(int count, std::int64_t most_rows, std::int64_t most_cols, lying how = lying::row_major) {
        constexpr bool with_squares = !std::is_void_v<Squares>;
        using squares = std::conditional_t<with_squares, Squares, Sum>;
        cuda::workspace workspace(0, stream());
        for (int i = 0; i < count && !HasFailure(); ++i) {
            const std::int64_t rows = 1 + pick(most_rows), cols = 1 + pick(most_cols), channels = 1 + pick(3),
                               planes = 1 + pick(2);
            const auto layout = static_cast<table_layout>(pick(3));
            const auto at = [&](std::int64_t extent) {
                return layout == table_layout::inclusive ? 0 : pick(extent + (layout == table_layout::padded ? 1 : 0));
            };
            const std::int64_t r0 = at(rows), c0 = at(cols);
            table_form form(layout, {r0, c0}, static_cast<double>(pick(3) * 50));
            std::vector<double> offsets(static_cast<std::size_t>(planes * channels));
            for (double& o : offsets) o = static_cast<double>(pick(120));
            if (pick(3) == 0) form.offsets = offsets.data();

            const block<Pixel> image(rows, cols, channels, planes, how, random_);
            image.for_each([&](auto, auto, auto, auto, Pixel& x) { x = static_cast<Pixel>(pick(128)); });
            const std::int64_t table_rows = form.table_extent(rows), table_cols = form.table_extent(cols);
            const block<Sum> sums(table_rows, table_cols, channels, planes, how, random_);
            const block<squares> of_squares(table_rows, table_cols, channels, planes, how, random_);
            const device_block d_image(image, stream());
            const device_block d_sums(sums, stream());
            const device_block d_squares(of_squares, stream());
            SCOPED_TRACE(std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols) + " x " +
                         std::to_string(channels) + ", " + std::string(name_of(layout)) + ", origin " +
                         std::to_string(r0) + ", " + std::to_string(c0) + ", offset " + std::to_string(form.offset) +
                         (form.offsets != nullptr ? ", many" : ""));
            const sat_inputs in{d_image.view()};
            sat_outputs out{{d_sums.view(), form}};
            if (with_squares) out.squares = {d_squares.view(), form};
            std::optional<cuda::sat_plan> plan;
            try {
                plan.emplace(in, out, sat_options{.algorithm = form.is_plain() || pick(4) == 0 ? "outwards" : "auto"});
            } catch (const unsupported& e) {
                ASSERT_NE(std::string(e.what()).find("not compiled"), std::string::npos) << e.what();
                return;
            }
            EXPECT_EQ(plan->algorithm().name, "outwards");
            workspace.reserve(plan->workspace_bytes(), stream());
            for (int run = 0; run < 2; ++run) plan->run_async(in, out, workspace, stream());
            define<false>(sums, image, form);
            if constexpr (with_squares) define<true>(of_squares, image, form);
            EXPECT_TRUE(d_sums.equals_host());
            EXPECT_TRUE(d_squares.equals_host());
        }
    }
};

TEST_F(outward_plan, every_entry_by_definition) {
    check<std::uint8_t, std::uint32_t>(20, 80, 40);
    check<std::uint8_t, std::int32_t>(8, 40, 60);
    check<std::int16_t, std::int64_t>(8, 40, 60);
    check<float, float>(20, 70, 50);
    check<std::uint8_t, double>(8, 40, 60);
    check<double, double>(10, 40, 60);
}

/// Steps along a row are of 512 columns, of 8-byte tables 256.
TEST_F(outward_plan, long_rows_and_many_rows) {
    check<float, float>(3, 3, 1300);
    check<std::uint8_t, std::uint32_t>(3, 400, 4);
    check<double, double>(3, 2, 700);
}

TEST_F(outward_plan, squares) {
    check<float, float, float>(10, 40, 40);
    check<float, float, double>(8, 40, 40);
    check<double, double, double>(8, 40, 40);
}

TEST_F(outward_plan, whatever_the_strides) {
    check<std::uint8_t, std::uint32_t>(15, 50, 50, lying::anyhow);
    check<float, float, float>(10, 50, 50, lying::anyhow);
}

/// More layers than a launch has offsets for.
TEST_F(outward_plan, many_planes_with_offsets_of_their_own) {
    const block<float> image(3, 5, 2, 70, lying::row_major, random_);
    image.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(pick(100)); });
    std::vector<double> offsets(140);
    for (double& o : offsets) o = static_cast<double>(pick(100));
    table_form form(table_layout::padded, {2, 3});
    form.offsets = offsets.data();
    const block<float> sums(4, 6, 2, 70, lying::row_major, random_);
    const device_block d_image(image, stream());
    const device_block d_sums(sums, stream());
    cuda::sat({d_image.view()}, {{d_sums.view(), form}}, stream());
    define<false>(sums, image, form);
    EXPECT_TRUE(d_sums.equals_host());
}

/// |T' - T| <= gamma_k * (integral of |x - o|), with the depth that the record states: rows + cols + 2.
TEST_F(outward_plan, floats_within_their_bound) {
    constexpr std::int64_t rows = 90, cols = 700;
    const block<float> image(rows, cols, 1, 1, lying::row_major, random_);
    image.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(random_() >> 40) * 0x1p-24F; });
    for (const table_origin& origin : {table_origin{}, {45, 350}}) {
        const table_form form(table_layout::padded, origin, 0.3);
        const block<float> sums(rows + 1, cols + 1, 1, 1, lying::row_major, random_);
        const device_block d_image(image, stream());
        const device_block d_sums(sums, stream());
        cuda::sat({d_image.view()}, {{d_sums.view(), form}}, stream());
        std::vector<float> entries((rows + 1) * (cols + 1));
        BOXSUM_CUDA_TRY(cudaMemcpy2DAsync(entries.data(), (cols + 1) * sizeof(float), d_sums.view().data(),
                                          static_cast<std::size_t>(d_sums.view().shape().row_stride),
                                          (cols + 1) * sizeof(float), rows + 1, cudaMemcpyDeviceToHost,
                                          stream().get()));
        stream().synchronize();
        const double gamma = (rows + cols + 2) * static_cast<double>(std::numeric_limits<float>::epsilon()) / 2;
        const auto less = [&](std::int64_t r, std::int64_t c) {
            return static_cast<double>(image.view()(r, c)) - static_cast<double>(0.3F);
        };
        // Every seventh entry of every fifth row: each is a sum over all pixels of its rectangle.
        for (std::int64_t r = 0; r <= rows; r += 5)
            for (std::int64_t c = 0; c <= cols; c += 7) {
                const auto exact = outward<double>(origin, r, c, less);
                const auto sizes = std::abs(outward<double>(
                    origin, r, c, [&](std::int64_t y, std::int64_t x) { return std::abs(less(y, x)); }));
                ASSERT_LE(std::abs(static_cast<double>(entries[static_cast<std::size_t>(r * (cols + 1) + c)]) - exact),
                          1.01 * gamma * sizes)
                    << r << ", " << c;
            }
    }
}

/// By the pipeline where memory lies as it wants it, and by strips elsewhere, with the same plan in the same workspace,
/// where tables of the record `fast` are made, too.
TEST_F(outward_plan, tiles_and_strips_share_a_workspace) {
    const auto check_tables = [&]<typename Pixel, typename Sum>(std::int64_t rows, std::int64_t cols,
                                                                const table_origin& origin) {
        for (const std::int64_t shift : {0, 1, 0}) {
            const std::int64_t pitch = (cols + 31) / 16 * 16 * static_cast<std::int64_t>(sizeof(Pixel));
            std::vector<std::byte> pixels(static_cast<std::size_t>((2 * rows + 1) * pitch));
            for (std::size_t i = 0; i < pixels.size() / sizeof(Pixel); ++i)
                reinterpret_cast<Pixel*>(pixels.data())[i] = static_cast<Pixel>(pick(100));
            const cuda::device_buffer memory(pixels.size(), stream());
            BOXSUM_CUDA_TRY(
                cudaMemcpyAsync(memory.data(), pixels.data(), pixels.size(), cudaMemcpyHostToDevice, stream().get()));
            const view_strides strides{pitch, static_cast<std::int64_t>(sizeof(Pixel)), rows * pitch};
            const image_view<Pixel> image(reinterpret_cast<Pixel*>(pixels.data()) + shift, rows, cols, strides, 1, 2);
            const image_view<Pixel> on_device(static_cast<Pixel*>(memory.data()) + shift, image.shape());
            const std::vector<double> offsets{7, 50};
            table_form form(table_layout::padded, origin);
            form.offsets = offsets.data();
            const block<Sum> sums(rows + 1, cols + 1, 1, 2, lying::row_major, random_);
            const device_block d_sums(sums, stream());
            const sat_inputs in{on_device};
            const sat_outputs out{{d_sums.view(), form}};
            std::optional<cuda::sat_plan> plan;
            try {
                plan.emplace(in, out, sat_options{.algorithm = "outwards", .parameters = "path=tiles"});
            } catch (const unsupported& e) {
                const std::string why = e.what();
                ASSERT_TRUE(why.find("there are none") != std::string::npos ||
                            why.find("capability 9.0") != std::string::npos)
                    << why;
                return;
            }
            cuda::workspace workspace(plan->workspace_bytes(), stream());
            for (int run = 0; run < 2; ++run) plan->run_async(in, out, workspace, stream());
            sums.for_each([&](std::int64_t plane, std::int64_t r, std::int64_t c, auto, Sum& entry) {
                entry = static_cast<Sum>(outward<std::int64_t>(origin, r, c, [&](std::int64_t y, std::int64_t x) {
                    return static_cast<std::int64_t>(image(y, x, 0, plane)) -
                           static_cast<std::int64_t>(offsets[static_cast<std::size_t>(plane)]);
                }));
            });
            EXPECT_TRUE(d_sums.equals_host()) << "shift " << shift;
        }
    };
    check_tables.operator()<float, float>(70, 140, {30, 68});
    check_tables.operator()<float, double>(66, 70, {66, 36});
    check_tables.operator()<std::uint8_t, std::int32_t>(70, 150, {1, 48});
    check_tables.operator()<std::uint8_t, std::uint32_t>(20, 200, {0, 9});
}

TEST_F(outward_plan, keeps_offsets_and_compares_them) {
    const block<float> image(9, 7, 1, 2, lying::row_major, random_);
    image.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(pick(100)); });
    const block<float> sums(10, 8, 1, 2, lying::row_major, random_);
    const device_block d_image(image, stream());
    const device_block d_sums(sums, stream());
    std::vector<double> offsets{3, 40}, others{3, 41};
    table_form form(table_layout::padded, {4, 2});
    form.offsets = offsets.data();
    const cuda::sat_plan plan({d_image.view()}, {{d_sums.view(), form}});
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    const auto run = [&](const table_form& f) {
        plan.run_async({d_image.view()}, {{d_sums.view(), f}}, workspace, stream());
    };
    const std::vector<double> equal = offsets;
    offsets.assign({7, 7});  // the plan has its own
    table_form same = form;
    same.offsets = equal.data();
    run(same);
    define<false>(sums, image, same);
    EXPECT_TRUE(d_sums.equals_host());

    same.offsets = others.data();
    EXPECT_COMPLAINT(run(same),
                     "sums: the form is padded, origin (4, 2), offsets of planes and channels, but the plan "
                     "was made for padded, origin (4, 2), offsets of planes and channels of other values");
    EXPECT_COMPLAINT(run({table_layout::padded, {4, 2}, 3}),
                     "sums: the form is padded, origin (4, 2), offset 3, but the plan was made for");
    EXPECT_COMPLAINT(run({table_layout::padded, {5, 2}}), "sums: the form is padded, origin (5, 2), but the plan");
    EXPECT_COMPLAINT(run(table_layout::padded), "sums: the form is padded, but the plan");
    EXPECT_COMPLAINT(run(table_layout::exclusive), "sums: layout is exclusive, but the plan was made for padded");

    // Calls without a plan: what lies at the same address now.
    for (double value : {5.0, 6.0}) {
        others.assign({value, value + 1});
        same.offsets = others.data();
        cuda::sat({d_image.view()}, {{d_sums.view(), same}}, stream());
        define<false>(sums, image, same);
        EXPECT_TRUE(d_sums.equals_host());
    }
}

TEST_F(outward_plan, in_place) {
    const block<float> image(40, 600, 2, 1, lying::row_major, random_);
    image.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(pick(100)); });
    const device_block d_image(image, stream());
    const table_form form(table_layout::inclusive, {}, 50);
    cuda::sat({d_image.view()}, {{d_image.view(), form}}, stream());
    const image_view<float> view = image.view();
    const auto expected = sat<float>(view, form);
    image.for_each([&](auto, auto r, auto c, auto k, float& x) { x = expected(r, c, k); });
    EXPECT_TRUE(d_image.equals_host());

    // Sums would lie where squares are still to be read.
    const block<float> squares(40, 600, 2, 1, lying::row_major, random_);
    const device_block d_squares(squares, stream());
    for (const table_form& each : {form, table_form(table_layout::inclusive)}) try {
            cuda::sat({d_image.view()}, {.sums = {d_image.view(), each}, .squares = {d_squares.view(), each}},
                      stream());
            ADD_FAILURE() << "squares of an image that its sums overwrite";
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find("squares in place"), std::string::npos) << e.what();
        }
    EXPECT_TRUE(d_image.equals_host() && d_squares.equals_host());
}

TEST_F(outward_plan, refusals) {
    const view_shape image{dtype::u8, 1, 6, 8, 1, 8, 48}, sums{dtype::u32, 1, 7, 9, 1, 36, 252};
    const table_form form(table_layout::padded, {2, 3}, 8);
    const auto refusal = [&](auto call) {
        try {
            call();
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(refusal([&] {
                  cuda::sat_plan({image, sums, {}, {table_layout::padded, {7, 3}}});
              }),
              "sums: origin.row is 7, must be 0 to 6, those that boxes may have");
    EXPECT_EQ(
        refusal([&] { cuda::sat_plan({.image = image, .sums = sums, .form = form, .carries = {.above = sums}}); }),
        "sums: the form is padded, origin (2, 3), offset 8; a part of a larger table takes neither origin nor "
        "offset");
    const std::vector<sat_shapes> list(2, {image, sums, {}, form});
    EXPECT_EQ(refusal([&] { cuda::sat_list_plan{list}; }),
              "shapes[0]: sums: the form is padded, origin (2, 3), offset 8; a list of images takes neither origin nor "
              "offset");
    EXPECT_NE(refusal([&] {
                  cuda::sat_plan({image, sums, sums, form});
              }).find("squares of integers are exact"),
              std::string::npos);
}

}  // namespace
}  // namespace boxsum
