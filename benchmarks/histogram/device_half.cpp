#include "histogram/device_half.hpp"

#include "api/registry.hpp"
#include "core/validate_histogram.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "histogram/rows.hpp"
#include "measure/device_links.hpp"
#include "measure/device_tensors.hpp"
#include "measure/pipeline_runs.hpp"
#include "measure/plain_histogram.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_table.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace boxsum::bench {
namespace {

constexpr int most_tensors = 16;
constexpr double slow_us = 20'000;  // a call is not replayed from here on, and has fewer rounds
constexpr int rounds_of_slow = 3;
constexpr double most_us = 300'000;  // of all rounds of a candidate, about
constexpr std::int64_t most_nodes = 8192;
constexpr std::int64_t most_nodes_apart = 1024;  // of one graph, with those that are not enabled
constexpr std::int64_t most_parts = 1 << 17;     // each name's in a graph of its own
constexpr int rounds_of_many = 3;

/// What takes turns.
struct candidate {
    histogram_row row;
    device_launch launch = {};
    std::optional<contestant> timed = {};
    bool slow = false;
};

class device_case {
  public:
    device_case(const tensor_case& c, const histogram_bench_options& options)
        : c_(c), options_(options), frames_({c.rows, c.cols, c.bins, 1}, most_tensors, stream_) {}

    void add_memset() {
        candidate set{row("memset")};
        const int launches = most_launches();
        set.timed = contestant{"memset",
                               [this, launches] {
                                   for (int i = 0; i < launches; ++i) frames_.poison(i, stream_);
                               },
                               launches};
        set.row.launched = "stream";
        all_.push_back(std::move(set));
    }

    void add(const histogram_variant& v) {
        candidate added{row("tensor", v.algorithm, v.parameters)};
        try {
            prepare(added);
        } catch (...) {
            failed(added.row);
            added.timed.reset();
        }
        all_.push_back(std::move(added));
    }

    void add_transfers() {
        const auto bytes_up = static_cast<std::size_t>(c_.rows * c_.cols);
        const int images = static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 22) / bytes_up, 1, 16));
        struct transfer {
            const char* what;
            bool up, of_image;
        };
        constexpr transfer transfers[] = {
            {"upload", true, true}, {"download", false, false}, {"upload-tensor", true, false}};
        for (const transfer& t : transfers) {
            candidate copy{row(t.what)};
            copy.row.launched = "stream";
            try {
                const std::size_t bytes = t.of_image ? bytes_up : frames_.tensor_bytes();
                const auto host = std::make_shared<cuda::pinned_buffer>(bytes);
                const auto image = t.of_image ? std::make_shared<cuda::device_buffer>(bytes, stream_)
                                              : std::shared_ptr<cuda::device_buffer>();
                const int copies = t.of_image ? images : 1;
                copy.timed =
                    contestant{t.what,
                               [this, host, image, bytes, copies, up = t.up] {
                                   void* const device = image ? image->data() : frames_.tensor(0).entries.data;
                                   for (int i = 0; i < copies; ++i)
                                       BOXSUM_CUDA_TRY(cudaMemcpyAsync(
                                           up ? device : host->data(), up ? host->data() : device, bytes,
                                           up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream_.get()));
                               },
                               copies};
                copy.timed->run();  // touches the memory
                cuda::stream_ref(stream_).synchronize();
            } catch (...) {
                failed(copy.row);
                copy.timed.reset();
            }
            all_.push_back(std::move(copy));
        }
    }

    /// All that can be timed, in turn.
    void race_all() {
        for (const bool slow : {false, true}) {
            std::vector<contestant> contestants;
            std::vector<candidate*> running;
            for (candidate& c : all_)
                if (c.timed && c.slow == slow) {
                    contestants.push_back(*c.timed);
                    running.push_back(&c);
                }
            if (running.empty()) continue;
            const int rounds = slow ? std::min(options_.rounds, rounds_of_slow) : options_.rounds;
            try {
                const std::vector<spread> times = race(contestants, rounds, device_stopwatch(stream_));
                for (std::size_t i = 0; i < times.size(); ++i) {
                    running[i]->row.us = times[i].median;
                    running[i]->row.low_us = times[i].low;
                    running[i]->row.high_us = times[i].high;
                    running[i]->row.samples = times[i].samples;
                }
            } catch (...) {
                for (candidate* const c : running) failed(c->row);
            }
        }
    }

    /// Rows of the kernels of each name, timed without the others. Their sums are not the time of the whole: a graph's
    /// launch and the gaps between kernels count differently.
    std::vector<histogram_row> parts() {
        std::vector<histogram_row> found;
        for (const candidate& whole : all_) {
            if (whole.row.what != "tensor" || !whole.row.us || !whole.row.parameters.empty()) continue;
            histogram_row part = row("part", whole.row.algorithm);
            try {
                add_parts(whole, part, found);
            } catch (...) {
                part.part = "all";
                failed(part);
                if (part.wrong()) part.note = std::exchange(part.check, {});  // the tensor was right: it is not known
                found.push_back(part);
            }
        }
        return found;
    }

    std::vector<histogram_row> rows() const {
        std::vector<histogram_row> rows;
        for (const candidate& c : all_) rows.push_back(c.row);
        return rows;
    }

  private:
    histogram_row row(const std::string& what, const std::string& algorithm = {},
                      const std::string& parameters = {}) const {
        return row_for(what, backend::cuda, c_.rows, c_.cols, c_.bins, algorithm, parameters);
    }

    int most_launches() const { return launches_for(static_cast<std::int64_t>(frames_.tensor_bytes())); }

    /// Runs it once on poisoned memory, compares, and makes a contestant of what is right.
    void prepare(candidate& c) {
        const algorithm_record& record = *find_record(operation::histogram, c.row.algorithm);
        const parameter_values values = parse_parameters(record, c.row.parameters);
        histogram_options how;
        how.algorithm = c.row.algorithm;
        how.parameters = c.row.parameters;
        c.launch = frames_.launch_of(how, stream_);
        if (record.cost != nullptr)
            c.row.launches =
                record
                    .cost(make_histogram_problem({frames_.image().shape, frames_.tensor(0).shape()}, frames_.bins()),
                          values)
                    .launches;
        if (c.row.algorithm == "wf-tis") c.row.occupancy = wf_tis_occupancy(dtype::u32, values);

        frames_.poison(0, stream_);
        c.launch(0, stream_);
        const std::string wrong = frames_.mismatch(stream_);
        c.row.check = wrong.empty() ? "equal" : "wrong: " + wrong;
        if (c.row.wrong()) return;

        const double once_us = device_stopwatch(stream_)([&] { c.launch(0, stream_); });
        c.slow = once_us > slow_us;
        const std::int64_t kernels = std::max<std::int64_t>(c.row.launches.value_or(1), 1);
        const double affordable = most_us / (std::max(once_us, 1.0) * options_.rounds);
        const int launches = c.slow ? 1 : std::clamp(static_cast<int>(affordable), 1, most_launches());
        const bool graph = !c.slow && kernels * launches <= most_nodes;
        c.timed = device_contestant(c.row.algorithm, c.launch, launches, graph, stream_);
        c.row.launched = graph ? "graph" : "stream";
    }

    void add_parts(const candidate& whole, const histogram_row& empty, std::vector<histogram_row>& found) {
        const captured_graph one([&] { whole.launch(0, stream_); }, stream_);
        const std::int64_t kernels = one.kernels();
        if (kernels == 0 || kernels > most_parts)
            throw unsupported(std::to_string(kernels) + " launches are not taken apart");
        if (one.others() > 0) throw unsupported("copies cannot be taken apart");  // memsets only are left out
        std::vector<std::string> name_of_kernel, names;
        for (std::int64_t k = 0; k < kernels; ++k) {
            name_of_kernel.push_back(one.facts(k).name);
            if (std::find(names.begin(), names.end(), name_of_kernel.back()) == names.end())
                names.push_back(name_of_kernel.back());
        }
        const bool many_kernels = kernels > most_nodes_apart;
        const int calls = static_cast<int>(std::clamp<std::int64_t>(most_nodes_apart / kernels, 1, 16));
        std::optional<captured_graph> together;
        if (!many_kernels)
            together.emplace(
                [&] {
                    for (int i = 0; i < calls; ++i) whole.launch(i, stream_);
                },
                stream_);
        for (const std::string& name : names) {
            const auto chosen = [&](std::int64_t k) {
                return name_of_kernel[static_cast<std::size_t>(k % kernels)] == name;
            };
            std::unique_ptr<captured_graph> apart;
            if (many_kernels)
                apart = one.only(chosen);
            else
                together->enable_chosen(chosen);
            const captured_graph& timed = many_kernels ? *apart : *together;
            const std::vector<contestant> alone{{name, [&] { timed.launch(stream_); }, calls}};
            const int rounds = many_kernels ? std::min(options_.rounds, rounds_of_many) : options_.rounds;
            const spread us = race(alone, rounds, device_stopwatch(stream_))[0];
            histogram_row part = empty;
            part.part = name;
            part.launched = "graph";
            part.launches = std::count(name_of_kernel.begin(), name_of_kernel.end(), name);
            part.us = us.median;
            part.low_us = us.low;
            part.high_us = us.high;
            part.samples = us.samples;
            found.push_back(std::move(part));
        }
    }

    const tensor_case& c_;
    const histogram_bench_options& options_;
    cuda::stream stream_;
    device_tensors frames_;
    std::vector<candidate> all_;
};

}  // namespace

std::vector<histogram_row> measure_on_device(const tensor_case& c, const histogram_bench_options& options) {
    std::vector<histogram_row> rows;
    if (c.variants.empty() && !c.transfers) return rows;
    try {
        device_case measured(c, options);
        measured.add_memset();
        for (const histogram_variant& v : c.variants) measured.add(v);
        if (c.transfers) measured.add_transfers();
        measured.race_all();
        rows = measured.rows();
        if (c.parts)
            for (histogram_row& part : measured.parts()) rows.push_back(std::move(part));
    } catch (...) {  // the device has no room, or is gone
        if (!rows.empty()) return rows;
        for (const histogram_variant& v : c.variants) {
            rows.push_back(row_for("tensor", backend::cuda, c.rows, c.cols, c.bins, v.algorithm, v.parameters));
            failed(rows.back());
        }
    }
    return rows;
}

histogram_row measure_breadth_first(const stream_case& c, const std::string& algorithm, int frames) {
    histogram_row row = row_for("frames-breadth-first", backend::cuda, c.rows, c.cols, c.bins, algorithm);
    row.buffers = 2;
    row.launched = "stream";
    try {
        const view_shape frame = cuda::device_shape(dtype::u8, c.rows, c.cols);
        const histogram_shape tensor = cuda::device_histogram_shape(dtype::u32, c.bins, c.rows, c.cols, {});
        const auto tensor_bytes = static_cast<std::size_t>(tensor.entries.planes * tensor.entries.plane_stride);
        const binning bins = binning::uniform(c.bins, 0, 256);
        histogram_options how;
        how.algorithm = algorithm;
        const cuda::histogram_plan plan(histogram_shapes{frame, tensor}, bins, how);
        struct buffer {
            cuda::stream stream;  // outlives what is allocated on it
            cuda::pinned_buffer host_frame, host_tensor;
            cuda::device_buffer frame, tensor;
            cuda::workspace workspace;
        };
        std::array<buffer, 2> buffers;
        for (buffer& b : buffers) {
            b.host_frame = cuda::pinned_buffer(cuda::span_bytes(frame));
            b.host_tensor = cuda::pinned_buffer(tensor_bytes);
            b.frame = cuda::device_buffer(cuda::span_bytes(frame), b.stream);
            b.tensor = cuda::device_buffer(tensor_bytes, b.stream);
            b.workspace.reserve(plan.workspace_bytes(), b.stream);
            std::memset(b.host_tensor.data(), 0xa5, tensor_bytes);
        }
        const std::vector<std::uint8_t> pixels = random_pixels(c.rows * c.cols);
        const auto read = [&](buffer& b) {
            for (std::int64_t r = 0; r < c.rows; ++r)
                std::memcpy(static_cast<std::byte*>(b.host_frame.data()) + r * frame.row_stride,
                            pixels.data() + r * c.cols, static_cast<std::size_t>(c.cols));
        };
        const auto run = [&](int pairs) {
            for (int i = 0; i < pairs; ++i) {
                for (buffer& b : buffers) {
                    cuda::stream_ref(b.stream).synchronize();  // the tensor is there, the frame's memory free
                    read(b);
                }
                for (buffer& b : buffers)
                    BOXSUM_CUDA_TRY(cudaMemcpyAsync(b.frame.data(), b.host_frame.data(), cuda::span_bytes(frame),
                                                    cudaMemcpyHostToDevice, cuda::stream_ref(b.stream).get()));
                for (buffer& b : buffers)
                    plan.run_async({any_view{b.frame.data(), frame}},
                                   {any_histogram_view{{b.tensor.data(), tensor.entries}, tensor.form}}, b.workspace,
                                   b.stream);
                for (buffer& b : buffers)
                    BOXSUM_CUDA_TRY(cudaMemcpyAsync(b.host_tensor.data(), b.tensor.data(), tensor_bytes,
                                                    cudaMemcpyDeviceToHost, cuda::stream_ref(b.stream).get()));
            }
            for (buffer& b : buffers) cuda::stream_ref(b.stream).synchronize();
        };
        run(1);
        histogram_table<std::uint32_t> expected(c.bins, c.rows, c.cols);
        plain_histogram<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), c.rows, c.cols), c.bins,
                                       expected.view().entries());
        const tensor_shape& t = tensor.entries;
        for (const buffer& b : buffers) {
            const tensor_view<const std::uint32_t> found(static_cast<const std::uint32_t*>(b.host_tensor.data()),
                                                         t.bins, t.rows, t.cols, t.row_stride, t.bin_stride);
            row.check = same_tensor<std::uint32_t>(found, std::as_const(expected).view().entries())
                            ? "equal"
                            : "wrong: differs from a plain loop's";
            if (row.wrong()) return row;
        }
        const int pairs = std::max(frames / 2, 1);
        row.samples = 2 * pairs;
        row.us = host_us([&] { run(pairs); }) / (2 * pairs);
    } catch (...) {
        failed(row);
    }
    return row;
}

void measure_links(histogram_row& row, void* memory, std::int64_t bytes) {
    const link_rates links = rates_of_links(row.workers, memory, bytes);
    row.link_us = static_cast<double>(bytes) / links.sum * 1e6;
    row.links_at_once_us = static_cast<double>(bytes) / links.at_once * 1e6;
}

}  // namespace boxsum::bench
