#pragma once

#include "cpu/filters/row_job.hpp"
#include "filters/filter_jobs.hpp"

/// The filters on the CPU, of checked jobs in checked memory.
namespace boxsum::filters {

void box_filter(const row_job& job, const filter_outputs& outputs);
void local_statistics(const row_job& job, const window_outputs& outputs);
void adaptive_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs);
void local_contrast(const row_job& job, double epsilon, const filter_outputs& outputs);

/// The same where pixels may not count (window_job::sampled()).
void sampled_statistics(const row_job& job, const window_outputs& outputs);
void sampled_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs);
void sampled_contrast(const row_job& job, double epsilon, const filter_outputs& outputs);

/// Windows of up to the job's, with a radius for every result.
void variable_box_filter(const window_job& job, const variable_inputs& inputs, const filter_outputs& outputs);

}  // namespace boxsum::filters
