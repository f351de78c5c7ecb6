#pragma once

#include "program/record.hpp"

namespace boxsum::bench {

/// A record with every kind of row that a GPU gives, to test reports without one. Its numbers follow simple formulas
/// and mean nothing; its device says so.
bench_record example_record();

}  // namespace boxsum::bench
