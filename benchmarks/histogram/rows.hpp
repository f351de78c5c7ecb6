#pragma once

#include "program/record.hpp"

#include <boxsum/types.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace boxsum::bench {

histogram_row row_for(const std::string& what, backend where, std::int64_t rows, std::int64_t cols, std::int64_t bins,
                      const std::string& algorithm = {}, const std::string& parameters = {});

/// What the exception says becomes the row's: memory that is not there and what is not supported are notes ("not run"),
/// everything else is a wrong result. To be called while it is handled; takes anything.
void failed(histogram_row& row) noexcept;

}  // namespace boxsum::bench
