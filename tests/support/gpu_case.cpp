#include "support/gpu_case.hpp"

#include "cuda/runtime/cuda_try.hpp"

#include <cuda_runtime_api.h>

namespace boxsum::test {
namespace {

constexpr int poison = 0xa5;

void fetch(void* to, const void* from, std::size_t bytes, cuda::stream_ref stream) {
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
}

}  // namespace

gpu_case::gpu_case(const conformance_case& what, cuda::stream_ref stream) : what_(what), problem_(problem_of(what)) {
    image_ = cuda::device_buffer(cuda::span_bytes(problem_.image), stream);
    if (!problem_.in_place) table_ = cuda::device_buffer(cuda::span_bytes(problem_.table), stream);
    if (problem_.squares) squares_ = cuda::device_buffer(cuda::span_bytes(*problem_.squares), stream);
    refill(what.seed, stream);
}

void gpu_case::refill(std::uint64_t seed, cuda::stream_ref stream) {
    std::vector<std::byte> host(image_.size());
    fill({host.data(), problem_.image}, what_.contents, seed);
    sums_.emplace(problem_, host.data(), false);
    if (problem_.squares) square_sums_.emplace(problem_, host.data(), true);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(image_.data(), host.data(), host.size(), cudaMemcpyHostToDevice, stream.get()));
    if (table_.size() != 0) BOXSUM_CUDA_TRY(cudaMemsetAsync(table_.data(), poison, table_.size(), stream.get()));
    if (squares_.size() != 0) BOXSUM_CUDA_TRY(cudaMemsetAsync(squares_.data(), poison, squares_.size(), stream.get()));
    stream.synchronize();
}

sat_shapes gpu_case::shapes() const {
    return shapes_of(inputs(), outputs());
}

sat_outputs gpu_case::outputs() const {
    sat_outputs out{{table(), problem_.form}};
    if (has_squares()) out.squares = {squares(), problem_.form};
    return out;
}

sat_options gpu_case::options(std::string_view algorithm) const {
    sat_options options;
    options.algorithm = algorithm;
    return options;
}

void gpu_case::run_async(const cuda::sat_plan& plan, cuda::workspace& workspace, cuda::stream_ref stream) const {
    plan.run_async(inputs(), outputs(), workspace, stream);
}

std::optional<std::string> gpu_case::mismatch(const algorithm_info& algorithm, cuda::stream_ref stream) const {
    const std::int64_t depth = find_record(algorithm.what, algorithm.name)->addition_depth(problem_, {});
    std::vector<std::byte> host(cuda::span_bytes(problem_.table));
    fetch(host.data(), table().data, host.size(), stream);
    auto wrong = sums_->mismatch(host.data(), depth);
    if (!wrong && has_squares()) {
        host.resize(squares_.size());
        fetch(host.data(), squares_.data(), host.size(), stream);
        wrong = square_sums_->mismatch(host.data(), depth);
    }
    if (wrong) *wrong = std::string(algorithm.name) + ", " + describe(what_) + ": " + *wrong;
    return wrong;
}

std::vector<std::byte> gpu_case::table_bytes(cuda::stream_ref stream) const {
    std::vector<std::byte> host(cuda::span_bytes(problem_.table));
    fetch(host.data(), table().data, host.size(), stream);
    return host;
}

std::vector<const algorithm_record*> cuda_records() {
    std::vector<const algorithm_record*> records;
    for (const algorithm_record* record : registry(operation::sat))
        if (record->info.where == backend::cuda && record->info.built) records.push_back(record);
    return records;
}

conformance_case plain_case(dtype input, dtype table, std::int64_t rows, std::int64_t cols) {
    conformance_case c;
    c.input = input;
    c.table = table;
    c.rows = rows;
    c.cols = cols;
    return c;
}

}  // namespace boxsum::test
