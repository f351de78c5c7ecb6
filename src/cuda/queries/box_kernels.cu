// Sums, means and variances of many boxes from tables on the device.
//
// A box costs four reads (Crow 1984) that have nothing to do with those of its neighbours, so what counts is how many
// are under way. A thread has several boxes: it reads all of them, then all of their corners, and computes last.
//
// A kernel is compiled for the width of entries. What they are it asks behind the reads, where all threads give the
// same answer.

#include "cuda/queries/box_kernels.hpp"
#include "cuda/queries/table_offset.cuh"
#include "cuda/runtime/launch.cuh"

#include <boxsum/cuda/box.cuh>

#include <cstring>
#include <limits>
#include <type_traits>

namespace boxsum::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int thread_boxes = 2;
constexpr int block_boxes = block_threads * thread_boxes;

/// Entries of one width, and what they are.
template <typename Word>
struct word_table {
    device_table<Word> words;
    std::int64_t channel, plane;
    dtype type;
    table_offset offset;

    explicit word_table(const queried_table& t)
        : words(t.table.entries.data, t.table.entries.shape, t.table.form),
          channel(t.channel),
          plane(t.plane),
          type(t.table.entries.shape.type),
          offset(t) {}
};

template <typename Word>
using corners = box_detail::corner_entries<Word>;

template <typename T, typename Word>
__device__ T sum_as(const corners<Word>& words) {
    corners<T> entries;
    static_assert(sizeof entries == sizeof words);
    std::memcpy(&entries, &words, sizeof entries);
    return box_detail::difference(entries);
}

/// f(the sum in its type)
template <typename F>
__device__ void with_sum(const corners<word32>& words, dtype type, F&& f) {
    if (type == dtype::u32)
        f(sum_as<std::uint32_t>(words));
    else if (type == dtype::s32)
        f(sum_as<std::int32_t>(words));
    else
        f(sum_as<float>(words));
}

template <typename F>
__device__ void with_sum(const corners<word64>& words, dtype type, F&& f) {
    if (type == dtype::u64)
        f(sum_as<std::uint64_t>(words));
    else if (type == dtype::s64)
        f(sum_as<std::int64_t>(words));
    else
        f(sum_as<double>(words));
}

/// The boxes of a thread: thread_boxes of them, block_threads apart, so that neighbours read neighbours.
class own_boxes {
  public:
    __device__ own_boxes(const device_boxes& all, bool aligned)
        : first_(static_cast<std::int64_t>(blockIdx.x) * block_boxes + threadIdx.x), count_(all.count) {
#pragma unroll
        for (int k = 0; k < thread_boxes; ++k)
            if (exists(k)) boxes_[k] = read(all.data + number(k), aligned);
    }

    /// Where the table has no such box, an empty one that reads its first entry takes its place.
    template <typename Word>
    __device__ void keep_inside(const device_table<Word>& table) {
#pragma unroll
        for (int k = 0; k < thread_boxes; ++k) {
            inside_[k] = contains(table, boxes_[k]);
            if (!inside_[k]) boxes_[k] = {1 - table.border, 1 - table.border, 0, 0};
        }
    }

    __device__ std::int64_t number(int k) const {
        return first_ + k * block_threads;
    }
    __device__ bool exists(int k) const {
        return number(k) < count_;
    }
    __device__ bool inside(int k) const {
        return inside_[k];
    }
    __device__ const box& operator[](int k) const {
        return boxes_[k];
    }

    template <typename Word>
    __device__ void read_corners(const word_table<Word>& table, corners<Word> (&words)[thread_boxes]) const {
#pragma unroll
        for (int k = 0; k < thread_boxes; ++k)
            words[k] = box_detail::read_corners(table.words, boxes_[k], table.channel, table.plane);
    }

  private:
    __device__ static box read(const box* from, bool aligned) {
        static_assert(sizeof(box) == 2 * sizeof(ulonglong2));
        if (!aligned) return *from;
        const auto* const halves = reinterpret_cast<const ulonglong2*>(from);
        const ulonglong2 both[2] = {halves[0], halves[1]};
        box b;
        std::memcpy(&b, both, sizeof b);
        return b;
    }

    std::int64_t first_, count_;
    box boxes_[thread_boxes];
    bool inside_[thread_boxes];
};

/// 64f, or 32f.
__device__ void store(const any_device_span& out, std::int64_t i, double value) {
    if (out.type == dtype::f64)
        static_cast<double*>(out.data)[i] = value;
    else
        static_cast<float*>(out.data)[i] = static_cast<float>(value);
}

template <typename T>
__device__ T no_answer() {
    if constexpr (std::numeric_limits<T>::has_quiet_NaN)
        return static_cast<T>(nan(""));
    else
        return 0;
}

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    sum_boxes_kernel(word_table<Word> table, device_boxes boxes, bool aligned, void* out) {
    own_boxes own(boxes, aligned);
    own.keep_inside(table.words);
    corners<Word> words[thread_boxes];
    own.read_corners(table, words);
#pragma unroll
    for (int k = 0; k < thread_boxes; ++k)
        with_sum(words[k], table.type, [&](auto sum) {
            using T = decltype(sum);
            if (own.exists(k))
                static_cast<T*>(out)[own.number(k)] =
                    own.inside(k) ? table.offset.added_to_sum(sum, own[k]) : no_answer<T>();
        });
}

template <typename Word>
__global__ void __launch_bounds__(block_threads)
    average_boxes_kernel(word_table<Word> table, device_boxes boxes, bool aligned, any_device_span out) {
    own_boxes own(boxes, aligned);
    own.keep_inside(table.words);
    corners<Word> words[thread_boxes];
    own.read_corners(table, words);
#pragma unroll
    for (int k = 0; k < thread_boxes; ++k) {
        double sum = 0;
        with_sum(words[k], table.type, [&](auto exact) { sum = static_cast<double>(exact); });
        if (own.exists(k))
            store(out, own.number(k),
                  own.inside(k) ? table.offset.added_to_mean(sum / box_detail::pixels(own[k])) : no_answer<double>());
    }
}

template <typename Sums, typename Squares>
__global__ void __launch_bounds__(block_threads)
    vary_boxes_kernel(word_table<Sums> table, word_table<Squares> squares, device_boxes boxes, bool aligned,
                      any_device_span out) {
    own_boxes own(boxes, aligned);
    own.keep_inside(table.words);
    corners<Sums> of_values[thread_boxes];
    corners<Squares> of_squares[thread_boxes];
    own.read_corners(table, of_values);
    own.read_corners(squares, of_squares);
#pragma unroll
    for (int k = 0; k < thread_boxes; ++k) {
        box_detail::any_sum sum, square;
        with_sum(of_values[k], table.type, [&](auto exact) { sum = box_detail::to_any(exact); });
        with_sum(of_squares[k], squares.type, [&](auto exact) { square = box_detail::to_any(exact); });
        if (own.exists(k))
            store(out, own.number(k), own.inside(k) ? box_detail::variance(sum, square, own[k]) : no_answer<double>());
    }
}

launch_shape for_boxes(const device_boxes& boxes) {
    return {.grid = static_cast<unsigned>((boxes.count + block_boxes - 1) / block_boxes), .block = block_threads};
}

bool aligned(const device_boxes& boxes) {
    return reinterpret_cast<std::uintptr_t>(boxes.data) % sizeof(ulonglong2) == 0;
}

/// f.operator()<Word>()
template <typename F>
void visit_width(const queried_table& table, F&& f) {
    if (size_of(table.table.entries.shape.type) == sizeof(word32))
        f.template operator()<word32>();
    else
        f.template operator()<word64>();
}

}  // namespace

void enqueue_box_sums(const queried_table& table, const device_boxes& boxes, void* sums, stream_ref stream) {
    visit_width(table, [&]<typename Word>() {
        launch(sum_boxes_kernel<Word>, for_boxes(boxes), stream, word_table<Word>(table), boxes, aligned(boxes), sums);
    });
}

void enqueue_box_means(const queried_table& table, const device_boxes& boxes, const any_device_span& means,
                       stream_ref stream) {
    visit_width(table, [&]<typename Word>() {
        launch(average_boxes_kernel<Word>, for_boxes(boxes), stream, word_table<Word>(table), boxes, aligned(boxes),
               means);
    });
}

void enqueue_box_variances(const queried_table& table, const queried_table& squares, const device_boxes& boxes,
                           const any_device_span& variances, stream_ref stream) {
    visit_width(table, [&]<typename Sums>() {
        visit_width(squares, [&]<typename Squares>() {
            launch(vary_boxes_kernel<Sums, Squares>, for_boxes(boxes), stream, word_table<Sums>(table),
                   word_table<Squares>(squares), boxes, aligned(boxes), variances);
        });
    });
}

}  // namespace boxsum::cuda
