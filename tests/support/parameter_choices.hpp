#pragma once

#include "core/algorithm_record.hpp"

#include <cstdint>
#include <vector>

namespace boxsum::test {

/// All combinations of a record's parameter values where they are few, else every value with the others at default.
inline std::vector<parameter_values> parameter_choices(const algorithm_record& record) {
    constexpr std::size_t few = 24;
    std::vector<parameter_values> product{{}}, single{{}};
    for (std::size_t i = 0; i < record.info.parameters.size(); ++i) {
        const std::size_t count = record.info.parameters[i].values.size();
        std::vector<parameter_values> grown;
        for (const parameter_values& values : product)
            for (std::size_t value = 0; value < count && grown.size() <= few; ++value) {
                grown.push_back(values);
                grown.back().choice[i] = static_cast<std::uint8_t>(value);
            }
        product = grown;
        for (std::size_t value = 1; value < count; ++value) {
            single.push_back({});
            single.back().choice[i] = static_cast<std::uint8_t>(value);
        }
    }
    return product.size() <= few ? product : single;
}

}  // namespace boxsum::test
