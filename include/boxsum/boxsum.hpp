#pragma once

/// Everything for the host; what runs on devices is in boxsum/cuda/.
#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/convolve.hpp>
#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/histogram_tasks.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/row_stream.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/table.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/verify.hpp>
#include <boxsum/version.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>
#include <boxsum/window_queries.hpp>
