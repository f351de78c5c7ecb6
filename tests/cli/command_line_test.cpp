#include "command_line.hpp"

#include "cuda_device.hpp"
#include "filter_options.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

namespace boxsum::cli {
namespace {

TEST(command_line, a_good_line_gives_an_action_and_runs_nothing) {
    EXPECT_TRUE(parse_command_line({"table", "no-such-file.png", "-o", "no-such-folder/x.npy"}));
    EXPECT_TRUE(parse_command_line({"query", "x.png", "--box", "1,2,3,4", "--box", "5,6,7,8", "--json"}));
    EXPECT_TRUE(parse_command_line({"--help"}));
    EXPECT_TRUE(parse_command_line({"verify", "--help"}));
    EXPECT_TRUE(parse_command_line({"--version"}));
}

TEST(command_line, boxes_take_one_value_each) {
    EXPECT_TRUE(parse_command_line({"query", "--box", "1,2,3,4", "x.png"})) << "the image is no second box";
    EXPECT_TRUE(parse_command_line({"query", "x.png", "--box", "-1,-2,3,4"})) << "a minus is no option";
}

TEST(command_line, wrong_usage_names_the_argument) {
    const auto message = [](std::vector<std::string> arguments) -> std::string {
        try {
            parse_command_line(std::move(arguments));
        } catch (const usage_error& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_NE(message({"tabel"}).find("'tabel'"), std::string::npos);
    EXPECT_NE(message({"table", "x.png", "-o", "y.npy", "--layuot", "padded"}).find("--layuot"), std::string::npos);
    EXPECT_NE(message({"table"}).find("boxsum table --help"), std::string::npos);
    EXPECT_NE(message({"blur", "x.png", "y.png", "--radios", "3"}).find("'--radius'"), std::string::npos);
    EXPECT_NE(message({}).find("subcommand"), std::string::npos);
}

TEST(command_line, what_the_library_refuses_is_said_of_options) {
    filter_options on_cpu;
    on_cpu.device = "cpu";
    const auto message = [&](const std::string& text) -> std::string {
        try {
            run_filter(
                on_cpu, "--window: ", [&] { throw unsupported(text); }, [](cuda::stream_ref) {});
        } catch (const unsupported& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message("window: is large"), "--window: is large");
    EXPECT_EQ(message("inputs.mask: rows is 1"), "--mask: rows is 1");
    EXPECT_EQ(message("min_count: is 0"), "--min-count: is 0");
    EXPECT_EQ(message("count: type is 32u"), "--count: type is 32u");
    EXPECT_EQ(message("sum: type is 32s"), "--sum: type is 32s");
    EXPECT_EQ(message("of no argument"), "of no argument");
}

TEST(device_text, names_a_cuda_device) {
    ASSERT_EQ(unsetenv("BOXSUM_DEVICE"), 0);
    EXPECT_EQ(device_from_text("cuda"), 0);
    EXPECT_EQ(device_from_text("cuda:0"), 0);
    EXPECT_EQ(device_from_text("cuda:12"), 12);
    for (const char* text : {"cpu", "", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "Cuda:0", "cuda 0"})
        EXPECT_THROW(device_from_text(text), invalid_argument) << text;
}

TEST(device_text, cuda_alone_follows_the_environment) {
    ASSERT_EQ(setenv("BOXSUM_DEVICE", "cuda:3", 1), 0);
    EXPECT_EQ(device_from_text("cuda"), 3);
    EXPECT_EQ(device_from_text("cuda:1"), 1);
    ASSERT_EQ(setenv("BOXSUM_DEVICE", "cpu", 1), 0);
    EXPECT_EQ(device_from_text("cuda"), 0);
    ASSERT_EQ(unsetenv("BOXSUM_DEVICE"), 0);
}

}  // namespace
}  // namespace boxsum::cli
