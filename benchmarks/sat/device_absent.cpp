#include "sat/device_tables.hpp"

#include <boxsum/error.hpp>

namespace boxsum::bench {

void measure_on_device(const sat_case&, const sat_bench_options&, bench_record&) {
    throw unsupported("--device: this was built without CUDA");
}

std::vector<micro_row> measure_micro() {
    throw unsupported("--device: this was built without CUDA");
}

}  // namespace boxsum::bench
