// Lists of images of different sizes, which the production kernels take in one launch.

#include "support/complaint.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/cuda/sat.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace boxsum {
namespace {

using test::gpu_case;
using test::plain_case;

/// Images with all that a list's call takes of them.
struct image_list {
    std::vector<gpu_case> images;
    std::vector<sat_shapes> what;
    std::vector<sat_inputs> inputs;
    std::vector<sat_outputs> outputs;

    image_list(const std::vector<conformance_case>& cases, cuda::stream_ref stream) {
        for (const conformance_case& c : cases) images.emplace_back(c, stream);
        for (const gpu_case& image : images) {
            what.push_back(image.shapes());
            inputs.push_back(image.inputs());
            outputs.push_back(image.outputs());
        }
    }

    bool supported_by(const algorithm_record& record) const {
        return std::all_of(images.begin(), images.end(), [&](const gpu_case& image) -> bool {
            return static_cast<bool>(check_support(record, image.shape(), {}));
        });
    }

    /// Runs it `repeats` times; the first wrong entry.
    std::optional<std::string> mismatch(std::string_view algorithm, int repeats, cuda::stream_ref stream) const {
        const cuda::sat_list_plan plan(what, images[0].options(algorithm));
        cuda::workspace workspace(plan.workspace_bytes(), stream);
        for (int repeat = 0; repeat < repeats; ++repeat) plan.run_async(inputs, outputs, workspace, stream);
        for (const gpu_case& image : images)
            if (auto wrong = image.mismatch(plan.algorithm(), stream)) return wrong;
        return std::nullopt;
    }
};

class list_plan : public test::gpu_stream_test {
  protected:
    /// Every algorithm that can.
    void expect_right(const std::vector<conformance_case>& cases, int repeats = 1) {
        const image_list list(cases, stream());
        int used = 0;
        for (const algorithm_record* record : test::cuda_records()) {
            if (!list.supported_by(*record)) continue;
            const auto wrong = list.mismatch(record->info.name, repeats, stream());
            ASSERT_FALSE(wrong) << *wrong;
            ++used;
        }
        EXPECT_GT(used, 0);
    }
};

TEST_F(list_plan, a_pyramid_is_computed_as_a_list) {
    for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}}) {
        std::vector<conformance_case> levels;
        for (std::int64_t rows = 530, cols = 700; rows > 0; rows /= 2, cols = std::max<std::int64_t>(1, cols / 2))
            levels.push_back(plain_case(types.input, types.table, rows, cols));
        expect_right(levels, 3);
    }
}

TEST_F(list_plan, a_list_longer_than_one_launch_carries) {
    std::vector<conformance_case> images;
    for (std::int64_t i = 0; i < 300; ++i)
        images.push_back(plain_case(dtype::u8, dtype::u32, 1 + i % 37, 1 + (i * 7) % 91));
    expect_right(images);
}

/// Every layout, with planes, channels, gaps and squares, in any order beside each other.
TEST_F(list_plan, images_of_every_shape_lie_beside_each_other) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded})
        for (const bool squares : {false, true}) {
            std::vector<conformance_case> images;
            for (std::int64_t i = 0; i < 12; ++i) {
                conformance_case c = plain_case(dtype::u8, dtype::u32, 1 + i * 53 % 171, 1 + i * 97 % 301);
                c.layout = layout;
                if (squares) c.squares = dtype::u64;
                c.channels = 1 + i % 4;
                c.planes = 1 + i % 3;
                c.image_gap = i % 5;
                c.table_gap = i % 2;
                c.seed = static_cast<std::uint64_t>(i + 1);
                images.push_back(c);
            }
            expect_right(images, 2);
        }
}

/// Too many tiles for one wave beside some that fit: the workspace serves both, one after the other.
TEST_F(list_plan, large_images_have_launches_of_their_own) {
    expect_right({plain_case(dtype::u8, dtype::u32, 70, 300), plain_case(dtype::u8, dtype::u32, 3000, 3100),
                  plain_case(dtype::u8, dtype::u32, 500, 20)},
                 2);
}

/// Sums and squares of the large ones come from one launch where rows are aligned, else from one each.
TEST_F(list_plan, large_images_with_squares_lie_beside_small_ones) {
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded}) {
        std::vector<conformance_case> images{plain_case(dtype::u8, dtype::u32, 70, 300),
                                             plain_case(dtype::u8, dtype::u32, 1500, 1552),
                                             plain_case(dtype::u8, dtype::u32, 1472, 1501)};
        images[1].image_gap = images[1].table_gap = -1;
        for (conformance_case& c : images) {
            c.layout = layout;
            c.squares = dtype::u64;
        }
        expect_right(images);
    }
}

TEST_F(list_plan, production_kernels_take_a_list_together) {
    const image_list list({plain_case(dtype::u8, dtype::u32, 64, 64), plain_case(dtype::u8, dtype::u32, 9, 9)},
                          stream());
    const cuda::sat_list_plan plan(list.what, list.images[0].options("fast"));
    EXPECT_TRUE(plan.together());
}

TEST_F(list_plan, list_entries_that_do_not_fit_are_named) {
    const gpu_case a(plain_case(dtype::u8, dtype::u32, 64, 64), stream());
    const gpu_case b(plain_case(dtype::u8, dtype::u32, 32, 64), stream());
    const gpu_case other(plain_case(dtype::f32, dtype::f32, 32, 64), stream());
    const std::vector<sat_shapes> mixed{a.shapes(), other.shapes()};
    EXPECT_COMPLAINT(cuda::sat_list_plan{mixed}, "shapes[1]: types are 32f32f");
    EXPECT_COMPLAINT(cuda::sat_list_plan(std::span<const sat_shapes>{}), "an empty list");

    const std::vector<sat_inputs> inputs{a.inputs(), b.inputs()};
    std::vector<sat_outputs> outputs{a.outputs(), b.outputs()};
    const cuda::sat_list_plan p(inputs, outputs);
    cuda::workspace workspace(p.workspace_bytes(), stream());
    EXPECT_COMPLAINT(p.run_async(inputs, std::span(outputs).first(1), workspace, stream()), "outputs: has 1 entries");
    outputs[1].sums.entries.data = static_cast<std::byte*>(a.table().data) + 1024;
    EXPECT_COMPLAINT(p.run_async(inputs, outputs, workspace, stream()), "outputs[0]: overlaps entry 1 of the list");
    outputs[1] = b.outputs();
    outputs[1].sums.form = table_layout::exclusive;
    EXPECT_COMPLAINT(p.run_async(inputs, outputs, workspace, stream()),
                     "entry 1 of the list: sums: layout is exclusive");
    outputs[1].sums.form = {};
    outputs[0].squares = outputs[1].sums;
    EXPECT_COMPLAINT(cuda::sat_list_plan(inputs, outputs), "squares");
}

}  // namespace
}  // namespace boxsum
