// Adaptive thresholds on photographs that one global threshold cannot separate. Images come from BOXSUM_DATA (default
// ../shared/data beside the project); without them the tests are skipped.
#include <boxsum/filters.hpp>

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace boxsum {
namespace {

struct grey_image {
    std::vector<std::uint8_t> pixels;
    std::int64_t rows = 0, cols = 0;

    image_view<const std::uint8_t> view() const { return {pixels.data(), rows, cols}; }
};

std::filesystem::path data_folder() {
    const char* folder = std::getenv("BOXSUM_DATA");
    return folder != nullptr && *folder != '\0' ? folder : BOXSUM_PROJECT "/../shared/data";
}

grey_image read_grey(const std::string& path) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    grey_image image;
    if (png_image_begin_read_from_file(&png, path.c_str()) == 0) return image;
    png.format = PNG_FORMAT_GRAY;
    image.pixels.resize(PNG_IMAGE_SIZE(png));
    if (png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) == 0) return {};
    image.rows = png.height;
    image.cols = png.width;
    return image;
}

class real_images : public testing::TestWithParam<const char*> {};

/// Share of black pixels in each of 3 x 3 parts of the image.
std::vector<double> black_by_part(const std::vector<std::uint8_t>& mask, std::int64_t rows, std::int64_t cols) {
    std::vector<double> shares;
    for (std::int64_t i = 0; i < 9; ++i) {
        std::int64_t black = 0, all = 0;
        for (std::int64_t r = rows * (i / 3) / 3; r < rows * (i / 3 + 1) / 3; ++r)
            for (std::int64_t c = cols * (i % 3) / 3; c < cols * (i % 3 + 1) / 3; ++c) {
                black += mask[static_cast<std::size_t>(r * cols + c)] == 0;
                ++all;
            }
        shares.push_back(static_cast<double>(black) / static_cast<double>(all));
    }
    return shares;
}

TEST_P(real_images, ink_is_found_in_light_and_in_shadow) {
    const auto path = data_folder() / GetParam();
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << GetParam() << " (set BOXSUM_DATA)";
    const grey_image image = read_grey(path.string());
    ASSERT_GT(image.rows, 0);
    const auto n = image.pixels.size();
    std::vector<std::uint8_t> mask(n);
    const image_view<std::uint8_t> result(mask.data(), image.rows, image.cols);

    // One threshold for the whole image takes the shadow for ink: some part is nearly all black.
    double mean = 0;
    for (const std::uint8_t p : image.pixels) mean += p;
    mean /= static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) mask[i] = image.pixels[i] > mean ? 255 : 0;
    double darkest = 0;
    for (const double share : black_by_part(mask, image.rows, image.cols)) darkest = std::max(darkest, share);
    EXPECT_GT(darkest, 0.6);

    for (const threshold_method method :
         {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola, threshold_method::wolf}) {
        adaptive_threshold({image.view()}, {result}, {.method = method}, {.window = 25});
        for (const std::uint8_t m : mask) ASSERT_TRUE(m == 0 || m == 255);
        int parts_with_ink = 0;
        for (const double share : black_by_part(mask, image.rows, image.cols)) {
            EXPECT_LT(share, 0.55) << name_of(method);
            parts_with_ink += share > 0.005;
        }
        EXPECT_GE(parts_with_ink, 6) << name_of(method);  // margins may have none
    }
}

TEST_P(real_images, blur_keeps_the_mean_and_flattens) {
    const auto path = data_folder() / GetParam();
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << GetParam() << " (set BOXSUM_DATA)";
    const grey_image image = read_grey(path.string());
    ASSERT_GT(image.rows, 0);
    const auto n = image.pixels.size();
    std::vector<double> blurred(n), mean(n), deviation(n), flatter(n);
    const auto view = [&](std::vector<double>& v) { return image_view<double>(v.data(), image.rows, image.cols); };
    // With reflection every pixel is in as many windows as any other, so the mean of the image stays.
    box_filter({image.view()}, {view(blurred)}, {.window = 25, .border = border_mode::reflect});
    double before = 0, after = 0;
    for (std::size_t i = 0; i < n; ++i) {
        before += image.pixels[i];
        after += blurred[i];
    }
    EXPECT_NEAR(before / static_cast<double>(n), after / static_cast<double>(n), 1e-9);
    local_statistics({image.view()}, {.mean = view(mean), .deviation = view(deviation)}, {.window = 25});
    local_statistics({image_view<const double>(blurred.data(), image.rows, image.cols)}, {.deviation = view(flatter)},
                     {.window = 25});
    double rough = 0, smooth = 0;
    for (std::size_t i = 0; i < n; ++i) {
        rough += deviation[i];
        smooth += flatter[i];
    }
    EXPECT_LT(smooth, rough * 0.8);
    std::vector<float> normal(n);
    local_contrast({image.view()}, {image_view<float>(normal.data(), image.rows, image.cols)}, {}, {.window = 25});
    for (const float x : normal) ASSERT_LE(std::abs(x), 25.0f);  // |x - m| / s is at most sqrt(n - 1)
}

INSTANTIATE_TEST_SUITE_P(pages, real_images, testing::Values("page.png", "sudoku.png"),
                         [](const auto& image) { return std::string(image.param).substr(0, 4); });

}  // namespace
}  // namespace boxsum
