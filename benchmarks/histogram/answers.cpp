#include "histogram/answers.hpp"

#include "histogram/host_tensors.hpp"
#include "histogram/rows.hpp"
#include "measure/frame_answers.hpp"
#include "measure/pipeline_runs.hpp"

#include <algorithm>
#include <utility>

namespace boxsum::bench {
namespace {

constexpr int most_frames_of_host = 20;  // a frame takes a hundred times as long there
constexpr int frames_of_device = 10;     // for each of the options

}  // namespace

std::vector<histogram_row> measure_answers(const answer_case& c, const histogram_bench_options& options,
                                           const target& where) {
    const bool on_device = where.where == backend::cuda;
    std::vector<histogram_row> rows;
    for (const std::string& name : answer_names())
        for (const bool copies : {true, false})
            for (const int buffers : c.buffers) {
                histogram_row row = row_for("answers", where.where, c.rows, c.cols, c.bins, on_device ? "fast" : "cpu",
                                            copies ? name : name + ", in place");
                row.buffers = buffers;
                row.launched = on_device ? "stream" : "host";
                try {
                    frame_run run{c.rows, c.cols, c.bins, options.frames};
                    run.frames = on_device ? frames_of_device * run.frames : std::min(run.frames, most_frames_of_host);
                    run.copies = copies;
                    run.request = request_for_answers(name, c.rows, c.cols, c.bins);
                    run.options.buffers = buffers;
                    run.options.histogram.algorithm = row.algorithm;
                    run.look = [&](const frame_result& result) {
                        row.check = check_answers(run.request, c.bins, result);
                    };
                    if (on_device)
                        run.options.device = where.device;
                    else
                        row.threads = run.options.histogram.threads = several_threads(options);
                    const pipeline_report report = run_frames(run);
                    row.samples = static_cast<int>(report.frames);
                    if (!row.wrong() && report.frames > 0) {
                        const double us = 1e6 / static_cast<double>(report.frames);
                        const auto busy = [&](pipeline_stage stage) {
                            return report.busy[static_cast<std::size_t>(stage)] * us;
                        };
                        row.us = report.seconds * us;
                        row.overlap = report.overlap();
                        row.read_us = busy(pipeline_stage::read);
                        row.compute_us = busy(pipeline_stage::compute);
                        row.query_us = busy(pipeline_stage::query);
                        if (on_device) row.upload_us = busy(pipeline_stage::upload);
                    }
                } catch (...) {
                    failed(row);
                }
                rows.push_back(std::move(row));
            }
    return rows;
}

}  // namespace boxsum::bench
