#include "report/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace boxsum::bench {
namespace {

/// The largest of 1, 2, 5 times a power of ten that is at most x.
double nice_below(double x) {
    const double power = std::pow(10, std::floor(std::log10(x)));
    for (const double factor : {5.0, 2.0})
        if (x >= factor * power * (1 - 1e-9)) return factor * power;
    return power;
}

double nice_above(double x) {
    const double below = nice_below(x);
    if (below >= x * (1 - 1e-9)) return below;
    const double power = std::pow(10, std::floor(std::log10(x)));
    return below < 1.5 * power ? 2 * power : below < 3 * power ? 5 * power : 10 * power;
}

double linear_step(const axis& a) {
    return nice_above((a.high - a.low) / 8);
}

}  // namespace

double axis::at(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
}

axis axis_for(const std::vector<double>& values, bool logarithmic, double from, double to) {
    axis a{logarithmic, 0, 1, from, to};
    std::vector<double> usable;
    for (const double v : values)
        if (std::isfinite(v) && (!logarithmic || v > 0)) usable.push_back(v);
    if (usable.empty()) {
        if (logarithmic) a.low = 0.1;
        return a;
    }
    const auto [low, high] = std::minmax_element(usable.begin(), usable.end());
    if (logarithmic) {
        a.low = nice_below(*low);
        a.high = nice_above(*high);
        if (a.high <= a.low * 1.0001) a.high = a.low * 10;
        return a;
    }
    a.low = std::min(0.0, *low);
    a.high = std::max(*high, a.low + (*high == a.low ? 1.0 : 0.0));
    const double step = linear_step(a);
    a.low = std::floor(a.low / step + 1e-9) * step;
    a.high = std::ceil(a.high / step - 1e-9) * step;
    return a;
}

std::vector<tick> ticks_of(const axis& a) {
    std::vector<tick> ticks;
    if (!a.logarithmic) {
        const double step = linear_step(a);
        const auto count = static_cast<int>(std::lround((a.high - a.low) / step));
        for (int i = 0; i <= count; ++i) {
            const double value = a.low + i * step;
            ticks.push_back({value, std::abs(value) < step * 1e-6 ? "0" : short_number(value)});
        }
        return ticks;
    }
    const bool wide = std::log10(a.high / a.low) > 3.01;
    for (double power = std::pow(10, std::floor(std::log10(a.low) + 1e-9)); power <= a.high * 1.0001; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double value = factor * power;
            if (value < a.low * 0.9999 || value > a.high * 1.0001) continue;
            ticks.push_back({value, wide && factor != 1 ? "" : short_number(value)});
        }
    return ticks;
}

std::vector<tick> size_ticks(std::vector<double> sizes) {
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.empty()) return {};
    std::vector<double> chosen;
    for (const double s : sizes)
        if (s >= 1 && std::exp2(std::round(std::log2(s))) == s) chosen.push_back(s);
    if (chosen.size() < 3) {
        chosen.clear();
        const std::size_t step = (sizes.size() + 7) / 8;
        for (std::size_t i = 0; i < sizes.size(); i += step) chosen.push_back(sizes[i]);
    }
    // The last one, unless its text would lie on its neighbour's.
    if (chosen.back() != sizes.back() && sizes.back() / chosen.back() >= 1.15) chosen.push_back(sizes.back());
    std::vector<tick> ticks;
    for (const double s : chosen) ticks.push_back({s, size_text(s)});
    return ticks;
}

std::string size_text(double size) {
    const auto whole = static_cast<long long>(size);
    if (whole >= 1024 && whole % 1024 == 0) return std::to_string(whole / 1024) + "K";
    return std::to_string(whole);
}

std::string three_digits(double value) {
    if (value == 0) return "0";
    // 9.996 has its three digits as 10.0.
    const double carried = std::abs(value) * (1 + 0.4999e-3);
    const int exponent = static_cast<int>(std::floor(std::log10(carried) + 1e-12));
    const int decimals = std::clamp(2 - exponent, 0, 9);
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
    return digits;
}

std::string short_number(double value) {
    std::string text = three_digits(value);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

}  // namespace boxsum::bench
