#pragma once

#include <cstdint>
#include <limits>

namespace boxsum::filters {
namespace {

/// exp(x) by additions and multiplications in a fixed order, so with the same bits wherever nothing contracts them:
/// x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) by its series to r^13. Within 4 units in the last place; 0 below
/// -708, where exp is below 4e-308, and infinite above 709.
constexpr double exponential(double x) {
    const double clamped = x < -708 ? -708 : x > 709 ? 709 : x;
    // 1.5 * 2^52 leaves the nearest integer in the last bits.
    const double shifted = clamped * 1.4426950408889634 + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    const double r = (clamped - n * 0x1.62e42fefap-1) - n * 0x1.cf79abc9e3b3ap-40;
    double y = 1.0 / 6227020800;
    y = y * r + 1.0 / 479001600;
    y = y * r + 1.0 / 39916800;
    y = y * r + 1.0 / 3628800;
    y = y * r + 1.0 / 362880;
    y = y * r + 1.0 / 40320;
    y = y * r + 1.0 / 5040;
    y = y * r + 1.0 / 720;
    y = y * r + 1.0 / 120;
    y = y * r + 1.0 / 24;
    y = y * r + 1.0 / 6;
    y = y * r + 0.5;
    y = y * r + 1;
    y = y * r + 1;
    // The low bits of `shifted` are n, as two's complement.
    y *= __builtin_bit_cast(double, (__builtin_bit_cast(std::uint64_t, shifted) + 1023) << 52);
    return x < -708 ? 0 : x > 709 ? std::numeric_limits<double>::infinity() : x != x ? x : y;
}

}  // namespace
}  // namespace boxsum::filters
