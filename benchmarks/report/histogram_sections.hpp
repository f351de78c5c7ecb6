#pragma once

#include "report/document.hpp"
#include "report/record.hpp"

/// The report of a record of `boxsum bench hist`: the figures of Poostchi et al. 2017, on this machine. Nothing here
/// measures.
namespace boxsum::bench {

/// The whole report, sections in the order of the figures.
document histogram_report_of(const bench_record& record);

/// Figure 7: times over sizes. Figure 8: the kernels of a computation. Figures 9 and 10: tiles and blocks of wf-tis.
section histogram_times_section(const bench_record& record);
section histogram_parts_section(const bench_record& record);
section histogram_tuning_section(const bench_record& record);

/// Figure 11: computing against copying. Figure 13: one buffer and two. Figure 15: frames a second.
section histogram_transfers_section(const bench_record& record);
section histogram_buffers_section(const bench_record& record);
section histogram_rates_section(const bench_record& record);

/// Figures 16 and 17: bins as tasks. Figure 19: speed-up over the CPU. Figure 20: 640 x 480.
section histogram_large_section(const bench_record& record);
section histogram_speedup_section(const bench_record& record);
section histogram_vga_section(const bench_record& record);

/// Beyond the paper: streams of which only answers go back to the host.
section histogram_answers_section(const bench_record& record);

/// What was wrong, and what was not run, with reasons.
section histogram_problems_section(const bench_record& record);

}  // namespace boxsum::bench
