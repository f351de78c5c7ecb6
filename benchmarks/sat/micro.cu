// Section V.A of Chen et al. 2018: latencies of instructions, and the bandwidth of shared memory, by chains of
// dependent instructions between two readings of the clock (after Wong et al. 2010, whom the paper extends). What a
// device cannot do is no result: each is held to the limits of a multiprocessor.

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/launch.cuh"
#include "measure/statistics.hpp"
#include "sat/device_tables.hpp"
#include "sat/micro_limits.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>

#include <algorithm>

namespace boxsum::bench {
namespace {

constexpr int short_chain = 256, long_chain = 1024, repetitions = 21;

/// The clock, where `x` is neither computed later nor used earlier.
template <typename T>
__device__ long long clock_between(T& x) {
    long long now;
    if constexpr (std::is_same_v<T, float>)
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(now), "+f"(x)::"memory");
    else
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(now), "+r"(x)::"memory");
    return now;
}

// One link of each chain. Operands come from memory, so that nothing can be computed beforehand; rounding additions are
// never merged by the compiler, as integer ones are.
struct shuffle_link {
    static __device__ float next(float x, float, unsigned) { return __shfl_up_sync(~0U, x, 1); }
};
struct add_link {
    static __device__ float next(float x, float y, unsigned) { return __fadd_rn(x, y); }
};
struct and_add_link {
    static __device__ float next(float x, float y, unsigned mask) {
        return __fadd_rn(__uint_as_float(__float_as_uint(x) & mask), y);
    }
};

/// One warp; clocks of a chain of so many links.
template <typename Link, int Links>
__global__ void chain_kernel(const float* operands, unsigned mask, long long* clocks, float* sink) {
    float x = operands[threadIdx.x];
    const float y = operands[32];
    const long long start = clock_between(x);
#pragma unroll
    for (int i = 0; i < Links; ++i) x = Link::next(x, y, mask);
    const long long end = clock_between(x);
    sink[threadIdx.x] = x;
    if (threadIdx.x == 0) *clocks = end - start;
}

/// One thread follows addresses through shared memory.
template <int Links>
__global__ void chase_kernel(long long* clocks, float* sink) {
    __shared__ unsigned next[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        next[i] = static_cast<unsigned>(__cvta_generic_to_shared(&next[(i + 33) % 256]));
    __syncthreads();
    if (threadIdx.x != 0) return;
    auto at = static_cast<unsigned>(__cvta_generic_to_shared(&next[0]));
    const long long start = clock_between(at);
#pragma unroll
    for (int i = 0; i < Links; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    const long long end = clock_between(at);
    *sink = static_cast<float>(at);
    *clocks = end - start;
}

/// A full block reads 16 bytes a lane, again and again: clocks from the first warp's start to the last one's end. The
/// loads are volatile in PTX, too: the assembler merges others, whose address stays the same.
template <int Loads>
__global__ void bandwidth_kernel(long long* clocks, float* sink) {
    extern __shared__ uint4 words[];
    __shared__ unsigned long long first, last;
    words[threadIdx.x] = uint4{threadIdx.x, 1, 2, 3};
    if (threadIdx.x == 0) {
        first = ~0ULL;
        last = 0;
    }
    __syncthreads();
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&words[threadIdx.x]));
    unsigned sum = 0;
    const long long start = clock_between(sum);
#pragma unroll 16
    for (int i = 0; i < Loads; ++i) {
        uint4 v;
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(at));
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    const long long end = clock_between(sum);
    atomicMin(&first, static_cast<unsigned long long>(start));
    atomicMax(&last, static_cast<unsigned long long>(end));
    __syncthreads();
    sink[threadIdx.x] = static_cast<float>(sum);
    if (threadIdx.x == 0) *clocks = static_cast<long long>(last - first);
}

class bench_memory {
  public:
    bench_memory()
        : operands_(64 * sizeof(float), stream_), clocks_(sizeof(long long), stream_), sink_(1024 * 4, stream_) {
        BOXSUM_CUDA_TRY(cudaMemsetAsync(operands_.data(), 0, operands_.size(), stream_.get()));
    }
    const float* operands() const { return static_cast<const float*>(operands_.data()); }
    long long* clocks() const { return static_cast<long long*>(clocks_.data()); }
    float* sink() const { return static_cast<float*>(sink_.data()); }
    cuda::stream_ref stream() const { return stream_; }

    double read_clocks() const {
        long long value = 0;
        BOXSUM_CUDA_TRY(cudaMemcpyAsync(&value, clocks_.data(), sizeof value, cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        return static_cast<double>(value);
    }

  private:
    cuda::stream stream_;
    cuda::device_buffer operands_, clocks_, sink_;
};

/// Clocks a link: what a long chain takes more than a short one, so that the price of reading the clock drops out.
template <typename Short, typename Long>
spread clocks_a_link(const bench_memory& memory, Short run_short, Long run_long) {
    std::vector<double> samples;
    for (int i = -1; i < repetitions; ++i) {
        run_short();
        const double brief = memory.read_clocks();
        run_long();
        const double lengthy = memory.read_clocks();
        if (i >= 0) samples.push_back((lengthy - brief) / (long_chain - short_chain));
    }
    return spread_of(std::move(samples));
}

template <typename Link>
spread chain_clocks(const bench_memory& memory) {
    const auto run = [&](auto kernel) {
        cuda::launch(kernel, {.grid = 1, .block = 32}, memory.stream(), memory.operands(), ~0U, memory.clocks(),
                     memory.sink());
    };
    return clocks_a_link(
        memory, [&] { run(chain_kernel<Link, short_chain>); }, [&] { run(chain_kernel<Link, long_chain>); });
}

micro_row row_of(const char* name, const spread& s, const char* unit, const char* note) {
    return {name, s.median, s.low, s.high, unit, note};
}

double attribute(cudaDeviceAttr which) {
    int value = 0;
    BOXSUM_CUDA_TRY(cudaDeviceGetAttribute(&value, which, cuda::current_device()));
    return value;
}

/// What equations 7 to 13 need of the device: Table I, clock, and throughputs.
void add_facts(std::vector<micro_row>& rows) {
    const auto add = [&](const char* name, double value, const char* unit, const char* note) {
        rows.push_back({name, value, {}, {}, unit, note});
    };
    const char* const told = "as the runtime says";
    const cuda::device_info device = cuda::describe_device(cuda::current_device());
    add("compute capability", device.major + device.minor / 10.0, "", told);
    add("multiprocessors", device.multiprocessors, "", told);
    add("clock", attribute(cudaDevAttrClockRate) / 1000, "MHz", told);
    add("shared memory", attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor), "bytes a multiprocessor", told);
    add("registers", attribute(cudaDevAttrMaxRegistersPerMultiprocessor), "a multiprocessor", told);
    add("threads", attribute(cudaDevAttrMaxThreadsPerMultiProcessor), "a multiprocessor", told);
    const instruction_throughput most = throughput_of(device.major, device.minor);
    const char* const manual = "of the programming guide, for this compute capability";
    add("float additions", most.float_additions, "a clock and multiprocessor", manual);
    add("logical operations", most.logical_operations, "a clock and multiprocessor", manual);
    add("shuffles", most.shuffles, "a clock and multiprocessor", manual);
}

}  // namespace

std::vector<micro_row> measure_micro() {
    const bench_memory memory;
    std::vector<micro_row> rows;
    const auto add_latency = [&](const char* name, const spread& clocks, double least, const char* note) {
        rows.push_back(held_to(row_of(name, clocks, "clocks", note), least, 1000));
    };
    const auto chase = [&](auto kernel) {
        cuda::launch(kernel, {.grid = 1, .block = 32}, memory.stream(), memory.clocks(), memory.sink());
    };
    // An instruction issues in one clock and has its result after two at the earliest.
    add_latency("shared memory latency",
                clocks_a_link(
                    memory, [&] { chase(chase_kernel<short_chain>); }, [&] { chase(chase_kernel<long_chain>); }),
                2, "a chain of addresses");
    add_latency("shuffle latency", chain_clocks<shuffle_link>(memory), 2, "shfl.up of 32f");
    const spread add = chain_clocks<add_link>(memory);
    add_latency("addition latency", add, 2, "32f");
    spread both = chain_clocks<and_add_link>(memory);
    both.median -= add.median;
    both.low -= add.median;
    both.high -= add.median;
    add_latency("AND latency", both, 2, "a chain of AND and addition, less the addition");

    constexpr int few = 256, many = 1280, threads = 1024;
    std::vector<double> bytes_a_clock;
    for (int i = -1; i < repetitions; ++i) {
        const auto run = [&](auto kernel) {
            cuda::launch(kernel, {.grid = 1, .block = threads, .shared_bytes = threads * sizeof(uint4)},
                         memory.stream(), memory.clocks(), memory.sink());
            return memory.read_clocks();
        };
        const double brief = run(bandwidth_kernel<few>), lengthy = run(bandwidth_kernel<many>);
        if (i >= 0) bytes_a_clock.push_back((many - few) * threads * 16.0 / (lengthy - brief));
    }
    // A quarter of the limit would mean that something else was measured: warps are many and their loads wide.
    rows.push_back(held_to(row_of("shared memory bandwidth", spread_of(std::move(bytes_a_clock)),
                                  "bytes a clock and multiprocessor", "one block of 1024 threads, 16 bytes a load"),
                           shared_bytes_a_clock / 4, shared_bytes_a_clock));
    add_facts(rows);
    return rows;
}

}  // namespace boxsum::bench
