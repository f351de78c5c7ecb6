// The tool with --device cuda: every pixel by definition, and computed there.

#include "command_line.hpp"
#include "errors.hpp"
#include "support/emulation/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr std::int64_t rows = 23, cols = 37;

class tool_on_a_device : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    void write(const std::string& name, const std::vector<std::uint8_t>& pixels) const {
        std::ofstream out(path(name), std::ios::binary);
        out << "P5\n" << cols << ' ' << rows << "\n255\n";
        out.write(reinterpret_cast<const char*>(pixels.data()), static_cast<std::streamsize>(pixels.size()));
    }

    std::vector<std::uint8_t> read(const std::string& name) const {
        std::ifstream in(path(name), std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
        EXPECT_GE(bytes.size(), static_cast<std::size_t>(rows * cols));
        return {bytes.end() - rows * cols, bytes.end()};
    }

  private:
    std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                    ("boxsum-tool-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(tool_on_a_device, guided) {
    std::vector<std::uint8_t> image, mask;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        image.push_back(static_cast<std::uint8_t>(i * 7919 % 251));
        mask.push_back(i % 5 == 0 ? 0 : 255);
    }
    write("in.pgm", image);
    write("mask.pgm", mask);
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--mask", path("mask.pgm")}}) {
        const auto smooth = [&](const std::string& device, const std::string& out) {
            std::vector<std::string> line{"guided",    path("in.pgm"), path(out),  "-r",   "2",
                                          "--epsilon", "400",          "--device", device, "-q"};
            line.insert(line.end(), more.begin(), more.end());
            return parse_command_line(line)();
        };
        const std::uint64_t before = emulation::bytes_from_host();
        ASSERT_EQ(smooth("cuda", "device.pgm"), exit_code::done);
        EXPECT_GE(emulation::bytes_from_host(), before + static_cast<std::uint64_t>(rows * cols));
        ASSERT_EQ(smooth("cpu", "host.pgm"), exit_code::done);
        const std::vector<std::uint8_t> found = read("device.pgm"), expected = read("host.pgm");
        for (std::size_t i = 0; i < found.size(); ++i)  // what is near a half may go either way
            ASSERT_LE(std::abs(int{found[i]} - int{expected[i]}), 1) << i;
        EXPECT_NE(found, image);
    }
}

TEST_F(tool_on_a_device, blur_by_depth) {
    std::vector<std::uint8_t> image, depth;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        image.push_back(static_cast<std::uint8_t>(i * 7919 % 251));
        depth.push_back(static_cast<std::uint8_t>(10 + i % 7 * 10));
    }
    write("in.pgm", image);
    write("depth.pgm", depth);
    for (const int order : {1, 2}) {
        const auto blur = [&](const std::string& device, const std::string& out) {
            return parse_command_line({"blur", path("in.pgm"), path(out), "--depth", path("depth.pgm"), "--focus", "20",
                                       "--aperture", "4", "--order", std::to_string(order), "--device", device,
                                       "-q"})();
        };
        const std::uint64_t before = emulation::bytes_from_host();
        ASSERT_EQ(blur("cuda", "device.pgm"), exit_code::done);
        EXPECT_GE(emulation::bytes_from_host(), before + static_cast<std::uint64_t>(rows * cols));

        const auto weight = [&](std::int64_t radius, std::int64_t distance) {
            return order == 1 ? 1
                              : 2 * radius + 1 - std::abs(distance);  // a box, or the tent that it makes with itself
        };
        const std::vector<std::uint8_t> found = read("device.pgm");
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                const double z = depth[static_cast<std::size_t>(r * cols + c)];
                const auto radius = static_cast<std::int64_t>(std::floor(4.0 / order * std::fabs(1 - 20 / z) + 0.5));
                std::int64_t sum = 0, weights = 0;
                for (std::int64_t y = std::max<std::int64_t>(r - order * radius, 0);
                     y <= std::min(r + order * radius, rows - 1); ++y)
                    for (std::int64_t x = std::max<std::int64_t>(c - order * radius, 0);
                         x <= std::min(c + order * radius, cols - 1); ++x) {
                        const std::int64_t w = weight(radius, y - r) * weight(radius, x - c);
                        sum += w * image[static_cast<std::size_t>(y * cols + x)];
                        weights += w;
                    }
                ASSERT_EQ(found[static_cast<std::size_t>(r * cols + c)], (2 * sum + weights) / (2 * weights))
                    << r << ", " << c << ", order " << order;
            }
        ASSERT_EQ(blur("cpu", "host.pgm"), exit_code::done);
        EXPECT_EQ(read("host.pgm"), found);
    }
}

TEST_F(tool_on_a_device, blur_by_radii_with_a_mask) {
    std::vector<std::uint8_t> image, radii, mask;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        image.push_back(static_cast<std::uint8_t>(i * 7919 % 251));
        radii.push_back(static_cast<std::uint8_t>(i * 31 % 5));
        mask.push_back(static_cast<std::uint8_t>(i * 13 % 3));
    }
    write("in.pgm", image);
    write("radii.pgm", radii);
    write("mask.pgm", mask);
    const std::uint64_t before = emulation::bytes_from_host();
    ASSERT_EQ(parse_command_line({"blur", path("in.pgm"), path("out.pgm"), "--radius-map", path("radii.pgm"), "--mask",
                                  path("mask.pgm"), "--border", "wrap", "--device", "cuda", "-q"})(),
              exit_code::done);
    EXPECT_GE(emulation::bytes_from_host(), before + static_cast<std::uint64_t>(3 * rows * cols));
    const std::vector<std::uint8_t> found = read("out.pgm");
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c) {
            const auto at = static_cast<std::size_t>(r * cols + c);
            const std::int64_t radius = radii[at];
            std::int64_t sum = 0, count = 0;
            for (std::int64_t y = r - radius; y <= r + radius; ++y)
                for (std::int64_t x = c - radius; x <= c + radius; ++x) {
                    const auto of = static_cast<std::size_t>((y + rows) % rows * cols + (x + cols) % cols);
                    if (mask[of] == 0) continue;
                    sum += image[of];
                    ++count;
                }
            ASSERT_EQ(found[at], count == 0 ? 0 : (2 * sum + count) / (2 * count)) << r << ", " << c;
        }
}

TEST_F(tool_on_a_device, convolve) {
    std::vector<std::uint8_t> image;
    for (std::int64_t i = 0; i < rows * cols; ++i) image.push_back(static_cast<std::uint8_t>(i * 7919 % 251));
    write("in.pgm", image);
    for (const char* const algorithm : {"auto", "direct"}) {
        const std::uint64_t before = emulation::bytes_from_host();
        ASSERT_EQ(parse_command_line({"convolve", path("in.pgm"), path("out.pgm"), "--kernel", "1 -3; 2 4; 0 1",
                                      "--border", "constant", "--border-value", "9", "--algorithm", algorithm,
                                      "--device", "cuda", "-q"})(),
                  exit_code::done);
        EXPECT_GE(emulation::bytes_from_host(), before + static_cast<std::uint64_t>(rows * cols));
        const std::vector<std::uint8_t> found = read("out.pgm");
        constexpr int weights[3][2] = {{1, -3}, {2, 4}, {0, 1}};
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c) {
                int sum = 0;
                for (std::int64_t i = 0; i < 3; ++i)
                    for (std::int64_t j = 0; j < 2; ++j) {
                        const std::int64_t y = r + i - 1, x = c + j - 1;
                        const bool inside = y >= 0 && y < rows && x >= 0 && x < cols;
                        sum += weights[i][j] * (inside ? image[static_cast<std::size_t>(y * cols + x)] : 9);
                    }
                ASSERT_EQ(found[static_cast<std::size_t>(r * cols + c)], std::clamp(sum, 0, 255)) << r << ", " << c;
            }
    }
}

/// What the library says of its arguments names the tool's options.
TEST_F(tool_on_a_device, depths_that_are_wrong_are_refused_as_on_the_cpu) {
    write("in.pgm", std::vector<std::uint8_t>(rows * cols, 9));
    write("depth.pgm", std::vector<std::uint8_t>(rows * cols, 0));
    const auto refusal = [&](const std::string& device) -> std::string {
        try {
            parse_command_line({"blur", path("in.pgm"), path("out.pgm"), "--depth", path("depth.pgm"), "--focus", "20",
                                "--device", device, "-q"})();
        } catch (const std::exception& e) {
            return e.what();
        }
        return "done";
    };
    EXPECT_EQ(refusal("cuda"), refusal("cpu"));
}

}  // namespace
}  // namespace boxsum::cli
