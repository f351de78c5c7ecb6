// Small histograms of every record and parameter value, on blocks of exactly their size: what compute-sanitizer runs
// (scripts/sanitize_gpu), whose tools slow kernels down a hundredfold.

#include "api/registry.hpp"
#include "support/gpu.hpp"
#include "support/parameter_choices.hpp"
#include "verify/device_runner.hpp"
#include "verify/histogram_conformance.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace boxsum {
namespace {

struct small_shape {
    std::int64_t rows, cols, planes, bins;
    table_layout layout;
    std::int64_t image_gap, tensor_gap, offset;
};

// Below, at and beyond one tile of any kernel, more bins than a block counts, several tiles both ways. Many bins have
// few rows: the slow record launches kernels for each row of each bin.
constexpr small_shape shapes[] = {
    {1, 1, 1, 1, table_layout::inclusive, 0, 0, 0},      {33, 65, 1, 5, table_layout::padded, 3, 1, 1},
    {64, 128, 2, 9, table_layout::inclusive, -1, -1, 0}, {65, 129, 1, 2, table_layout::padded, 0, -1, 0},
    {17, 129, 1, 33, table_layout::padded, 0, -1, 0},    {130, 260, 1, 3, table_layout::inclusive, 0, 0, 0},
};

/// A test for each record and shape, so that several processes share the slow ones.
class gpu_small_histogram : public test::gpu_test,
                            public testing::WithParamInterface<std::tuple<const algorithm_record*, small_shape>> {};

TEST_P(gpu_small_histogram, shape_with_every_parameter) {
    const algorithm_record& record = *std::get<0>(GetParam());
    const small_shape& s = std::get<1>(GetParam());
    if (!record.info.built) GTEST_SKIP() << "its kernels were not built";
    const histogram_runner run = cuda::device_histogram_runner(cuda::workspace_reuse::exact);
    int checked = 0;
    for (const parameter_values& values : test::parameter_choices(record))
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
    EXPECT_GT(checked, 0) << "supports nothing of this shape";
}

std::vector<const algorithm_record*> device_records() {
    std::vector<const algorithm_record*> records;
    for (const algorithm_record* record : registry(operation::histogram))
        if (record->info.where == backend::cuda) records.push_back(record);
    return records;
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<const algorithm_record*, small_shape>>& subject) {
    std::string name(std::get<0>(subject.param)->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    const small_shape& s = std::get<1>(subject.param);
    return name + '_' + std::to_string(s.rows) + 'x' + std::to_string(s.cols) + '_' + std::to_string(s.bins) + "_bins";
}

INSTANTIATE_TEST_SUITE_P(registry, gpu_small_histogram,
                         testing::Combine(testing::ValuesIn(device_records()), testing::ValuesIn(shapes)),
                         name_of_case);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(gpu_small_histogram);

}  // namespace
}  // namespace boxsum
