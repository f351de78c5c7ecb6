#pragma once

#include <cstddef>

#if !defined(__x86_64__) || defined(BOXSUM_EMULATION_UCONTEXT)
#include <ucontext.h>
#endif

namespace boxsum::emulation {

/// A stack with a page below it that faults, so that an overflow does not go unnoticed.
class fiber_stack {
  public:
    fiber_stack();
    fiber_stack(fiber_stack&& other) noexcept : begin_(other.begin_) { other.begin_ = nullptr; }
    fiber_stack(const fiber_stack&) = delete;
    fiber_stack& operator=(const fiber_stack&) = delete;
    ~fiber_stack();

    std::byte* begin() const { return begin_; }
    static std::size_t size();

  private:
    std::byte* begin_ = nullptr;
};

/// Where an execution stopped, to be continued by switch_to(). Contexts of one operating system thread only.
class context {
  public:
    /// Next, `entry` starts on the stack. It never returns.
    void prepare(const fiber_stack& stack, void (*entry)());

    /// Leaves the current execution in `from` and continues `to`. `last` says that `from` is never continued.
    static void switch_to(context& from, context& to, bool last = false);

    /// What entry has to call first.
    static void entered();

  private:
    void take(const fiber_stack& stack);

#if !defined(__x86_64__) || defined(BOXSUM_EMULATION_UCONTEXT)
    ucontext_t state_{};
#else
    void* stack_pointer_ = nullptr;
#endif
    // For the address sanitizer, which must be told about stacks.
    const void* stack_begin_ = nullptr;
    std::size_t stack_bytes_ = 0;
    void* fake_stack_ = nullptr;
};

}  // namespace boxsum::emulation
