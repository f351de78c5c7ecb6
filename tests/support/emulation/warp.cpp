#include "support/emulation/grid.hpp"

#include <algorithm>
#include <bit>

namespace boxsum::emulation {
namespace {

constexpr std::uint64_t undefined = ~std::uint64_t{0};

template <typename F>
void for_each_lane(unsigned lanes, F&& f) {
    for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

}  // namespace

/// What the lanes get, which have all called with the same kind and mask; they may run again.
void block::complete(emulated_warp& warp, unsigned lanes) {
    const auto value = [&](int lane) { return warp.call[lane].value; };
    const auto give = [&](auto result) { for_each_lane(lanes, [&](int lane) { warp.result[lane] = result(lane); }); };
    const auto reduce = [&](auto combine) {
        std::uint64_t all = value(std::countr_zero(lanes));
        for_each_lane(lanes & (lanes - 1), [&](int lane) { all = combine(all, value(lane)); });
        give([&](int) { return all; });
    };
    const auto votes = [&] {
        std::uint64_t mask = 0;
        for_each_lane(lanes, [&](int lane) { mask |= std::uint64_t{value(lane) != 0} << lane; });
        return mask;
    };
    const auto equal_to = [&](int other) {
        std::uint64_t mask = 0;
        for_each_lane(lanes, [&](int lane) { mask |= std::uint64_t{value(lane) == value(other)} << lane; });
        return mask;
    };
    switch (warp.call[std::countr_zero(lanes)].kind) {
        case collective::sync:
            break;
        case collective::shuffle:
            give([&](int lane) {
                const int from = warp.call[lane].operand;
                return lanes >> from & 1 ? value(from) : undefined;
            });
            break;
        case collective::ballot:
            give([all = votes()](int) { return all; });
            break;
        case collective::all:
            give([all = std::uint64_t{votes() == lanes}](int) { return all; });
            break;
        case collective::any:
            give([any = std::uint64_t{votes() != 0}](int) { return any; });
            break;
        case collective::match_any:
            give(equal_to);
            break;
        case collective::match_all: {
            const std::uint64_t same = equal_to(std::countr_zero(lanes));
            give([&](int) { return same == lanes ? same : 0; });
            break;
        }
        case collective::add:
            reduce([](std::uint64_t a, std::uint64_t b) { return a + b; });
            break;
        case collective::minimum:
            reduce([](std::uint64_t a, std::uint64_t b) { return std::min(a, b); });
            break;
        case collective::maximum:
            reduce([](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
            break;
        case collective::signed_minimum:
            reduce([](std::uint64_t a, std::uint64_t b) {
                return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b;
            });
            break;
        case collective::signed_maximum:
            reduce([](std::uint64_t a, std::uint64_t b) {
                return static_cast<std::int64_t>(a) > static_cast<std::int64_t>(b) ? a : b;
            });
            break;
        case collective::bit_and:
            reduce([](std::uint64_t a, std::uint64_t b) { return a & b; });
            break;
        case collective::bit_or:
            reduce([](std::uint64_t a, std::uint64_t b) { return a | b; });
            break;
        case collective::bit_xor:
            reduce([](std::uint64_t a, std::uint64_t b) { return a ^ b; });
            break;
    }
    warp.collecting &= ~lanes;
    warp.ready |= lanes;
    warp.first_lane = static_cast<int>(grid_->random() % 32);
    ready_warps_ |= 1u << (&warp - warps_.data());
}

std::uint64_t block::collect(collective kind, unsigned mask, std::uint64_t value, int operand, const location& where) {
    emulated_thread& thread = current();
    emulated_warp& warp = current_warp();
    thread.where = where;
    thread.doing = "waits for other lanes in a collective";
    if ((mask & current_bit()) == 0) fail("a lane is not in the mask of its own collective");
    warp.call[current_ % 32] = {kind, mask, value, operand};
    const unsigned needed = mask & warp.alive;
    // Who arrived before was compared with those before it, so one stands for all.
    if (const unsigned others = needed & warp.collecting; others != 0) {
        const auto& other = warp.call[std::countr_zero(others)];
        if (other.kind != kind || other.mask != mask)
            fail("a divergent collective: lanes that name each other call different ones");
    }
    warp.collecting |= current_bit();
    if ((needed & ~warp.collecting) == 0) {
        complete(warp, needed);
        if (grid_->chance(grid_->how.preemption)) favourite_ = static_cast<unsigned>(grid_->random() % warps_.size());
    }
    run_others();
    return warp.result[current_ % 32];
}

}  // namespace boxsum::emulation
