#include "image_io/output_file.hpp"

#include "errors.hpp"

#include <boxsum/error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

/// These take the place of the C library's in this program.
static int synced = 0;
extern "C" int fsync(int) {
    ++synced;
    return 0;
}
static void (*before_renaming)() = nullptr;
extern "C" int rename(const char* from, const char* to) noexcept {
    if (before_renaming != nullptr) before_renaming();
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace boxsum::cli {
namespace {

class output_file_test : public testing::Test {
  protected:
    output_file_test() { std::filesystem::create_directory(folder_); }
    ~output_file_test() override { std::filesystem::remove_all(folder_); }

    std::string path(std::string_view name) const { return folder_ / name; }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
    }
    std::string contents(std::string_view name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("boxsum-output-file-" + std::to_string(::getpid()));
};

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

TEST_F(output_file_test, appears_only_when_committed) {
    {
        output_file out(path("x"));
        out.write(bytes("unfinished"));
        EXPECT_FALSE(std::filesystem::exists(path("x")));
        EXPECT_EQ(files(), 1u) << "the temporary file";
    }
    EXPECT_EQ(files(), 0u);
    output_file out(path("x"));
    out.write(bytes("done"));
    out.commit();
    EXPECT_EQ(contents("x"), "done");
    EXPECT_EQ(files(), 1u);
}

TEST_F(output_file_test, an_unfinished_file_leaves_the_old_one) {
    std::ofstream(path("x")) << "old";
    {
        output_file out(path("x"));
        out.write(bytes("new"));
    }
    EXPECT_EQ(contents("x"), "old");
}

TEST_F(output_file_test, small_and_large_writes_keep_their_order) {
    output_file out(path("x"));
    std::string expected;
    for (int i = 0; i < 40; ++i) {
        const std::string part(static_cast<std::size_t>(i % 7 == 0 ? 100000 : i * 113),
                               static_cast<char>('a' + i % 26));
        out.write(bytes(part));
        expected += part;
    }
    out.commit();
    EXPECT_EQ(contents("x"), expected);
}

TEST_F(output_file_test, seeks) {
    output_file out(path("x"));
    out.make_seekable();
    out.write_at(0, bytes("....world"));
    out.write_at(0, bytes("hi, "));
    EXPECT_EQ(out.size(), 9u);
    char back[16] = {};
    EXPECT_EQ(out.read_at(4, std::as_writable_bytes(std::span(back))), 5u);
    EXPECT_EQ(std::string(back), "world");
    out.commit();
    EXPECT_EQ(contents("x"), "hi, world");
}

TEST_F(output_file_test, waits_for_the_disk_if_it_is_told_to) {
    for (const auto& [kind, calls] : {std::pair(durability::system, 0), std::pair(durability::disk, 2)}) {
        synced = 0;
        output_file out(path("x"), kind);
        out.write(bytes("done"));
        out.commit();
        EXPECT_EQ(synced, calls) << "the file and its folder";
        EXPECT_EQ(contents("x"), "done");
    }
}

TEST_F(output_file_test, no_signal_comes_between_the_names_of_several_files) {
    static int renamed = 0, renamed_at_the_signal = -1;
    renamed = 0;
    renamed_at_the_signal = -1;
    const auto before = ::signal(SIGUSR1, [](int) { renamed_at_the_signal = renamed; });
    before_renaming = [] {
        ++renamed;
        ::raise(SIGUSR1);
    };
    {
        output_file a(path("a")), b(path("b"));
        output_file* const files[] = {&a, &b};
        a.write(bytes("1"));
        b.write(bytes("2"));
        commit_together(files);
    }
    before_renaming = nullptr;
    ::signal(SIGUSR1, before);
    EXPECT_EQ(renamed_at_the_signal, 2);
    EXPECT_EQ(contents("a") + contents("b"), "12");
}

TEST_F(output_file_test, failures_name_the_file) {
    for (const std::string& bad : {path("missing/x"), folder_.string(), std::string()}) try {
            output_file out(bad);
            ADD_FAILURE() << bad << " was opened";
        } catch (const io_error& e) {
            EXPECT_NE(std::string(e.what()).find("'" + bad + "'"), std::string::npos) << e.what();
        }
    EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace boxsum::cli
