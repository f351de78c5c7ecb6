#pragma once

#include "core/algorithm_record.hpp"

/// The published GPU algorithms for integral histograms (Poostchi et al. 2017), one file each; README.md is their map.
namespace boxsum {

extern constinit const algorithm_record histogram_cw_b_record;
extern constinit const algorithm_record histogram_cw_sts_record;
extern constinit const algorithm_record histogram_cw_tis_record;
extern constinit const algorithm_record histogram_wf_tis_record;

/// Share of a multiprocessor's threads that the kernel of wf-tis keeps busy with these parameters, 0 to 1, on the
/// current device: what the paper's figure 9 shows beside the time. Only where `built`.
double wf_tis_occupancy(dtype entry, const parameter_values& values);

}  // namespace boxsum
