#include "measure/device_race.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/driver_function.hpp"

#include <boxsum/error.hpp>

#include <cuda.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace boxsum::bench {
namespace {

class timer {
  public:
    timer() {
        BOXSUM_CUDA_TRY(cudaEventCreate(&start_));
        BOXSUM_CUDA_TRY(cudaEventCreate(&end_));
    }
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;
    ~timer() {
        (void)cudaEventDestroy(start_);
        (void)cudaEventDestroy(end_);
    }

    /// Microseconds on the stream.
    double measure(cuda::stream_ref stream, const std::function<void()>& run) const {
        BOXSUM_CUDA_TRY(cudaEventRecord(start_, stream.get()));
        run();
        BOXSUM_CUDA_TRY(cudaEventRecord(end_, stream.get()));
        BOXSUM_CUDA_TRY(cudaEventSynchronize(end_));
        float milliseconds = 0;
        BOXSUM_CUDA_TRY(cudaEventElapsedTime(&milliseconds, start_, end_));
        return 1000.0 * milliseconds;
    }

  private:
    cudaEvent_t start_ = nullptr, end_ = nullptr;
};

std::string text_of(const dim3& d) {
    return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// "void boxsum::(anonymous namespace)::scan_rows_kernel<float>(...)" -> "scan_rows_kernel"
std::string short_name(const char* mangled) {
    int failed = 0;
    const std::unique_ptr<char, void (*)(void*)> full(abi::__cxa_demangle(mangled, nullptr, nullptr, &failed),
                                                      std::free);
    std::string name = failed == 0 ? full.get() : mangled;
    for (std::size_t at; (at = name.find("(anonymous namespace)::")) != std::string::npos;) name.erase(at, 23);
    name.erase(std::min(name.find_first_of("<("), name.size()));
    if (const std::size_t space = name.rfind(' '); space != std::string::npos) name.erase(0, space + 1);
    if (const std::size_t scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
    return name;
}

/// Calls a function of the driver. The runtime's own functions know the kernels of the program or library that they are
/// part of; the driver knows those of a shared library beside it, too.
template <typename Function, typename... Arguments>
void call_driver(const char* name, unsigned version, Arguments... arguments) {
    Function* const function = cuda::driver_function<Function>(name, version);
    if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
    const CUresult result = function(arguments...);
    if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(name) + ": CUresult " + std::to_string(result));
}

/// DRIVER_TRY(name, version, arguments...): version as for driver_function().
#define DRIVER_TRY(name, version, ...) call_driver<decltype(name)>(#name, version, __VA_ARGS__)

int attribute_of(CUfunction kernel, CUfunction_attribute what) {
    int value = 0;
    DRIVER_TRY(cuFuncGetAttribute, 12000, &value, what, kernel);
    return value;
}

}  // namespace

stopwatch device_stopwatch(cuda::stream_ref stream) {
    return [stream, clock = std::make_shared<timer>()](const std::function<void()>& run) {
        return clock->measure(stream, run);
    };
}

int launches_for(std::int64_t bytes) {
    return static_cast<int>(std::clamp<std::int64_t>((std::int64_t{1} << 31) / bytes, 8, 32));
}

captured_graph::captured_graph(const std::function<void()>& enqueue, cuda::stream_ref stream) {
    BOXSUM_CUDA_TRY(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    try {
        enqueue();
    } catch (...) {
        cudaGraph_t broken = nullptr;
        (void)cudaStreamEndCapture(stream.get(), &broken);
        if (broken != nullptr) (void)cudaGraphDestroy(broken);
        (void)cudaGetLastError();
        throw;
    }
    BOXSUM_CUDA_TRY(cudaStreamEndCapture(stream.get(), &graph_));
    try {
        std::size_t count = 0;
        BOXSUM_CUDA_TRY(cudaGraphGetNodes(graph_, nullptr, &count));
        std::vector<cudaGraphNode_t> nodes(count);
        if (count > 0) BOXSUM_CUDA_TRY(cudaGraphGetNodes(graph_, nodes.data(), &count));
        for (const cudaGraphNode_t node : nodes) {
            cudaGraphNodeType type{};
            BOXSUM_CUDA_TRY(cudaGraphNodeGetType(node, &type));
            if (type == cudaGraphNodeTypeKernel)
                kernels_.push_back(node);
            else if (type == cudaGraphNodeTypeMemset)
                memsets_.push_back(node);
            else
                ++others_;
        }
        BOXSUM_CUDA_TRY(cudaGraphInstantiate(&executable_, graph_, 0));
    } catch (...) {
        (void)cudaGraphDestroy(graph_);
        throw;
    }
}

captured_graph::~captured_graph() {
    if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
}

void captured_graph::launch(cuda::stream_ref stream) const {
    BOXSUM_CUDA_TRY(cudaGraphLaunch(executable_, stream.get()));
}

kernel_facts captured_graph::facts(std::int64_t i) const {
    CUDA_KERNEL_NODE_PARAMS node{};
    DRIVER_TRY(cuGraphKernelNodeGetParams, 12000, kernels_.at(static_cast<std::size_t>(i)), &node);
    CUfunction kernel = node.func;
    if (kernel == nullptr) DRIVER_TRY(cuKernelGetFunction, 12000, &kernel, node.kern);
    const char* name = nullptr;
    DRIVER_TRY(cuFuncGetName, 12030, &name, kernel);
    kernel_facts facts;
    facts.name = short_name(name);
    facts.grid = text_of({node.gridDimX, node.gridDimY, node.gridDimZ});
    facts.block = text_of({node.blockDimX, node.blockDimY, node.blockDimZ});
    facts.registers = attribute_of(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS);
    facts.static_shared_bytes = attribute_of(kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    facts.dynamic_shared_bytes = node.sharedMemBytes;
    facts.local_bytes = attribute_of(kernel, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    return facts;
}

std::unique_ptr<captured_graph> captured_graph::only(const std::function<bool(std::int64_t)>& chosen) const {
    std::unique_ptr<captured_graph> part(new captured_graph);
    BOXSUM_CUDA_TRY(cudaGraphCreate(&part->graph_, 0));
    for (std::int64_t i = 0; i < kernels(); ++i) {
        if (!chosen(i)) continue;
        CUDA_KERNEL_NODE_PARAMS node{};
        DRIVER_TRY(cuGraphKernelNodeGetParams, 12000, kernels_[static_cast<std::size_t>(i)], &node);
        cudaGraphNode_t added = nullptr;
        const cudaGraphNode_t* const before = part->kernels_.empty() ? nullptr : &part->kernels_.back();
        DRIVER_TRY(cuGraphAddKernelNode, 12000, &added, part->graph_, before, before == nullptr ? 0 : 1, &node);
        part->kernels_.push_back(added);
    }
    BOXSUM_CUDA_TRY(cudaGraphInstantiate(&part->executable_, part->graph_, 0));
    return part;
}

#undef DRIVER_TRY

void captured_graph::enable_chosen(const std::function<bool(std::int64_t)>& chosen) {
    for (std::int64_t i = 0; i < kernels(); ++i)
        BOXSUM_CUDA_TRY(
            cudaGraphNodeSetEnabled(executable_, kernels_[static_cast<std::size_t>(i)], chosen(i) ? 1U : 0U));
    for (const cudaGraphNode_t memset : memsets_) BOXSUM_CUDA_TRY(cudaGraphNodeSetEnabled(executable_, memset, 0));
}

void captured_graph::enable_kernels(std::int64_t period, std::int64_t phase) {
    enable_chosen([=](std::int64_t i) { return i % period == phase; });
}

contestant device_contestant(std::string name, const device_launch& launch, int launches, bool graph,
                             cuda::stream_ref stream) {
    const auto round = [launch, launches, stream] {
        for (int i = 0; i < launches; ++i) launch(i, stream);
    };
    round();  // loads kernels, grows caches
    stream.synchronize();
    if (!graph) return {std::move(name), round, launches};
    const auto captured = std::make_shared<captured_graph>(round, stream);
    return {std::move(name), [captured, stream] { captured->launch(stream); }, launches};
}

}  // namespace boxsum::bench
