#include "support/emulation/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(BOXSUM_EMULATION_UCONTEXT)
// What the System V calling convention keeps over a call; ucontext would enter the kernel twice for the signal mask.
asm(R"(
.text
.type boxsum_switch_stack, @function
boxsum_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size boxsum_switch_stack, .-boxsum_switch_stack
)");
extern "C" void boxsum_switch_stack(void** save, void* next) asm("boxsum_switch_stack");
#endif

namespace boxsum::emulation {
namespace {

std::size_t page() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t stack_bytes = 256 * 1024;
context* left = nullptr;  // by the last switch
#else
constexpr std::size_t stack_bytes = 64 * 1024;
#endif

}  // namespace

fiber_stack::fiber_stack() {
    void* const memory =
        mmap(nullptr, page() + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(memory, page(), PROT_NONE) != 0) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(memory) + page();
}

fiber_stack::~fiber_stack() {
    if (begin_ != nullptr) munmap(begin_ - page(), page() + stack_bytes);
}

std::size_t fiber_stack::size() {
    return stack_bytes;
}

void context::take(const fiber_stack& stack) {
    stack_begin_ = stack.begin();
    stack_bytes_ = fiber_stack::size();
    fake_stack_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(stack_begin_, stack_bytes_);  // frames that were left without returning
#endif
}

#if defined(__x86_64__) && !defined(BOXSUM_EMULATION_UCONTEXT)

void context::prepare(const fiber_stack& stack, void (*entry)()) {
    take(stack);
    auto* top = reinterpret_cast<std::uintptr_t*>(stack.begin() + fiber_stack::size());
    *--top = 0;  // where entry would return to; the stack is aligned as behind a call
    *--top = reinterpret_cast<std::uintptr_t>(entry);
    for (int saved = 0; saved < 6; ++saved) *--top = 0;
    stack_pointer_ = top;
}

#else

void context::prepare(const fiber_stack& stack, void (*entry)()) {
    take(stack);
    getcontext(&state_);
    state_.uc_stack.ss_sp = stack.begin();
    state_.uc_stack.ss_size = fiber_stack::size();
    state_.uc_link = nullptr;
    makecontext(&state_, entry, 0);
}

#endif

void context::switch_to(context& from, context& to, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
    left = &from;
    __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack_, to.stack_begin_, to.stack_bytes_);
#endif
#if defined(__x86_64__) && !defined(BOXSUM_EMULATION_UCONTEXT)
    boxsum_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#else
    swapcontext(&from.state_, &to.state_);
#endif
#if defined(__SANITIZE_ADDRESS__)
    // A context that was not prepared is the thread's own: its stack is known once it was left.
    __sanitizer_finish_switch_fiber(from.fake_stack_, &left->stack_begin_, &left->stack_bytes_);
#endif
}

void context::entered() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &left->stack_begin_, &left->stack_bytes_);
#endif
}

}  // namespace boxsum::emulation
