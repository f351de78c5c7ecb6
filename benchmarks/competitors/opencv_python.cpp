#include "competitors/opencv_python.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace boxsum::bench {

opencv_python::opencv_python(const std::string& interpreter) {
    if (interpreter.empty()) {
        absent_ = "not asked for";
        return;
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        absent_ = "no socket for its process";
        return;
    }
    child_ = ::fork();
    if (child_ == 0) {
        ::dup2(ends[1], STDIN_FILENO);
        ::dup2(ends[1], STDOUT_FILENO);
        ::execlp(interpreter.c_str(), interpreter.c_str(), BOXSUM_BENCH_OPENCV_SCRIPT, nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    socket_ = ends[0];
    const std::string answer = child_ < 0 ? "" : ask("version");
    if (answer.empty())
        absent_ = "'" + interpreter + "' does not run";
    else if (answer.rfind("absent", 0) == 0)
        absent_ = "'" + interpreter + "' has no " + answer.substr(7);
    else
        version_ = answer;
}

opencv_python::~opencv_python() {
    if (socket_ >= 0) ::close(socket_);  // the end of its input ends it
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

bool opencv_python::prepare(const std::string& function, const std::string& types, std::int64_t n,
                            std::int64_t radius) {
    if (version_.empty()) return false;
    const std::string what = function + " " + types;
    const std::string answer = ask("prepare " + what + " " + std::to_string(n) + " " + std::to_string(radius));
    if (answer == "unsupported") return false;
    if (answer != "ready") throw std::runtime_error("OpenCV of Python, " + what + ": " + answer);
    return true;
}

double opencv_python::run(int times) {
    return std::stod(ask("run " + std::to_string(times)));
}

contestant opencv_python::turns(double round_ms) {
    run(1);
    const int count = computations_for(run(1), round_ms);
    return {"newest OpenCV", [this, count] { told_us_ = run(count); }, count, [this] { run(1); }};
}

stopwatch opencv_python::watch() {
    return [this](const std::function<void()>& turn) {
        told_us_ = -1;
        const double us = host_us(turn);
        return told_us_ >= 0 ? told_us_ : us;
    };
}

std::string opencv_python::ask(const std::string& request) {
    const std::string line = request + "\n";
    if (::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) return "";
    for (;;) {
        const std::size_t end = unread_.find('\n');
        if (end != std::string::npos) {
            std::string answer = unread_.substr(0, end);
            unread_.erase(0, end + 1);
            return answer;
        }
        char part[512];
        const ssize_t got = ::read(socket_, part, sizeof part);
        if (got <= 0) return "";
        unread_.append(part, static_cast<std::size_t>(got));
    }
}

}  // namespace boxsum::bench
