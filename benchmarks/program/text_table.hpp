#pragma once

#include "program/record.hpp"

#include <string>

namespace boxsum::bench {

/// The rows of a record as columns of plain text, one line each. scripts/paper_docs.py makes the papers' tables of it.
std::string text_of(const bench_record& record);

}  // namespace boxsum::bench
