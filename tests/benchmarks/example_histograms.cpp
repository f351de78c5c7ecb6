#include "example_histograms.hpp"

namespace boxsum::bench {
namespace {

constexpr double bytes_per_us_of_memory = 4e6, bytes_per_us_of_link = 5e4;

struct extents {
    std::int64_t rows, cols, bins;
    double bytes() const { return 4.0 * static_cast<double>(rows * cols * bins); }
};

histogram_row row(const std::string& what, const std::string& backend, const extents& e, const std::string& algorithm,
                  double us) {
    histogram_row r;
    r.what = what;
    r.backend = backend;
    r.rows = e.rows;
    r.cols = e.cols;
    r.bins = e.bins;
    r.algorithm = algorithm;
    r.us = us;
    r.low_us = us * 0.98;
    r.high_us = us * 1.03;
    r.samples = 11;
    r.launched = backend == "cpu" ? "host" : "graph";
    r.check = "equal";
    return r;
}

void add_tensors(bench_record& record, const extents& e) {
    const double set = e.bytes() / bytes_per_us_of_memory;
    auto& rows = record.histograms;
    rows.push_back(row("memset", "cuda", e, "", set));
    struct kind {
        const char* name;
        double over_memset;
    };
    for (const kind& k : {kind{"cw-b", 400}, {"cw-sts", 12}, {"cw-tis", 5}, {"wf-tis", 4}, {"fast", 1.2}}) {
        rows.push_back(row("tensor", "cuda", e, k.name, 5 + set * k.over_memset));
        if (std::string(k.name) == "cw-b" && e.rows * e.bins >= 32768) {
            rows.back().us = rows.back().low_us = rows.back().high_us = {};
            rows.back().check.clear();
            rows.back().note = "more than 65536 launches";
        }
    }
    rows.push_back(row("upload", "cuda", e, "", e.bytes() / 4 / static_cast<double>(e.bins) / bytes_per_us_of_link));
    for (const char* what : {"download", "upload-tensor"})
        rows.push_back(row(what, "cuda", e, "", e.bytes() / bytes_per_us_of_link));
}

void add_host(bench_record& record, const extents& e) {
    for (const int threads : {0, 1, 8}) {
        record.histograms.push_back(row("tensor", "cpu", e, threads == 0 ? "sequential" : "cpu",
                                        e.bytes() / (threads == 0   ? 2e3
                                                     : threads == 1 ? 1e4
                                                                    : 3e4)));
        record.histograms.back().threads = threads == 0 ? 1 : threads;
    }
}

}  // namespace

bench_record example_histograms() {
    bench_record record;
    record.kind = histogram_kind;
    record.origin = {
        std::string(40, 'b'), false, "0.0.0", "cuda", "no GPU (made-up numbers <for tests>)", "000.00", "13.0", "none"};
    record.date = "2026-01-02T03:04:05Z";
    record.settings = "made up";
    for (const std::int64_t n : {256, 512, 1024, 2048}) {
        add_tensors(record, {n, n, 32});
        add_host(record, {n, n, 32});
    }
    for (const std::int64_t bins : {16, 64, 128}) {
        add_tensors(record, {512, 512, bins});
        add_host(record, {512, 512, bins});
    }
    add_tensors(record, {480, 640, 32});
    add_host(record, {480, 640, 32});
    for (const int tile : {64, 32, 16})
        for (const int threads : {64, 128, 256, 512, 1024}) {
            if (tile == 64 && threads == 256) continue;  // the default has no name
            record.histograms.push_back(
                row("tensor", "cuda", {512, 512, 32}, "wf-tis", 20 + 1000.0 / threads + 2000.0 / tile));
            record.histograms.back().parameters =
                "tile=" + std::to_string(tile) + ",threads=" + std::to_string(threads);
            record.histograms.back().occupancy = 0.5;
        }
    for (const std::int64_t n : {512, 1024})
        for (const char* part : {"initialize_kernel", "prescan_rows_kernel", "transpose_3d_kernel"}) {
            const extents e{n, n, 32};
            record.histograms.push_back(row("part", "cuda", e, "cw-sts", 3 * e.bytes() / bytes_per_us_of_memory));
            record.histograms.back().part = part;
            record.histograms.back().launches = part[0] == 'i' ? 1 : 2;
        }
    for (const std::int64_t bins : {16, 32, 64, 128})
        for (const int buffers : {1, 2}) {
            const extents e{720, 1280, bins};
            record.histograms.push_back(
                row("frames", "cuda", e, "fast", e.bytes() / bytes_per_us_of_link * (buffers == 1 ? 1.5 : 1.0)));
            record.histograms.back().buffers = buffers;
            record.histograms.back().samples = 100;
            record.histograms.back().overlap = buffers == 1 ? 0.9 : 1.4;
            record.histograms.back().download_us = e.bytes() / bytes_per_us_of_link;
            record.histograms.back().link_us = e.bytes() / bytes_per_us_of_link;
        }
    for (const char* algorithm : {"wf-tis", "fast"})
        for (const extents& e : {extents{256, 256, 32},
                                 {512, 512, 32},
                                 {1024, 1024, 32},
                                 {2048, 2048, 32},
                                 {512, 512, 16},
                                 {512, 512, 64},
                                 {512, 512, 128}}) {
            record.histograms.push_back(row("frames", "cuda", e, algorithm, 1.1 * e.bytes() / bytes_per_us_of_link));
            record.histograms.back().buffers = 2;
        }
    for (const char* answers : {"boxes", "boxes, in place", "search", "search, in place"}) {
        record.histograms.push_back(row("answers", "cuda", {720, 1280, 32}, "fast", 80));
        record.histograms.back().parameters = answers;
        record.histograms.back().buffers = 4;
        record.histograms.back().compute_us = 40;
        record.histograms.back().query_us = answers[0] == 'b' ? 10 : 36;
    }
    add_host(record, {8192, 8192, 128});
    for (const char* what : {"tasks-kept", "tasks-host"})
        for (const int workers : {1, 2}) {
            const extents e{8192, 8192, 128};
            const double rate = what[6] == 'k' ? bytes_per_us_of_memory : bytes_per_us_of_link;
            record.histograms.push_back(row(what, "cuda", e, "fast", e.bytes() / rate / workers));
            record.histograms.back().workers = workers;
            record.histograms.back().image = "64MB";
            record.histograms.back().tasks = 4 * workers;
            if (what[6] == 'k') continue;
            record.histograms.back().link_us = 0.96 * e.bytes() / bytes_per_us_of_link / workers;
            record.histograms.back().links_at_once_us = 0.98 * e.bytes() / bytes_per_us_of_link / workers;
        }
    return record;
}

}  // namespace boxsum::bench
