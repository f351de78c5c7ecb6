#pragma once

#include "report/document.hpp"
#include "report/record.hpp"

#include <string>
#include <utility>
#include <vector>

/// The report of a record: what each paper shows, on this machine. Nothing here measures.
namespace boxsum::bench {

/// The whole report, sections in the order of the papers, behind an overview.
document report_of(const bench_record& record);

/// What the head of a page says of a record: device, versions, commit, date, settings.
std::vector<std::pair<std::string, std::string>> facts_of(const bench_record& record);

/// The production kernels and everything else over a copy of the same bytes.
section overview_section(const bench_record& record);

/// Emoto et al. 2018: Table III (time per W and size, overhead) and Table I (costs, measured launches).
section emoto_times_section(const bench_record& record);
section emoto_costs_section(const bench_record& record);

/// Chen et al. 2018: figures 6 and 7; figure 8 with the inequalities, Kogge-Stone against LF, and Table II; section V.
section chen_speedups_section(const bench_record& record);
section chen_passes_section(const bench_record& record);
section chen_model_section(const bench_record& record);

/// The notes' table of times, and figure 5 of Ha et al. 2012.
section notes_section(const bench_record& record);
section ha_han_section(const bench_record& record);

/// What was wrong, and what was not run, with reasons.
section problems_section(const bench_record& record);

}  // namespace boxsum::bench
