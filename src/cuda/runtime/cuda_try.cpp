#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/error.hpp>

#include <string>
#include <string_view>

namespace boxsum::cuda {

void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line) {
    (void)cudaGetLastError();  // what was thrown is no longer pending
    std::string_view name = file;
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    const std::string message = std::string(call) + " failed at " + std::string(name) + ":" + std::to_string(line) +
                                ": " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) + ")";
    if (code == cudaErrorMemoryAllocation) throw out_of_memory(message);
    throw cuda_error(static_cast<int>(code), message);
}

}  // namespace boxsum::cuda
