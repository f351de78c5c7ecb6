#pragma once

#include "core/algorithm_record.hpp"

/// The published GPU algorithms for summed area tables, one file each; README.md is their map.
namespace boxsum {

extern constinit const algorithm_record sat_1r1w_record;
extern constinit const algorithm_record sat_1r1w_hybrid_record;
extern constinit const algorithm_record sat_1r1w_skss_record;
extern constinit const algorithm_record sat_1r1w_skss_lb_record;
extern constinit const algorithm_record sat_2r1w_record;
extern constinit const algorithm_record sat_2r2w_record;
extern constinit const algorithm_record sat_2r2w_optimal_record;
extern constinit const algorithm_record sat_bilgic_record;
extern constinit const algorithm_record sat_brlt_scanrow_record;
extern constinit const algorithm_record sat_ha_han_record;
extern constinit const algorithm_record sat_harris_transpose_record;
extern constinit const algorithm_record sat_hensley_record;
extern constinit const algorithm_record sat_opencv_scan_scan_record;
extern constinit const algorithm_record sat_partial_column_row_record;
extern constinit const algorithm_record sat_scanrow_brlt_record;
extern constinit const algorithm_record sat_scanrow_column_record;

}  // namespace boxsum
