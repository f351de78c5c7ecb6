// Small shapes of every record and parameter value, on blocks of exactly their size: what compute-sanitizer runs
// (scripts/sanitize_gpu), whose tools slow kernels down a hundredfold.

#include "api/registry.hpp"
#include "support/gpu.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct small_shape {
    std::int64_t rows, cols, channels, planes;
    table_layout layout;
    std::int64_t image_gap, table_gap, offset;
};

// Below, at and beyond one tile of any kernel, and enough tiles for look-back in both directions.
constexpr small_shape shapes[] = {
    {1, 1, 1, 1, table_layout::inclusive, 0, 0, 0},      {33, 65, 1, 1, table_layout::padded, 3, 1, 1},
    {64, 128, 1, 2, table_layout::exclusive, -1, -1, 0}, {130, 258, 1, 1, table_layout::inclusive, 0, 0, 0},
    {257, 300, 3, 1, table_layout::padded, 0, 5, 2},     {300, 520, 1, 1, table_layout::inclusive, -1, -1, 0},
};

class gpu_small : public test::gpu_test, public testing::WithParamInterface<const algorithm_record*> {};

class gpu_small_pipeline : public test::gpu_test {};

/// Of three combinations of types; how many the record supports.
int check_shapes(const algorithm_record& record, std::span<const small_shape> of, const parameter_values& values) {
    struct types {
        dtype input, table;
        std::optional<dtype> squares;
    };
    const record_runner run = cuda::device_runner(cuda::workspace_reuse::exact);
    int checked = 0;
    for (const types& t : {types{dtype::u8, dtype::u32, {}}, types{dtype::f32, dtype::f32, {}},
                           types{dtype::u8, dtype::u32, dtype::u64}}) {
        for (const small_shape& s : of) {
            conformance_case c;
            c.input = t.input;
            c.table = t.table;
            c.squares = t.squares;
            c.rows = s.rows;
            c.cols = s.cols;
            c.channels = s.channels;
            c.planes = s.planes;
            c.layout = s.layout;
            c.image_gap = s.image_gap;
            c.table_gap = s.table_gap;
            c.image_offset = c.table_offset = s.offset;
            if (!check_support(record, problem_of(c), values)) continue;
            execution how;
            how.parameters = values;
            const auto wrong = check_record(record, c, how, run);
            EXPECT_FALSE(wrong) << *wrong << " (" << format_parameters(record, values) << ")";
            if (wrong) return checked;
            ++checked;
        }
    }
    return checked;
}

TEST_P(gpu_small, shapes_of_every_parameter) {
    const algorithm_record& record = *GetParam();
    if (!record.info.built) GTEST_SKIP() << "its kernels were not built";
    std::vector<parameter_values> choices{{}};
    for (std::size_t i = 0; i < record.info.parameters.size(); ++i)
        for (std::size_t value = 1; value < record.info.parameters[i].values.size(); ++value) {
            choices.push_back({});
            choices.back().choice[i] = static_cast<std::uint8_t>(value);
        }
    int checked = 0;
    for (const parameter_values& values : choices) {
        checked += check_shapes(record, shapes, values);
        if (HasFailure()) return;
    }
    EXPECT_GT(checked, 0) << "supports none of the small shapes";
}

TEST_F(gpu_small_pipeline, many_planes) {
    const algorithm_record& fast = *find_record(operation::sat, "fast");
    if (!fast.info.built) GTEST_SKIP() << "its kernels were not built";
    // Two tiles a plane, and more than the two a multiprocessor that one wave takes: rows at multiples of 16 bytes, and
    // rows anywhere.
    const std::int64_t planes = cuda::describe_device(cuda::current_device()).multiprocessors + 8;
    const small_shape shapes_of_planes[] = {{65, 130, 1, planes, table_layout::exclusive, -1, -1, 0},
                                            {65, 129, 1, planes, table_layout::padded, 3, 1, 1}};
    EXPECT_EQ(check_shapes(fast, shapes_of_planes, {}), 6);
}

std::vector<const algorithm_record*> device_records() {
    std::vector<const algorithm_record*> records;
    for (const algorithm_record* record : registry(operation::sat))
        if (record->info.where == backend::cuda) records.push_back(record);
    return records;
}

std::string name_of_record(const testing::TestParamInfo<const algorithm_record*>& subject) {
    std::string name(subject.param->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(registry, gpu_small, testing::ValuesIn(device_records()), name_of_record);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(gpu_small);

}  // namespace
}  // namespace boxsum
