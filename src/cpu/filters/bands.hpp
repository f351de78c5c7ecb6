#pragma once

#include <boxsum/table.hpp>

#include <cstdint>

namespace boxsum::filters {

/// Rows first .. end - 1 of one plane: what one thread does at a time.
struct band {
    std::int64_t plane = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
};

/// What is done with a band: a function that outlives the call it is given to, so that nothing is copied or allocated.
class band_work {
  public:
    template <typename F>
    band_work(const F& f)  // NOLINT: any function of a band and a thread
        : function_(&f), call_([](const void* function, const band& b, int thread) {
              (*static_cast<const F*>(function))(b, thread);
          }) {}

    void operator()(const band& b, int thread) const { call_(function_, b, thread); }

  private:
    const void* function_;
    void (*call_)(const void* function, const band& b, int thread);
};

/// Calls work(band, thread) for bands that cover rows 0 .. rows - 1 of every plane, in any order, on up to `threads`
/// threads (at least 1), never more than there are bands. An exception ends the call, after the other bands.
void for_each_band(std::int64_t planes, std::int64_t rows, int threads, band_work work);

/// How many threads `requested` means for that many elements; for 0 as many as this thread may use, fewer where the
/// image is too small to be worth it.
int used_threads(int requested, std::int64_t elements);

/// Working memory for `count` values, from the shared pool. Contents undefined.
template <typename T>
class work_buffer {
  public:
    work_buffer() = default;
    explicit work_buffer(std::int64_t count)
        : memory_(memory_pool::shared().acquire(static_cast<std::size_t>(count) * sizeof(T))) {}

    T* data() const noexcept { return static_cast<T*>(memory_.data()); }
    T& operator[](std::int64_t i) const noexcept { return data()[i]; }

  private:
    host_buffer memory_;
};

}  // namespace boxsum::filters
