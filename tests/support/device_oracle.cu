#include "core/visit_types.hpp"
#include "cuda/device/ptx.cuh"
#include "cuda/runtime/launch.cuh"
#include "support/device_oracle.hpp"

#include <boxsum/table.hpp>

#include <algorithm>

namespace boxsum::test {
namespace {

using cuda::launch;
using word = unsigned long long;

__host__ __device__ word mix(word x) {  // SplitMix64
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct place {
    std::int64_t plane, row, col, channel;
};

__device__ place place_of(const view_shape& s, std::int64_t index) {
    place at;
    at.channel = index % s.channels;
    index /= s.channels;
    at.col = index % s.cols;
    index /= s.cols;
    at.row = index % s.rows;
    at.plane = index / s.rows;
    return at;
}

template <typename T>
__device__ T* element(void* data, const view_shape& s, const place& at) {
    return reinterpret_cast<T*>(static_cast<char*>(data) + (s.planes > 1 ? at.plane * s.plane_stride : 0) +
                                at.row * s.row_stride) +
           at.col * s.channels + at.channel;
}

std::int64_t count_of(const view_shape& s) {
    return s.planes * s.rows * s.cols * s.channels;
}

dim3 grid_for(std::int64_t work) {
    return dim3(static_cast<unsigned>(std::clamp<std::int64_t>((work + 255) / 256, 1, 1 << 20)));
}

__device__ std::int64_t first_index() {
    return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

__device__ std::int64_t index_step() {
    return std::int64_t{gridDim.x} * blockDim.x;
}

template <typename T>
__device__ std::int64_t to_integer(T value) {
    if constexpr (std::is_same_v<T, float16>)
        return static_cast<std::int64_t>(cuda::half_to_float(value));
    else
        return static_cast<std::int64_t>(value);
}

/// Of integers of at most 2048, which are exact.
__device__ float16 half_of(std::int64_t value) {
    const unsigned magnitude = static_cast<unsigned>(value < 0 ? -value : value);
    if (magnitude == 0) return {};
    unsigned exponent = 0;
    while (magnitude >> (exponent + 1) != 0) ++exponent;
    const unsigned mantissa = (magnitude << 10 >> exponent) & 0x3ff;
    return {static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | mantissa)};
}

template <typename T>
__device__ T from_integer(std::int64_t value) {
    if constexpr (std::is_same_v<T, float16>)
        return half_of(value);
    else
        return static_cast<T>(value);
}

template <typename T>
__global__ void fill_exact_kernel(void* data, view_shape s, std::int64_t count, std::int64_t magnitude, word seed,
                                  word one_in, std::int64_t level) {
    for (std::int64_t i = first_index(); i < count; i += index_step()) {
        const word bits = mix(seed + static_cast<word>(i));
        std::int64_t value = static_cast<std::int64_t>(bits);
        if ((bits >> 32) % one_in != 0) {
            value = 0;
        } else if (magnitude > 0) {
            const word range = static_cast<word>(magnitude) + 1;
            value = static_cast<std::int64_t>(bits % range);
            if (std::is_signed_v<T> || std::is_same_v<T, float16>) value = (bits >> 60) % 2 == 0 ? value : -value;
        }
        *element<T>(data, s, place_of(s, i)) = from_integer<T>(value + level);
    }
}

template <typename T>
__global__ void sum_rows_kernel(void* image, view_shape s, word* sums, bool square) {
    const std::int64_t lines = s.planes * s.rows * s.channels;
    for (std::int64_t line = first_index(); line < lines; line += index_step()) {
        const std::int64_t channel = line % s.channels, row = line / s.channels % s.rows,
                           plane = line / s.channels / s.rows;
        const T* const in = element<T>(image, s, {plane, row, 0, channel});
        word* const out = sums + (plane * s.rows + row) * s.cols * s.channels + channel;
        word sum = 0;
        for (std::int64_t c = 0; c < s.cols; ++c) {
            const word x = static_cast<word>(to_integer(in[c * s.channels]));
            sum += square ? x * x : x;
            out[c * s.channels] = sum;
        }
    }
}

__global__ void sum_columns_kernel(view_shape s, word* sums) {
    const std::int64_t width = s.cols * s.channels, lines = s.planes * width;
    for (std::int64_t line = first_index(); line < lines; line += index_step()) {
        word* const column = sums + line / width * s.rows * width + line % width;
        word sum = 0;
        for (std::int64_t r = 0; r < s.rows; ++r) column[r * width] = sum += column[r * width];
    }
}

/// findings: wrong, first, spoiled, spoiled_at.
__device__ void note(word* findings, std::int64_t at) {
    atomicAdd(findings, 1ull);
    atomicMin(findings + 1, static_cast<word>(at));
}

/// Sums of an image of so many rows and columns, and what a table makes of them.
struct compared_form {
    const word* sums;
    std::int64_t rows, cols, border;
    table_origin origin;
    std::int64_t offset;
};

template <typename T>
__global__ void compare_kernel(void* table, view_shape s, std::int64_t count, compared_form f, word* findings) {
    for (std::int64_t i = first_index(); i < count; i += index_step()) {
        const place at = place_of(s, i);
        const auto before = [&](std::int64_t row, std::int64_t col) -> word {
            if (row == 0 || col == 0) return 0;
            return f.sums[((at.plane * f.rows + row - 1) * f.cols + col - 1) * s.channels + at.channel];
        };
        const std::int64_t row = at.row + 1 - f.border, col = at.col + 1 - f.border;
        const std::int64_t top = f.origin.row, left = f.origin.col;
        const word sum = before(row, col) - before(top, col) - before(row, left) + before(top, left) -
                         static_cast<word>(f.offset * (row - top) * (col - left));
        const T expected = from_integer<T>(static_cast<std::int64_t>(sum));
        if (!(*element<T>(table, s, at) == expected)) note(findings, i);
    }
}

__global__ void check_gaps_kernel(const unsigned char* block, std::int64_t bytes, std::int64_t first, view_shape s,
                                  std::int64_t row_bytes, std::int64_t plane_bytes, unsigned char poison,
                                  word* findings) {
    for (std::int64_t i = first_index(); i < bytes; i += index_step()) {
        std::int64_t at = i - first;
        bool owned = at >= 0;
        if (owned && s.planes > 1) {
            const std::int64_t plane = min(at / s.plane_stride, s.planes - 1);
            at -= plane * s.plane_stride;
        }
        owned = owned && at < plane_bytes && (s.rows == 1 ? at < row_bytes : at % s.row_stride < row_bytes);
        if (!owned && block[i] != poison) note(findings + 2, i);
    }
}

__global__ void fill_position_coded_kernel(void* image, view_shape s, std::int64_t count) {
    for (std::int64_t i = first_index(); i < count; i += index_step()) {
        const place at = place_of(s, i);
        *element<u8>(image, s, at) = static_cast<u8>(at.plane % 16 + at.row % 113 + at.col % 127);
    }
}

/// Sum of i % period over i in 0..n.
__device__ word sum_of_remainders(word n, word period) {
    const word whole = (n + 1) / period, rest = (n + 1) % period;
    return whole * (period * (period - 1) / 2) + (rest > 0 ? rest * (rest - 1) / 2 : 0);
}

__global__ void compare_position_coded_kernel(void* table, view_shape s, std::int64_t count, std::int64_t shift,
                                              word* findings) {
    for (std::int64_t i = first_index(); i < count; i += index_step()) {
        const place at = place_of(s, i);
        word expected = 0;
        if (at.row >= shift && at.col >= shift) {
            const word r = static_cast<word>(at.row - shift), c = static_cast<word>(at.col - shift);
            expected = (c + 1) * sum_of_remainders(r, 113) + (r + 1) * sum_of_remainders(c, 127) +
                       (r + 1) * (c + 1) * static_cast<word>(at.plane % 16);
        }
        if (*element<u32>(table, s, at) != static_cast<u32>(expected)) note(findings, i);
    }
}

__global__ void count_differences_kernel(const unsigned char* a, const unsigned char* b, std::int64_t bytes,
                                         word* count) {
    word mine = 0;
    for (std::int64_t i = first_index(); i < bytes; i += index_step()) mine += a[i] != b[i] ? 1 : 0;
    if (mine != 0) atomicAdd(count, mine);
}

constexpr std::size_t findings_words = 4;

void clear(void* findings, cuda::stream_ref stream) {
    static constexpr word none[findings_words]{0, ~0ull, 0, ~0ull};
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(findings, none, sizeof none, cudaMemcpyHostToDevice, stream.get()));
}

std::string collect(void* findings, cuda::stream_ref stream) {
    word found[findings_words]{};
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(found, findings, sizeof found, cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    std::string text;
    if (found[0] != 0)
        text += std::to_string(found[0]) + " wrong entries, the first has index " + std::to_string(found[1]);
    if (found[2] != 0)
        text += (text.empty() ? "" : "; ") + std::to_string(found[2]) + " bytes written that belong to no element, " +
                "the first at " + std::to_string(found[3]);
    if (!text.empty()) clear(findings, stream);
    return text;
}

void* mutable_data(const const_any_view& v) {
    return const_cast<void*>(v.data);
}

}  // namespace

device_oracle::device_oracle(std::int64_t elements, cuda::stream_ref stream)
    : sums_(static_cast<std::size_t>(elements) * sizeof(word), stream),
      findings_(findings_words * sizeof(word), stream) {
    clear(findings_.data(), stream);
}

void device_oracle::sum(const const_any_view& image, bool square, cuda::stream_ref stream) {
    image_ = image.shape;
    auto* const sums = static_cast<word*>(sums_.data());
    visit_dtype(image_.type, [&]<typename T>() {
        launch(sum_rows_kernel<T>, {.grid = grid_for(image_.planes * image_.rows * image_.channels), .block = 256},
               stream, mutable_data(image), image_, sums, square);
    });
    launch(sum_columns_kernel, {.grid = grid_for(image_.planes * image_.cols * image_.channels), .block = 256}, stream,
           image_, sums);
}

void device_oracle::compare(const const_any_view& table, const table_form& form, cuda::stream_ref stream) {
    const std::int64_t count = count_of(table.shape);
    const compared_form compared{
        static_cast<const word*>(sums_.data()), image_.rows, image_.cols, form.border(), form.origin,
        static_cast<std::int64_t>(form.offset)};
    visit_dtype(table.shape.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>)
            launch(compare_kernel<T>, {.grid = grid_for(count), .block = 256}, stream, mutable_data(table), table.shape,
                   count, compared, static_cast<word*>(findings_.data()));
    });
}

void device_oracle::check_gaps(const void* block, std::size_t bytes, const const_any_view& view, int poison,
                               cuda::stream_ref stream) {
    const view_shape& s = view.shape;
    const std::int64_t row_bytes = s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
    launch(check_gaps_kernel, {.grid = grid_for(static_cast<std::int64_t>(bytes)), .block = 256}, stream,
           static_cast<const unsigned char*>(block), static_cast<std::int64_t>(bytes),
           static_cast<const char*>(view.data) - static_cast<const char*>(block), s, row_bytes,
           (s.rows - 1) * s.row_stride + row_bytes, static_cast<unsigned char>(poison),
           static_cast<word*>(findings_.data()));
}

std::string device_oracle::result(cuda::stream_ref stream) {
    return collect(findings_.data(), stream);
}

std::int64_t exact_magnitude(dtype table, std::int64_t elements, bool squares) {
    if (!is_floating(table)) return 0;
    const std::int64_t limit = (std::int64_t{1} << (table == dtype::f32 ? 24 : 53)) / elements;
    std::int64_t magnitude = std::min<std::int64_t>(limit, 1000);  // at most 2048, for 16f
    while (squares && magnitude * magnitude > limit) --magnitude;
    return std::max<std::int64_t>(magnitude, 1);
}

void fill_exact(const any_view& image, std::int64_t magnitude, std::uint64_t seed, cuda::stream_ref stream,
                std::int64_t one_in, std::int64_t level) {
    const std::int64_t count = count_of(image.shape);
    visit_dtype(image.shape.type, [&]<typename T>() {
        // 8u cannot hold 1000: the magnitude is taken modulo its range.
        const std::int64_t most = std::is_same_v<T, u8> ? std::min<std::int64_t>(magnitude, 255) : magnitude;
        launch(fill_exact_kernel<T>, {.grid = grid_for(count), .block = 256}, stream, image.data, image.shape, count,
               most, word{mix(seed)}, static_cast<word>(one_in), level);
    });
}

void fill_position_coded(const any_view& image, cuda::stream_ref stream) {
    launch(fill_position_coded_kernel, {.grid = grid_for(count_of(image.shape)), .block = 256}, stream, image.data,
           image.shape, count_of(image.shape));
}

std::string compare_position_coded(const const_any_view& table, table_layout layout, cuda::stream_ref stream) {
    const cuda::device_buffer findings(findings_words * sizeof(word), stream);
    clear(findings.data(), stream);
    launch(compare_position_coded_kernel, {.grid = grid_for(count_of(table.shape)), .block = 256}, stream,
           mutable_data(table), table.shape, count_of(table.shape),
           std::int64_t{layout == table_layout::inclusive ? 0 : 1}, static_cast<word*>(findings.data()));
    return collect(findings.data(), stream);
}

void count_differences(const void* a, const void* b, std::size_t bytes, unsigned long long* count,
                       cuda::stream_ref stream) {
    launch(count_differences_kernel, {.grid = grid_for(static_cast<std::int64_t>(bytes / 16)), .block = 256}, stream,
           static_cast<const unsigned char*>(a), static_cast<const unsigned char*>(b), static_cast<std::int64_t>(bytes),
           count);
}

}  // namespace boxsum::test
