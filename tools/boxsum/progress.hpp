#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace boxsum::cli {

/// Says on standard error what the program is doing and for how long, once that takes more than a second, when standard
/// error is a terminal. One at a time: within the life of another, as when several files are done at once, it is
/// silent. Cleans its line up behind itself: when stopped, and before a note (print_note()).
class progress {
  public:
    progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    /// "reading photo.png"
    void phase(std::string what);

    /// How much of the phase is done, from 0 to 1: shown with an estimate of the rest.
    void share(double done);

    /// Says no more and cleans up, as the destructor does. To be called before results are printed: the terminal may be
    /// theirs, too.
    void stop();

  private:
    void report();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::string what_;
    double share_ = 0;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();  ///< of the phase
    bool done_ = false;
    bool first_ = false;  ///< no other is there
    std::thread reporter_;
};

}  // namespace boxsum::cli
