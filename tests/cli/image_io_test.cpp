#include "errors.hpp"
#include "image_io/codecs.hpp"
#include "image_io/format.hpp"
#include "image_io/image_file.hpp"
#include "image_io/memory_limit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace boxsum::cli {
namespace {

constexpr dtype every_type[] = {dtype::u8,  dtype::u16, dtype::s16, dtype::u32, dtype::s32,
                                dtype::u64, dtype::s64, dtype::f16, dtype::f32, dtype::f64};
constexpr image_format every_format[] = {image_format::png, image_format::jpeg, image_format::tiff, image_format::pnm,
                                         image_format::pfm, image_format::npy,  image_format::webp};

class round_trip : public testing::TestWithParam<image_format> {
  protected:
    round_trip() { std::filesystem::create_directory(folder_); }
    ~round_trip() override { std::filesystem::remove_all(folder_); }

    std::string path(std::string_view name) const { return folder_ / name; }

    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) /
        ("boxsum-image-io-" + std::to_string(::getpid()) + "-" + std::to_string(static_cast<int>(GetParam())));
};

/// Rows with `gap` bytes between them, every byte different from its neighbours; no byte pattern of a float that a
/// format could normalise away.
image pattern(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t gap) {
    view_shape s = packed_shape(type, rows, cols, channels);
    s.row_stride += gap;
    s.plane_stride = rows * s.row_stride;
    const writable_image pixels = allocate_image(s);
    auto* bytes = static_cast<unsigned char*>(pixels.view.data);
    for (std::int64_t i = 0; i < s.plane_stride; ++i) bytes[i] = static_cast<unsigned char>(i * 37 + i / 251);
    return pixels;
}

void expect_same_pixels(const image& a, const image& b) {
    ASSERT_EQ(a.view.shape.type, b.view.shape.type);
    ASSERT_EQ(a.view.shape.rows, b.view.shape.rows);
    ASSERT_EQ(a.view.shape.cols, b.view.shape.cols);
    ASSERT_EQ(a.view.shape.channels, b.view.shape.channels);
    const auto bytes = static_cast<std::size_t>(row_bytes(a.view.shape));
    for (std::int64_t r = 0; r < a.view.shape.rows; ++r)
        ASSERT_EQ(std::memcmp(static_cast<const std::byte*>(a.view.data) + r * a.view.shape.row_stride,
                              static_cast<const std::byte*>(b.view.data) + r * b.view.shape.row_stride, bytes),
                  0)
            << "row " << r;
}

TEST_P(round_trip, every_type_and_channel_count) {
    const image_format format = GetParam();
    int held = 0;
    for (const dtype type : every_type)
        for (std::int64_t channels = 1; channels <= 4; ++channels)
            for (const auto& [rows, cols, gap] : {std::tuple<int, int, int>{1, 1, 0}, {7, 5, 24}, {300, 333, 0}}) {
                SCOPED_TRACE(std::string(name_of(format)) + " " + std::string(name_of(type)) + " x " +
                             std::to_string(channels) + ", " + std::to_string(rows) + " x " + std::to_string(cols));
                const image original = pattern(type, rows, cols, channels, gap);
                output_file out(path("x"));
                try {
                    write_image(out, format, original);
                } catch (const unsupported&) {
                    EXPECT_THROW(check_can_hold("x", format, original.view.shape), unsupported);
                    continue;
                }
                out.commit();
                const image back = read_image(path("x"));
                ++held;
                if (format == image_format::jpeg || format == image_format::webp)
                    EXPECT_EQ(back.view.shape.channels, channels);  // lossy
                else
                    expect_same_pixels(original, back);
            }
    const int combinations = format == image_format::png    ? 2 * 4
                             : format == image_format::jpeg ? 2
                             : format == image_format::pnm  ? 2 * 2
                             : format == image_format::pfm  ? 2
                             : format == image_format::webp ? 2
                                                            : 10 * 4;
    EXPECT_EQ(held, combinations * 3);
}

INSTANTIATE_TEST_SUITE_P(formats, round_trip, testing::ValuesIn(every_format),
                         [](const auto& entry) { return std::string(name_of(entry.param)); });

TEST(format, by_name_ending_and_contents) {
    for (const image_format format : every_format) EXPECT_EQ(format_from_name(name_of(format)), format);
    EXPECT_EQ(format_from_path("a.b/photo.JPG"), image_format::jpeg);
    EXPECT_EQ(format_from_path("x.tiff"), image_format::tiff);
    EXPECT_FALSE(format_from_path("a.png/photo"));
    EXPECT_FALSE(format_from_path("photo"));
    EXPECT_FALSE(format_from_path(""));
    const std::string npy = "\x93NUMPY", almost = "\x93NUMP";
    EXPECT_EQ(format_from_bytes(std::as_bytes(std::span(npy))), image_format::npy);
    EXPECT_FALSE(format_from_bytes(std::as_bytes(std::span(almost))));
    EXPECT_FALSE(format_from_bytes({}));
}

TEST(packed_shape, refuses_extents_that_overflow) {
    EXPECT_THROW(packed_shape(dtype::f64, std::int64_t{1} << 31, std::int64_t{1} << 31, 4), input_error);
    EXPECT_THROW(packed_shape(dtype::u8, std::int64_t{1} << 62, 3, 1), input_error);
    EXPECT_THROW(packed_shape(dtype::u8, 1, INT64_MAX, 2), input_error);
    EXPECT_THROW(packed_shape(dtype::u8, 0, 1, 1), input_error);
    EXPECT_THROW(packed_shape(dtype::u8, 1, 1, 5), input_error);
    EXPECT_EQ(packed_shape(dtype::u16, 2, 3, 4).plane_stride, 48);
}

/// What counts on the free memory of the machine only is killed in a container.
TEST(memory_limit, control_groups_of_both_versions) {
    const std::filesystem::path tree =
        std::filesystem::path(testing::TempDir()) / ("boxsum-groups-" + std::to_string(::getpid()));
    const auto write = [&](const std::string& name, const std::string& text) {
        std::filesystem::create_directories((tree / name).parent_path());
        std::ofstream(tree / name) << text;
    };
    const auto left = [&](const std::string& lines) {
        write("groups", lines);
        return left_of_control_groups(tree / "groups", tree);
    };
    write("a/memory.max", "1000\n");
    write("a/memory.current", "400\n");
    write("a/memory.stat", "anon 250\ninactive_file 100\n");
    write("a/b/memory.max", "max\n");
    write("full/memory.max", "1000\n");
    write("full/memory.current", "1200\n");
    write("memory/g/memory.limit_in_bytes", "5000\n");
    write("memory/g/memory.usage_in_bytes", "3000\n");
    write("memory/g/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    EXPECT_EQ(left("0::/a/b\n"), 700U) << "the group around it has the limit; pages of files make room";
    EXPECT_EQ(left("0::/full\n"), 0U);
    EXPECT_EQ(left("5:cpu,cpuacct:/g\n4:memory:/g\n"), 2500U);
    EXPECT_EQ(left("4:memory:/g\n0::/a/b/c\n"), 700U) << "the least of all";
    for (const char* lines : {"0::/\n", "0::/other\n", "5:cpu:/g\n", "nonsense\n", ""})
        EXPECT_EQ(left(lines), std::numeric_limits<std::uint64_t>::max()) << lines;
    std::filesystem::remove_all(tree);
}

TEST(npy, aliases_the_bytes_of_the_file) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
    header.append(118 - header.size() - 1, ' ').push_back('\n');
    alignas(64) std::byte file[128 + 48] = {};
    const std::string start = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
    ASSERT_EQ(start.size(), 128u);
    std::memcpy(file, start.data(), start.size());
    const image pixels = read_npy({std::span(file), nullptr});
    EXPECT_EQ(pixels.view.data, file + 128);
}

}  // namespace
}  // namespace boxsum::cli
