#include "progress.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace boxsum::cli {

namespace {
std::atomic<bool> one_is_there{false};
}

progress::progress() {
    first_ = !one_is_there.exchange(true);
    if (first_ && ::isatty(STDERR_FILENO) == 1) reporter_ = std::thread(&progress::report, this);
}

progress::~progress() {
    stop();
    if (first_) one_is_there = false;
}

void progress::stop() {
    if (!reporter_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
    }
    changed_.notify_one();
    reporter_.join();
}

void progress::phase(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
    share_ = 0;
    since_ = std::chrono::steady_clock::now();
}

void progress::share(double done) {
    const std::lock_guard lock(mutex_);
    share_ = done;
}

void progress::report() {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    bool shown = false;
    std::unique_lock lock(mutex_);
    for (auto wait = 1000ms; !changed_.wait_for(lock, wait, [this] { return done_; }); wait = 200ms) {
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double> all = now - start, phase = now - since_;
        std::fprintf(stderr, "\r\033[K%s (%.1f s", what_.c_str(), all.count());
        if (share_ > 0) std::fprintf(stderr, ", %.0f %%, %.0f s left", 100 * share_, phase.count() * (1 / share_ - 1));
        std::fputs(")", stderr);
        std::fflush(stderr);
        shown = true;
    }
    if (shown) std::fputs("\r\033[K", stderr);
}

}  // namespace boxsum::cli
