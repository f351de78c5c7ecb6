// Small histograms of every record and parameter value, on blocks of exactly their size: what compute-sanitizer runs
// (scripts/sanitize_gpu), whose tools slow kernels down a hundredfold.

#include "api/registry.hpp"
#include "cuda/runtime/runtime.hpp"
#include "reference/histogram_conformance.hpp"
#include "support/gpu.hpp"
#include "support/parameter_choices.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct small_shape {
    std::int64_t rows, cols, planes, bins;
    table_layout layout;
    std::int64_t image_gap, tensor_gap, offset;
};

// Below, at and beyond one tile of any kernel, more bins than a block counts, several tiles both ways.
constexpr small_shape shapes[] = {
    {1, 1, 1, 1, table_layout::inclusive, 0, 0, 0},      {33, 65, 1, 5, table_layout::padded, 3, 1, 1},
    {64, 128, 2, 9, table_layout::inclusive, -1, -1, 0}, {65, 129, 1, 33, table_layout::padded, 0, -1, 0},
    {130, 260, 1, 3, table_layout::inclusive, 0, 0, 0},
};

class gpu_small_histogram : public test::gpu_test, public testing::WithParamInterface<const algorithm_record*> {};

TEST_P(gpu_small_histogram, shapes_of_every_parameter) {
    const algorithm_record& record = *GetParam();
    if (!record.info.built) GTEST_SKIP() << "its kernels were not built";
    const histogram_runner run = cuda::device_histogram_runner(cuda::workspace_reuse::exact);
    int checked = 0;
    for (const parameter_values& values : test::parameter_choices(record))
        for (const small_shape& s : shapes)
            for (const auto& [input, tensor] : {std::pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}}) {
                histogram_case c;
                c.input = input;
                c.tensor = tensor;
                c.layout = s.layout;
                c.bins = s.bins;
                c.rows = s.rows;
                c.cols = s.cols;
                c.planes = s.planes;
                c.image_gap = s.image_gap;
                c.tensor_gap = s.tensor_gap;
                c.image_offset = c.tensor_offset = s.offset;
                c.contents = input == dtype::f32 ? histogram_pattern::outside : histogram_pattern::random;
                if (input == dtype::u8 && s.bins > 5) c.rule = bin_rule::lookup;
                if (!check_support(record, problem_of(c), values)) continue;
                const auto wrong = check_histogram_record(record, c, values, run);
                ASSERT_FALSE(wrong) << *wrong << " (" << format_parameters(record, values) << ")";
                ++checked;
            }
    EXPECT_GT(checked, 0) << "supports none of the small shapes";
}

std::vector<const algorithm_record*> device_records() {
    std::vector<const algorithm_record*> records;
    for (const algorithm_record* record : registry(operation::histogram))
        if (record->info.where == backend::cuda) records.push_back(record);
    return records;
}

std::string name_of_record(const testing::TestParamInfo<const algorithm_record*>& subject) {
    std::string name(subject.param->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(registry, gpu_small_histogram, testing::ValuesIn(device_records()), name_of_record);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(gpu_small_histogram);

}  // namespace
}  // namespace boxsum
