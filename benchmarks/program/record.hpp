#pragma once

#include "measure/io_error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What `boxsum bench` measured, as the JSON that is kept (results/<gpu>/bench-*.json). Everything that is shown is
/// made from a record, by scripts/paper_docs.py.
namespace boxsum::bench {

/// One computation of tables of one shape, by an algorithm of the registry or by a competitor.
struct table_row {
    std::string what = "table";  ///< "table", "copy" (the bytes alone), "box-blur" (a table and a window of it)
    std::string backend;         ///< "cpu", "cuda": where it ran
    std::string types;           ///< "8u32u"
    std::int64_t rows = 0, cols = 0;
    std::string algorithm;   ///< the registry's name, or the competitor's
    std::string parameters;  ///< "W=64,threads=256"; empty: it has none

    std::optional<double> us, low_us, high_us;  ///< median and quartiles; none: wrong, or not run
    int rounds = 0;
    std::string launched;  ///< "host", "stream", "graph"
    std::string check;     ///< "equal"; "wrong: ..." where the result was not the table; empty where it was not run
    std::string note;      ///< why it was not run, or what the reader should know

    /// As the record counts them (algorithm_cost), per element and in all.
    std::optional<double> reads, writes;
    std::optional<std::int64_t> launches, threads;
    /// Kernels and other nodes in a captured call.
    std::optional<std::int64_t> measured_launches, measured_memsets;

    bool wrong() const { return check.starts_with("wrong"); }
    bool same_case(const table_row& other) const {
        return what == other.what && backend == other.backend && types == other.types && rows == other.rows &&
               cols == other.cols && algorithm == other.algorithm && parameters == other.parameters;
    }
};

/// One kernel of a call: what the tools say about it and, where it can run by itself, its time.
struct pass_row {
    std::string types;
    std::int64_t rows = 0, cols = 0;
    std::string algorithm, parameters;
    int pass = 0;  ///< from 1, in launch order
    std::string kernel;
    std::optional<double> us;
    /// Of a thread, of a block, of a block, of a thread: local bytes are registers that were spilled, and arrays. None:
    /// as in the first row of this kernel and block.
    std::optional<std::int64_t> registers, static_shared_bytes, dynamic_shared_bytes, local_bytes;
    std::string grid, block;  ///< "(256, 1, 1)"
    std::string note;

    bool operator==(const pass_row&) const = default;
    bool same_case(const pass_row& other) const {
        return types == other.types && rows == other.rows && cols == other.cols && algorithm == other.algorithm &&
               parameters == other.parameters && pass == other.pass;
    }
};

/// Appends a pass and keeps the record small: facts of a kernel that an earlier row of the same kernel and block has
/// are not repeated, and a pass without a time of which nothing new is said is left out, whatever the launch and the
/// size.
void append_pass(std::vector<pass_row>& passes, pass_row pass);

/// One micro-benchmark: the latency or the throughput of an instruction; or a fact of the device that the model needs.
struct micro_row {
    std::string name;  ///< "shuffle latency"
    std::optional<double> value, low, high;
    std::string unit;  ///< "clocks"
    std::string note;
    std::string check = {};  ///< "wrong: ..." where the device cannot do what was measured

    bool wrong() const { return check.starts_with("wrong"); }
    bool same_case(const micro_row& other) const { return name == other.name; }
};

/// Integral histograms: a tensor, a part of its computation, its way to the host, or many of them.
struct histogram_row {
    /// "tensor" (one, again and again), "memset" (as many bytes), "part" (the kernels of one name), "upload" (the
    /// image), "download" (the tensor), "upload-tensor" (as if it had been initialised on the host), "frames" (tensors
    /// of a stream of images, to the host; "frames-breadth-first": by the streams of the paper's Algorithm 6),
    /// "answers" (of a stream of images whose tensors stay), "tasks-kept" and "tasks-host" (one image, bins as tasks).
    std::string what;
    std::string backend;  ///< "cpu", "cuda"
    std::int64_t rows = 0, cols = 0, bins = 0;
    std::string algorithm, parameters;
    std::string part;   ///< name of the kernels
    int threads = 0;    ///< of the CPU; 0: does not matter
    int buffers = 0;    ///< frames in flight
    int workers = 0;    ///< devices, or CPU workers
    std::string image;  ///< the paper's name for the size of a large image, "HXGA"

    /// A tensor: median and quartiles; "frames" and "answers": elapsed over frames.
    std::optional<double> us, low_us, high_us;
    int samples = 0;       ///< rounds, frames or runs
    std::string launched;  ///< "host", "stream", "graph"
    std::string check;     ///< "equal"; "wrong: ..." where the result was not the histogram; empty where it was not run
    std::string note;      ///< why it was not run, or what the reader should know

    std::optional<std::int64_t> launches;       ///< kernels of a call, or of the part
    std::optional<std::int64_t> measured_bins;  ///< where the time is that of so many bins, scaled
    std::optional<std::int64_t> tasks;
    std::optional<double> occupancy;  ///< of a multiprocessor's threads, 0 to 1
    std::optional<double> overlap;    ///< busy time of all stages over elapsed time
    std::optional<double> read_us, upload_us, compute_us, query_us, download_us;  ///< busy, a frame
    std::optional<double> pinning_us;                                             ///< page-locking, apart from the time
    /// The tensor's way to page-locked host memory and nothing else, at the sum of what the links of all its devices
    /// do one at a time, and at what they do at once.
    std::optional<double> link_us, links_at_once_us;

    bool wrong() const { return check.starts_with("wrong"); }
    bool same_case(const histogram_row& other) const {
        return what == other.what && backend == other.backend && rows == other.rows && cols == other.cols &&
               bins == other.bins && algorithm == other.algorithm && parameters == other.parameters &&
               part == other.part && threads == other.threads && buffers == other.buffers && workers == other.workers;
    }
};

/// Where and from what it was measured. Parts belong together only if all of this agrees.
struct run_origin {
    std::string commit;    ///< full hash; "unknown" where there is none
    bool changed = false;  ///< the tree had changes that no commit holds
    std::string boxsum;    ///< version
    std::string backend;   ///< "cpu", "cuda"
    std::string device;    ///< name of the GPU, or of the processor
    std::string driver;    ///< of the GPU; empty on a CPU
    std::string toolkit;   ///< CUDA's version; empty without
    std::string host;      ///< processor

    friend bool operator==(const run_origin&, const run_origin&) = default;
};

inline constexpr const char* sat_kind = "boxsum bench sat";
inline constexpr const char* histogram_kind = "boxsum bench hist";

struct bench_record {
    std::string kind = sat_kind;  ///< the command that makes it
    run_origin origin;
    std::string date;      ///< of the last part, "2026-11-21T09:27:52Z"
    std::string settings;  ///< rounds and threads of the last part, for the reader
    std::vector<table_row> tables;
    std::vector<pass_row> passes;
    std::vector<micro_row> micro;
    std::vector<histogram_row> histograms;
};

/// Rows of `fresh` replace the same cases of `old`; the others stay. Where the two are not of one commit without
/// changes, one machine and one toolkit, nothing of `old` is kept.
bench_record merged(const bench_record& old, bench_record fresh);

/// Whether merged() keeps the rows of `old`.
bool mergeable(const run_origin& old, const run_origin& fresh);

/// Any wrong result.
bool has_wrong(const bench_record& record);

/// JSON with one row a line, so that a version control system shows which rows changed.
std::string json_of(const bench_record& record);

/// The inverse. Throws io_error naming `source` for text that is no such record.
bench_record record_of(const std::string& json, const std::string& source);

/// Throws io_error naming the path. Writing goes through a temporary file in the same folder.
bench_record read_record(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace boxsum::bench
