// Beyond the paper: streams of images of which only answers go back to the host.

#include "report/histogram_query.hpp"
#include "report/histogram_sections.hpp"
#include "report/query.hpp"

namespace boxsum::bench {

section histogram_answers_section(const bench_record& record) {
    section s{"answers", "Only answers go back: boxes and a search", {}};
    table t{"This machine: frames whose tensors stay where they are computed",
            {"algorithm", "size", "answers", "buffers", "frames a second", "of the kernels", "read, ms a frame",
             "upload", "tensor", "answers, ms"},
            {},
            "1000 boxes of all sizes, or the best of every fourth window of a tenth by a twentieth of the frame. In "
            "place: frames are in their buffers already; else each is copied there first. Of the kernels: the time of "
            "tensor and answers, which share a stream on a GPU, over the elapsed time.",
            3};
    for (const histogram_row& r : record.histograms) {
        if (r.what != "answers") continue;
        const auto ms = [](const std::optional<double>& busy) {
            return busy ? cell{three_digits(*busy / 1000)} : cell{"-", emphasis::muted};
        };
        const bool timed = r.us && r.compute_us && r.query_us;
        t.rows.push_back({{r.algorithm},
                          {std::to_string(r.cols) + " x " + std::to_string(r.rows) + " x " + std::to_string(r.bins)},
                          {r.parameters},
                          {std::to_string(r.buffers)},
                          value_cell(r.us ? std::optional(1e6 / *r.us) : std::nullopt),
                          value_cell(timed ? std::optional((*r.compute_us + *r.query_us) / *r.us) : std::nullopt),
                          ms(r.read_us),
                          ms(r.upload_us),
                          ms(r.compute_us),
                          ms(r.query_us)});
    }
    if (t.rows.empty()) t.rows.push_back(not_measured("-", t.head.size()));
    s.blocks.push_back(std::move(t));
    return s;
}

}  // namespace boxsum::bench
