#include "video/ffmpeg.hpp"

#include "errors.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace boxsum::cli {
namespace {

/// Plain data for posix_spawn, given back in the end.
struct spawn_setup {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;

    spawn_setup() {
        posix_spawn_file_actions_init(&files);
        posix_spawnattr_init(&attributes);
    }
    spawn_setup(const spawn_setup&) = delete;
    spawn_setup& operator=(const spawn_setup&) = delete;
    ~spawn_setup() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
};

}  // namespace

piped_program::piped_program(const std::vector<std::string>& command, direction way) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw io_error("cannot make a pipe: " + errno_text(errno));
    const bool reads = way == direction::reads_from_us;
    const int ours = ends[reads ? 1 : 0], theirs = ends[reads ? 0 : 1];
    spawn_setup setup;
    posix_spawn_file_actions_adddup2(&setup.files, theirs, reads ? STDIN_FILENO : STDOUT_FILENO);
    sigset_t usual;  // what this tool ignores, that program should not
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);
    ::sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&setup.attributes, &usual);
    posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int code = ::posix_spawnp(&process_, words[0], &setup.files, &setup.attributes, words.data(), environ);
    ::close(theirs);
    if (code != 0) {
        ::close(ours);
        process_ = -1;
        if (code == ENOENT) throw unsupported("there is no " + command[0] + " here");
        throw io_error("cannot run " + command[0] + ": " + errno_text(code));
    }
    pipe_ = ::fdopen(ours, reads ? "wb" : "rb");
    if (pipe_ == nullptr) {
        ::close(ours);
        throw io_error("cannot open a pipe: " + errno_text(errno));
    }
}

piped_program::~piped_program() {
    if (process_ > 0 && pipe_ != nullptr) ::kill(process_, SIGTERM);
    finish();
}

bool piped_program::finish() {
    bool good = true;
    if (pipe_ != nullptr) good = std::fclose(std::exchange(pipe_, nullptr)) == 0;
    if (process_ <= 0) return good;
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<std::string> decoding_command(const std::string& video) {
    // "file:" keeps a name like "http:x" or "-x" a name.
    return {"ffmpeg", "-v",           "error",    "-nostdin", "-i", "file:" + video, "-map", "0:v:0",
            "-f",     "yuv4mpegpipe", "-pix_fmt", "yuv420p",  "-"};
}

std::vector<std::string> encoding_command(const std::string& video, const view_shape& frame) {
    return {"ffmpeg",       "-v",
            "error",        "-y",
            "-f",           "rawvideo",
            "-pix_fmt",     frame.channels == 3 ? "rgb24" : "gray",
            "-s",           std::to_string(frame.cols) + "x" + std::to_string(frame.rows),
            "-r",           "25",
            "-i",           "-",
            "-pix_fmt",     "yuv420p",
            "file:" + video};
}

}  // namespace boxsum::cli
