#include "support/emulation/block.hpp"

#include "support/emulation/grid.hpp"
#include "support/emulation/vector_types.hpp"

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <map>

uint3 threadIdx{}, blockIdx{};
dim3 blockDim, gridDim;

namespace boxsum::emulation {
namespace {

constexpr unsigned char poison = 0xff;  // NaN, -1
constexpr unsigned char guard = 0xa6;
constexpr std::size_t guard_bytes = 4096;

/// Static shared memory is what the program has of `thread_local`.
void poison_static_shared_memory() {
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void*) {
            for (int i = 0; i < module->dlpi_phnum; ++i)
                if (module->dlpi_phdr[i].p_type == PT_TLS && module->dlpi_tls_data != nullptr)
                    std::memset(module->dlpi_tls_data, poison, module->dlpi_phdr[i].p_memsz);
            return 1;  // the first module is the program
        },
        nullptr);
}

void run_emulated_thread() {
    context::entered();
    try {
        const kernel_call& kernel = active_grid->launch.kernel;
        kernel.run(kernel.state);
    } catch (const std::exception& e) {
        fail(std::string("the kernel threw: ") + e.what());
    }
    active_block->exit_thread();
}

extent index_of(std::uint64_t number, const extent& e) {
    return {static_cast<unsigned>(number % e.x), static_cast<unsigned>(number / e.x % e.y),
            static_cast<unsigned>(number / e.x / e.y)};
}

std::string text_of(const location& where) {
    std::string_view file = where.file_name();
    for (const std::string_view root : {"/src/", "/tests/"})
        if (const auto at = file.rfind(root); at != file.npos) file.remove_prefix(at + 1);
    return std::string(file) + ":" + std::to_string(where.line());
}

std::string text_of(const extent& e) {
    return "(" + std::to_string(e.x) + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}

}  // namespace

block::block() : host_([this] { serve(); }) {}

block::~block() {
    stop_ = true;
    turn.release();
    host_.join();
}

void block::start(grid& g, std::uint64_t number) {
    grid_ = &g;
    number_ = number;
    index_ = index_of(number, g.launch.grid);
    threads_.clear();  // until the turn comes
    warps_.clear();
    alive_ = 0;
}

void block::serve() {
    for (;;) {
        turn.acquire();
        if (stop_) return;
        for (bool more = !grid_->failed; more;) {
            prepare();
            current_ = next();
            install();
            install_thread();
            context::switch_to(main_, threads_[current_].execution);
            more = false;
            if (grid_->failed) break;
            while (!queue.empty()) do_one_work();
            check_shared_memory();
            if (grid_->failed) break;
            progress();
            if (const auto number = grid_->draw()) {
                number_ = *number;
                more = true;
            }
        }
        grid_->retire(*this);
    }
}

void block::prepare() {
    const launch_description& launch = grid_->launch;
    const std::size_t count = launch.block.count();
    index_ = index_of(number_, launch.grid);
    while (stacks_.size() < count) stacks_.emplace_back();
    threads_.assign(count, {});
    warps_.assign((count + 31) / 32, {});
    barriers_.fill({});
    queue.clear();
    waited_ = false;
    alive_ = count;
    ready_warps_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
        threads_[i].number = static_cast<unsigned>(i);
        threads_[i].index = index_of(i, launch.block);
        threads_[i].execution.prepare(stacks_[i], run_emulated_thread);
        warps_[i / 32].alive |= 1u << i % 32;
        warps_[i / 32].ready |= 1u << i % 32;
        ready_warps_ |= 1u << i / 32;
    }
    for (emulated_warp& warp : warps_) warp.first_lane = static_cast<int>(grid_->random() % 32);
    favourite_ = static_cast<unsigned>(grid_->random() % warps_.size());

    poison_static_shared_memory();
    shared_bytes_ = launch.shared_bytes;
    shared_.assign(shared_bytes_ + 2 * guard_bytes + 1024, std::byte{guard});
    shared_first_ = guard_bytes;
    while (reinterpret_cast<std::uintptr_t>(shared_.data() + shared_first_) % 1024 != 0) ++shared_first_;
    std::memset(shared_memory(), poison, shared_bytes_);
}

void block::check_shared_memory() {
    const auto written = [](std::byte b) { return b != std::byte{guard}; };
    const auto behind = shared_.begin() + static_cast<std::ptrdiff_t>(shared_first_ + shared_bytes_);
    if (std::any_of(shared_.begin(), shared_.begin() + static_cast<std::ptrdiff_t>(shared_first_), written) ||
        std::any_of(behind, shared_.end(), written))
        grid_->failed = "block " + text_of(index_) + " wrote outside its dynamic shared memory of " +
                        std::to_string(shared_bytes_) + " bytes";
}

/// What all threads of the block have in common; another block had its own.
void block::install() const {
    blockIdx = {index_.x, index_.y, index_.z};
    const extent &blocks = grid_->launch.grid, threads = grid_->launch.block;
    gridDim = dim3(blocks.x, blocks.y, blocks.z);
    blockDim = dim3(threads.x, threads.y, threads.z);
}

void block::install_thread() const {
    const extent& t = threads_[current_].index;
    threadIdx = {t.x, t.y, t.z};
}

bool block::do_one_work() {
    if (queue.empty()) return false;
    const queued_work now = queue.front();
    queue.pop_front();
    --threads_[now.owner].own_work;
    now.work.run(now.work.state);
    return true;
}

/// The thread that runs next; no longer among the ready ones.
std::size_t block::next() {
    for (;;) {
        if (ready_warps_ != 0 && !queue.empty() && grid_->chance(4)) do_one_work();
        if (ready_warps_ != 0) {
            if ((ready_warps_ >> favourite_ & 1) == 0) {
                const int turned = static_cast<int>(grid_->random() % 32);
                favourite_ = static_cast<unsigned>(std::countr_zero(std::rotr(ready_warps_, turned)) + turned) % 32;
            }
            emulated_warp& warp = warps_[favourite_];
            const auto lane =
                static_cast<unsigned>(std::countr_zero(std::rotr(warp.ready, warp.first_lane)) + warp.first_lane) % 32;
            warp.ready &= ~(1u << lane);
            if (warp.ready == 0) ready_warps_ &= ~(1u << favourite_);
            return favourite_ * 32 + lane;
        }
        if (do_one_work()) continue;
        const bool looks = std::any_of(warps_.begin(), warps_.end(), [](const auto& w) { return w.looking != 0; });
        if (!looks) fail("deadlock: nobody in the block can go on");
        grid_->nothing_new();
        grid_->pass_turn(*this);
        for (std::size_t w = 0; w < warps_.size(); ++w) {
            if (warps_[w].looking == 0) continue;
            warps_[w].ready |= warps_[w].looking;
            warps_[w].looking = 0;
            ready_warps_ |= 1u << w;
        }
    }
}

void block::run_others() {
    const std::size_t from = current_;
    const std::size_t to = next();
    grid_->switches.store(grid_->switches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    current_ = to;
    install_thread();
    if (to != from) context::switch_to(threads_[from].execution, threads_[to].execution, threads_[from].exited);
}

void block::yield() {
    make_ready();
    favourite_ = static_cast<unsigned>(grid_->random() % warps_.size());
    if (grid_->chance(2)) grid_->pass_turn(*this);
    run_others();
}

void block::look_again() {
    current_warp().looking |= current_bit();
    run_others();
}

void block::arrive(emulated_barrier& b, int expected, bool predicate, const location& where) {
    if (b.arrived == 0) {
        b.expected = expected;
        b.where = where;
        b.predicates = 0;
    }
    b.waiting[current_ / 32] |= current_bit();
    b.predicates += predicate ? 1 : 0;
    progress();
    if (++b.arrived == b.expected) release(b);
    run_others();
}

void block::release(emulated_barrier& b) {
    for (std::size_t w = 0; w < warps_.size(); ++w) {
        if (b.waiting[w] == 0) continue;
        warps_[w].ready |= b.waiting[w];
        warps_[w].first_lane = static_cast<int>(grid_->random() % 32);
        ready_warps_ |= 1u << w;
    }
    b.last_predicates = b.predicates;
    b.waiting.fill(0);
    b.arrived = 0;
    favourite_ = static_cast<unsigned>(grid_->random() % warps_.size());
}

void block::exit_thread() {
    emulated_thread& thread = current();
    emulated_warp& warp = current_warp();
    thread.exited = true;
    thread.doing = "has ended";
    --alive_;
    warp.alive &= ~current_bit();
    progress();
    if (alive_ == 0 && grid_->launch.overlaps && !waited_)
        fail("a block of a launch that overlaps its predecessor ends without having waited for it");
    if (alive_ == 0) leave();
    if (barriers_[0].arrived > 0) fail("a thread ended while others wait for it at a barrier of the block");
    // A collective waits for the lanes of its mask that have not ended.
    for (unsigned open = warp.collecting; open != 0;) {
        const unsigned lanes = warp.call[std::countr_zero(open)].mask & warp.alive;
        if ((lanes & ~warp.collecting) == 0) complete(warp, lanes);
        open &= ~lanes & ~(1u << std::countr_zero(open));
    }
    run_others();
}

void block::leave() {
    context::switch_to(threads_[current_].execution, main_, true);
}

std::string block::describe() const {
    if (threads_.empty()) return "  block " + text_of(index_) + ": has not begun\n";
    std::string text = "  block " + text_of(index_) + ":\n";
    int lines = 0;
    for (std::size_t w = 0; w < warps_.size() && lines < 24; ++w) {
        std::map<std::string, unsigned> lanes;  // by what they do
        for (std::size_t i = 32 * w; i < std::min(threads_.size(), 32 * w + 32); ++i)
            lanes[threads_[i].doing + (threads_[i].where && !threads_[i].exited ? " at " + text_of(*threads_[i].where)
                                                                                : std::string())] |= 1u << i % 32;
        for (const auto& [what, mask] : lanes) {
            char digits[16];
            std::snprintf(digits, sizeof digits, "%08x", mask);
            text += "    warp " + std::to_string(w) + " lanes " + digits + " " + what + "\n";
            ++lines;
        }
    }
    return text;
}

}  // namespace boxsum::emulation
