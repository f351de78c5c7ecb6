#pragma once

#include "program/record.hpp"

namespace boxsum::bench {

/// A record of `boxsum bench hist` as a GPU would give it, with made-up numbers that follow from simple formulas: two
/// devices; cw-b is refused from 1024 on; the CPU has 1 and 8 threads.
bench_record example_histograms();

}  // namespace boxsum::bench
