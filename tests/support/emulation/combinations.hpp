#pragma once

#include "api/registry.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>
#include <vector>

/// What tests of several records on the emulated device are instantiated with.
namespace boxsum::emulation {

struct combination {
    const algorithm_record* record;
    parameter_values values;
};

/// What CTest shows beside the name.
inline void PrintTo(const combination& c, std::ostream* out) {
    *out << format_parameters(*c.record, c.values);
}

/// "brlt_scanrow_threads_256"
inline std::string name_of_combination(const testing::TestParamInfo<combination>& info) {
    std::string name(info.param.record->info.name);
    const std::string parameters = format_parameters(*info.param.record, info.param.values);
    if (!parameters.empty()) name += "_" + parameters;
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
}

/// The CUDA records whose kernels are here.
inline std::vector<const algorithm_record*> device_records(operation what) {
    std::vector<const algorithm_record*> all;
    for (const algorithm_record* record : registry(what))
        if (record->info.where == backend::cuda && record->info.built) all.push_back(record);
    return all;
}

}  // namespace boxsum::emulation
