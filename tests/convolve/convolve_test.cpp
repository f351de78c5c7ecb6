#include "api/registry.hpp"
#include "convolve/oracle.hpp"
#include "convolve/problem.hpp"
#include "verify/convolve_conformance.hpp"

#include <boxsum/error.hpp>
#include <boxsum/verify.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace boxsum {
namespace {

constexpr border_mode borders[] = {border_mode::constant, border_mode::replicate, border_mode::reflect};

struct shape {
    std::int64_t rows, cols, channels, planes, n, m;
};

/// Images larger and smaller than the kernel, one row, one column, vectors' ends.
constexpr shape shapes[] = {{9, 200, 1, 1, 3, 3}, {7, 67, 3, 2, 5, 4},    {4, 5, 2, 1, 6, 7},    {1, 130, 1, 1, 1, 9},
                            {40, 1, 1, 2, 4, 1},  {12, 33, 4, 1, 20, 20}, {3, 70, 1, 1, 64, 64}, {1, 1, 1, 1, 2, 2}};

template <typename Pixel, typename Result>
void check_all() {
    constexpr Result poison = -12345;
    std::uint32_t seed = 0;
    for (const shape& s : shapes)
        for (const border_mode border : borders)
            for (const int threads : {1, 3}) {
                test::strided<Pixel> image(s.rows, s.cols, s.channels, s.planes, Pixel{77});
                test::strided<double> same(s.rows, s.cols, s.channels, s.planes, 0);
                test::fill(image, same, ++seed);
                test::strided<Result> result(s.rows, s.cols, s.channels, s.planes, poison);
                const std::vector<double> weights = test::random_weights(s.n * s.m, seed);
                const image_view<const double> kernel(weights.data(), s.n, s.m);
                const convolve_options options{
                    .direction = seed % 2 != 0 ? kernel_direction::correlation : kernel_direction::convolution,
                    .border = border,
                    .border_value = 0.75,
                    .threads = threads};
                convolve({image.view, kernel}, {result.view}, options);
                const std::string wrong = test::compare<Result>(result, poison, same.view, kernel, options);
                ASSERT_EQ(wrong, "") << s.rows << " x " << s.cols << " x " << s.channels << ", kernel " << s.n << " x "
                                     << s.m << ", border " << name_of(border);
            }
}

TEST(convolve, agrees_with_the_definition) {
    check_all<std::uint8_t, float>();
    check_all<std::uint16_t, double>();
    check_all<std::int16_t, float>();
    check_all<float, float>();
    check_all<double, double>();
}

/// The answer worked out by hand: a kernel with one weight moves the image.
TEST(convolve, directions_and_centres_are_those_of_scipy) {
    const std::vector<float> image{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};  // 3 x 4, a one in row 1, column 2
    const std::vector<double> kernel{1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::vector<float> result(12, -1);
    const image_view<const float> x(image.data(), 3, 4);
    convolve({x, {kernel.data(), 3, 3}}, {image_view<float>(result.data(), 3, 4)});
    EXPECT_EQ(result, (std::vector<float>{0, 9, 8, 7, 0, 6, 5, 4, 0, 3, 2, 1}));  // scipy.ndimage.correlate
    convolve({x, {kernel.data(), 3, 3}}, {image_view<float>(result.data(), 3, 4)},
             {.direction = kernel_direction::convolution});
    EXPECT_EQ(result, (std::vector<float>{0, 1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9}));  // scipy.ndimage.convolve
    convolve({x, {kernel.data(), 2, 2}}, {image_view<float>(result.data(), 3, 4)},
             {.direction = kernel_direction::convolution});
    EXPECT_EQ(result, (std::vector<float>{0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0}));
    convolve({x, {kernel.data(), 2, 2}}, {image_view<float>(result.data(), 3, 4)});
    EXPECT_EQ(result, (std::vector<float>{0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 2, 1}));
}

TEST(convolve, what_is_not_finite_stays_in_its_windows) {
    std::vector<float> image(7 * 90, 1);
    image[3 * 90 + 40] = std::numeric_limits<float>::infinity();
    const std::vector<double> kernel(15, 1);
    std::vector<float> result(image.size(), -1);
    convolve({image_view<const float>(image.data(), 7, 90), {kernel.data(), 3, 5}},
             {image_view<float>(result.data(), 7, 90)}, {.border = border_mode::reflect});
    for (std::int64_t r = 0; r < 7; ++r)
        for (std::int64_t c = 0; c < 90; ++c) {
            const bool near = r >= 2 && r <= 4 && c >= 38 && c <= 42;
            EXPECT_EQ(result[static_cast<std::size_t>(r * 90 + c)],
                      near ? std::numeric_limits<float>::infinity() : 15.0f)
                << r << " " << c;
        }
}

/// A transposed image, a turned kernel and every other column of what is written: as of copies without gaps.
TEST(convolve, takes_any_strides) {
    constexpr std::int64_t rows = 9, cols = 21;
    std::vector<float> image(rows * cols), turned(rows * cols), expected(rows * cols), result(2 * rows * cols, -3);
    const std::vector<double> weights = test::random_weights(15, 7);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const auto value = static_cast<float>((r * 37 + c * 11) % 64);
            image[static_cast<std::size_t>(r * cols + c)] = value;
            turned[static_cast<std::size_t>(c * rows + r)] = value;
        }
    const image_view<const double> kernel(weights.data(), 3, 5);
    convolve({image_view<const float>(image.data(), rows, cols), kernel},
             {image_view<float>(expected.data(), rows, cols)}, {.direction = kernel_direction::convolution});
    convolve({image_view<const float>(turned.data(), rows, cols, {.row = 4, .col = 4 * rows}),
              image_view<const double>(weights.data() + 14, 3, 5, {.row = -40, .col = -8})},
             {image_view<float>(result.data(), rows, cols, {.row = 8 * cols, .col = 8})},
             {.direction = kernel_direction::correlation, .border_value = 0});
    // A kernel that is turned and correlated is the kernel convolved, where both have their anchors in the middle.
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(result[2 * i], expected[i]) << i;
        EXPECT_EQ(result[2 * i + 1], -3) << i;
    }
}

/// Every record of the CPU by name, over the cases of verify(); and what is asked without a call.
TEST(convolve, registered_algorithms_agree_with_the_definition) {
    int checked = 0;
    for (const algorithm_record* record : registry(operation::convolve)) {
        if (record->info.where != backend::cpu) continue;
        for (const convolve_case& c : convolve_cases(effort::full)) {
            ASSERT_TRUE(supports_case(*record, c)) << record->info.name << ": " << describe(c);
            const auto wrong = check_convolution(*record, c);
            ASSERT_FALSE(wrong) << record->info.name << ": " << describe(c) << ": " << *wrong;
            ++checked;
        }
    }
    EXPECT_EQ(checked, 2 * 6 * 13 * 3);
}

TEST(convolve, verify_takes_records_by_name) {
    algorithm_record wrong = *find_record(operation::convolve, "simd");
    wrong.info.name = "no-such";
    EXPECT_THROW((void)check_convolution(wrong, convolve_cases(effort::quick).front()), unsupported);
    const verification_summary summary = verify(*find_algorithm(operation::convolve, "reference"));
    EXPECT_EQ(summary.passed, 6 * 7 * 3);
    EXPECT_EQ(summary.failed, 0);
}

TEST(convolve, supports_answers_without_memory) {
    const algorithm_info& simd = *find_algorithm(operation::convolve, "simd");
    const double weights[9] = {};
    const view_shape image = image_view<const double>(nullptr, 20, 30).shape();
    EXPECT_TRUE(supports(simd, image, {weights, 3, 3}, dtype::f64));
    EXPECT_NE(supports(simd, image, {weights, 3, 3}, dtype::f32).reason.find("64f"), std::string::npos);
    EXPECT_FALSE(supports(*find_algorithm(operation::sat, "simd"), image, {weights, 3, 3}, dtype::f64));
    EXPECT_FALSE(supports(simd, image, dtype::f64));  // it makes no tables
    EXPECT_THROW((void)supports(simd, image, {weights, 3, 0}, dtype::f64), invalid_argument);
}

TEST(convolve, environment_chooses) {
    const auto chosen = [] {
        const double weights[4] = {};
        const view_shape s = image_view<const float>(nullptr, 4, 4).shape();
        const convolution::job job = convolution::make_job(s, {weights, 2, 2}, s, {});
        return choose(convolution::as_problem(job), backend::cpu, "auto", "").record->info.name;
    };
    EXPECT_EQ(chosen(), "simd");
    ::setenv("BOXSUM_ALGORITHM", "convolve:reference", 1);
    reread_environment();
    const std::string_view forced = chosen();
    ::unsetenv("BOXSUM_ALGORITHM");
    reread_environment();
    EXPECT_EQ(forced, "reference");
}

template <typename Error>
void refuses(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options,
             const std::string& words) {
    try {
        convolve(inputs, outputs, options);
        ADD_FAILURE() << words;
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

TEST(convolve, bad_arguments_are_named_and_nothing_is_written) {
    std::vector<float> image(12, 1), result(12, -3);
    std::vector<double> weights(65 * 65, 1), wide(12, 1);
    const image_view<const float> x(image.data(), 3, 4);
    const image_view<float> y(result.data(), 3, 4);
    const image_view<const double> k(weights.data(), 3, 3);
    refuses<invalid_argument>({x, k}, {y}, {.border = border_mode::shrink}, "border: is shrink");
    refuses<invalid_argument>({x, k}, {y}, {.border = static_cast<border_mode>(9)}, "border: is 9");
    refuses<invalid_argument>({x, k}, {y}, {.direction = static_cast<kernel_direction>(7)}, "direction: is 7");
    refuses<invalid_argument>({x, k}, {y}, {.border_value = std::numeric_limits<double>::infinity()},
                              "border_value: is inf");
    refuses<invalid_argument>({x, k}, {y}, {.threads = -1}, "threads: is -1");
    refuses<unsupported>({x, {weights.data(), 65, 1}}, {y}, {}, "65 x 1");
    refuses<invalid_argument>({x, {weights.data(), 0, 1}}, {y}, {}, "kernel");
    refuses<invalid_argument>({x, {weights.data(), 3, 3, 0, 2}}, {y}, {}, "2 channels");
    refuses<invalid_argument>({x, k}, {image_view<float>(result.data(), 4, 3)}, {}, "result: has 4 rows");
    refuses<invalid_argument>({x, k}, {image_view<float>(image.data(), 3, 4)}, {}, "result");
    refuses<unsupported>({image_view<const double>(wide.data(), 3, 4), k}, {y}, {}, "64f");
    refuses<unsupported>({x, k}, {any_view{result.data(), image_view<std::uint32_t>(nullptr, 3, 4).shape()}}, {},
                         "result: of 32u");
    refuses<unsupported>({x, k}, {y}, {.algorithm = "systolic"}, "algorithm 'systolic' runs on cuda");
    refuses<unsupported>({x, k}, {y}, {.algorithm = "fft"}, "no convolve algorithm is named 'fft'; there are simd");
    refuses<invalid_argument>({x, k}, {image_view<float>(result.data(), 3, 4, view_strides{.row = 16, .col = 0})}, {},
                              "result: col_stride is 0");
    weights[4] = std::numeric_limits<double>::quiet_NaN();
    refuses<invalid_argument>({x, k}, {y}, {}, "row 1, column 1");
    EXPECT_EQ(result, std::vector<float>(12, -3));
}

}  // namespace
}  // namespace boxsum
