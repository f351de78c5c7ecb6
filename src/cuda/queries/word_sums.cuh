#pragma once

#include <boxsum/cuda/box.cuh>
#include <boxsum/table_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Tables whose kernels are compiled for the widths of entries. What they are it asks behind the reads, where all
/// threads give the same answer.
namespace boxsum::cuda {

/// Entries of a channel of a plane of a table as words, and what they are: what weighted_sum() reads, without the
/// form's offset.
template <typename Word>
struct word_sums {
    const std::byte* data;
    std::int64_t row_stride, pixel_stride, border;
    dtype type;

    explicit word_sums(const const_any_table_view& t, std::int64_t channel = 0, std::int64_t plane = 0)
        : data(static_cast<const std::byte*>(t.entries.data) + plane * t.entries.shape.plane_stride +
               channel * static_cast<std::int64_t>(sizeof(Word))),
          row_stride(t.entries.shape.row_stride),
          pixel_stride(t.entries.shape.pixel_stride()),
          border(t.form.border()),
          type(t.entries.shape.type) {}

    using real = std::conditional_t<sizeof(Word) == 4, float, double>;
    using integer = std::make_signed_t<Word>;

    template <typename To, typename From>
    static __device__ To bits_as(From from) {
        To to;
        std::memcpy(&to, &from, sizeof to);
        return to;
    }
    __device__ bool is_real() const { return type == dtype::f32 || type == dtype::f64; }
    __device__ Word at(std::int64_t r, std::int64_t c) const {
        r += border - 1;
        c += border - 1;
        if (r < 0 || c < 0) return 0;
        return *reinterpret_cast<const Word*>(data + r * row_stride + c * pixel_stride);
    }
    __device__ Word minus(Word a, Word b) const {
        return is_real() ? bits_as<Word>(bits_as<real>(a) - bits_as<real>(b)) : a - b;
    }
    __device__ double value(Word sum, std::int64_t, std::int64_t) const {
        if (is_real()) return static_cast<double>(bits_as<real>(sum));
        if (type == dtype::s32 || type == dtype::s64) return static_cast<double>(bits_as<integer>(sum));
        return static_cast<double>(sum);
    }
    __device__ box_detail::any_sum any(Word sum) const {
        if (is_real()) return box_detail::to_any(bits_as<real>(sum));
        if (type == dtype::s32 || type == dtype::s64) return box_detail::to_any(bits_as<integer>(sum));
        return box_detail::to_any(sum);
    }
};

/// f.operator()<Word>()
template <typename F>
void visit_width(const const_any_table_view& table, F&& f) {
    if (size_of(table.entries.shape.type) == sizeof(std::uint32_t))
        f.template operator()<std::uint32_t>();
    else
        f.template operator()<std::uint64_t>();
}

}  // namespace boxsum::cuda
