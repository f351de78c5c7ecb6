#pragma once

#include "core/visit_types.hpp"

#include <boxsum/error.hpp>

#include <string>
#include <string_view>

namespace boxsum {

/// What tables hold.
using table_types = type_list<u32, s32, u64, s64, f32, f64>;

/// Throws unsupported for views of other elements.
inline void check_table_type(std::string_view argument, dtype type) {
    if (!contains(table_types{}, type))
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(type)) +
                          ", tables are 32u, 32s, 64u, 64s, 32f or 64f");
}

/// Throws unsupported for tables of counts of other elements.
inline void check_count_type(dtype type) {
    if (type != dtype::u32 && type != dtype::u64 && type != dtype::f64)
        throw unsupported("counts: type is " + std::string(name_of(type)) +
                          ", must be 32u or 64u, or 64f where weights count");
}

/// Throws unsupported for results of other elements.
inline void check_real_type(std::string_view argument, dtype type) {
    if (type != dtype::f32 && type != dtype::f64)
        throw unsupported(std::string(argument) + ": type is " + std::string(name_of(type)) + ", must be 32f or 64f");
}

}  // namespace boxsum
