#include "sat/micro_limits.hpp"

#include <cstdio>

namespace boxsum::bench {

instruction_throughput throughput_of(int major, int minor) {
    if (major < 8)
        return major == 6 && minor > 0 ? instruction_throughput{128, 128, 32} : instruction_throughput{64, 64, 32};
    if (major == 8 && minor == 0) return {64, 64, 32};
    return {128, 64, 32};
}

micro_row held_to(micro_row row, double least, double most) {
    if (!row.value || (*row.value >= least * 0.99 && *row.value <= most * 1.01)) return row;
    char text[160];
    std::snprintf(text, sizeof text, "wrong: %.4g %s is outside of what the device can do, %g to %g", *row.value,
                  row.unit.c_str(), least, most);
    row.check = text;
    row.value = row.low = row.high = {};
    return row;
}

}  // namespace boxsum::bench
