#include "competitors/entry_reads.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>

namespace boxsum::bench {
namespace {

constexpr std::int64_t count = 1'000'000;
constexpr int launches = 8;

/// The same values on the host and in device memory.
template <typename T>
class mirrored {
  public:
    mirrored(std::vector<T> values, cuda::stream_ref stream)
        : values_(std::move(values)), memory_(values_.size() * sizeof(T), stream) {
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(memory_.data(), values_.data(), memory_.size(), cudaMemcpyHostToDevice, stream.get()));
        stream.synchronize();
    }

    const std::vector<T>& here() const { return values_; }
    T* there() const { return static_cast<T*>(memory_.data()); }

    /// What device memory holds by now.
    std::vector<T> fetched(cuda::stream_ref stream) const {
        std::vector<T> now(values_.size());
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(now.data(), memory_.data(), memory_.size(), cudaMemcpyDeviceToHost, stream.get()));
        stream.synchronize();
        return now;
    }

  private:
    std::vector<T> values_;
    cuda::device_buffer memory_;
};

/// Any bits would do for the time; these are sums that both types of floats add exactly.
template <typename T>
std::vector<T> some_entries(std::int64_t n) {
    std::mt19937 random(3);
    std::vector<T> entries(static_cast<std::size_t>(n * n));
    for (T& entry : entries) entry = static_cast<T>(random() & 0xffff);
    return entries;
}

std::vector<box> some_boxes(std::int64_t n, bool sorted) {
    std::mt19937_64 random(11);
    const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    std::vector<box> boxes;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = below(n), col = below(n);
        boxes.push_back({row, col, 1 + below(n - row), 1 + below(n - col)});
    }
    if (sorted)
        std::sort(boxes.begin(), boxes.end(),
                  [](const box& a, const box& b) { return std::tie(a.row, a.col) < std::tie(b.row, b.col); });
    return boxes;
}

/// Places that have nothing to do with each other; or those that the boxes read of an inclusive table.
std::vector<random_corners> places_of(const std::vector<box>& boxes, std::int64_t n, bool sorted) {
    std::mt19937 random(12);
    const auto place = [&](std::int64_t of_box) {
        const auto any = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        return static_cast<std::uint32_t>(sorted ? std::max<std::int64_t>(of_box, 0) : any);
    };
    std::vector<random_corners> places;
    for (const box& b : boxes) {
        random_corners p{};
        for (int k = 0; k < 4; ++k) {
            p.row[k] = place(b.row - 1 + (k % 2 != 0 ? b.rows : 0));
            p.col[k] = place(b.col - 1 + (k / 2 != 0 ? b.cols : 0));
        }
        places.push_back(p);
    }
    return places;
}

template <typename T>
std::string verdict_of(const std::vector<T>& found, const std::vector<T>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (std::memcmp(&found[i], &expected[i], sizeof(T)) != 0) return "WRONG: box " + std::to_string(i);
    return "equal";
}

/// The sum of the entries at the places, as the reads are to give it.
template <typename Word>
std::string verdict_of_reads(const std::vector<Word>& found, const void* entries, std::int64_t n,
                             const std::vector<random_corners>& places) {
    std::vector<Word> expected(found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        for (int k = 0; k < 4; ++k) {
            Word entry;
            std::memcpy(&entry, static_cast<const Word*>(entries) + places[i].row[k] * n + places[i].col[k],
                        sizeof entry);
            expected[i] += entry;
        }
    return verdict_of(found, expected);
}

/// Sums, means and variances over tables of n x n entries, beside as many reads in the same order.
template <typename Sum, typename Square>
void boxes_of(std::int64_t n, bool sorted, cuda::stream_ref stream) {
    using sum_word = std::conditional_t<sizeof(Sum) == 4, std::uint32_t, std::uint64_t>;
    using square_word = std::conditional_t<sizeof(Square) == 4, std::uint32_t, std::uint64_t>;
    const mirrored<Sum> table(some_entries<Sum>(n), stream);
    const mirrored<Square> squares(some_entries<Square>(n), stream);
    const mirrored<box> boxes(some_boxes(n, sorted), stream);
    const mirrored<random_corners> places(places_of(boxes.here(), n, sorted), stream);
    const mirrored<Sum> sums(std::vector<Sum>(count), stream);
    const mirrored<double> means(std::vector<double>(count), stream), variances(std::vector<double>(count), stream);
    const mirrored<sum_word> read(std::vector<sum_word>(count), stream);
    const mirrored<square_word> read_squares(std::vector<square_word>(count), stream);

    const const_any_table_view there{image_view<const Sum>(table.there(), n, n)};
    const const_any_table_view squares_there{image_view<const Square>(squares.there(), n, n)};
    const cuda::device_boxes all{boxes.there(), count};
    const std::vector<runner> runners{
        {"sums",
         [&](int, cuda::stream_ref s) {
             cuda::box_sums_async(there, all, {sums.there(), count}, s);
         }},
        {"means",
         [&](int, cuda::stream_ref s) {
             cuda::box_means_async(there, all, {means.there(), count}, s);
         }},
        {"variances",
         [&](int, cuda::stream_ref s) {
             cuda::box_variances_async({there, squares_there}, all, {variances.there(), count}, s);
         }},
        {"reads",
         [&](int, cuda::stream_ref s) { read_entries(there.entries, places.there(), count, read.there(), s); }},
        {"reads of both tables", [&](int, cuda::stream_ref s) {
             read_entries(there.entries, places.there(), count, read.there(), s);
             read_entries(squares_there.entries, places.there(), count, read_squares.there(), s);
         }}};
    const std::vector<double> us = times_of(runners, launches, false, stream);

    const table_view<const Sum> here({table.here().data(), n, n});
    const table_view<const Square> squares_here({squares.here().data(), n, n});
    std::vector<scalar> answers(count);
    box_sums(here, boxes.here(), answers);
    std::vector<Sum> expected_sums(count);
    std::transform(answers.begin(), answers.end(), expected_sums.begin(), [](const scalar& s) {
        return std::is_floating_point_v<Sum> ? static_cast<Sum>(s.f) : static_cast<Sum>(s.u);
    });
    std::vector<double> expected_means(count), expected_variances(count);
    box_means(here, boxes.here(), expected_means);
    box_variances({here, squares_here}, boxes.here(), expected_variances);
    const std::string checks[] = {
        verdict_of(sums.fetched(stream), expected_sums), verdict_of(means.fetched(stream), expected_means),
        verdict_of(variances.fetched(stream), expected_variances),
        verdict_of_reads(read.fetched(stream), table.here().data(), n, places.here()),
        verdict_of_reads(read_squares.fetched(stream), squares.here().data(), n, places.here())};
    for (std::size_t i = 0; i < runners.size(); ++i) {
        json_line line;
        line.text("section", "boxes")
            .text("what", runners[i].name)
            .text("table", name_of(dtype_of<Sum>))
            .text("squares", name_of(dtype_of<Square>))
            .number("n", static_cast<double>(n))
            .text("order", sorted ? "sorted" : "random")
            .number("boxes", static_cast<double>(count))
            .number("us", us[i]);
        if (i < 3) line.number("x_of_reads", us[i] / us[i == 2 ? 4 : 3]);
        line.text("check", checks[i]).print();
    }
}

}  // namespace

void boxes_section(cuda::stream_ref stream) {
    for (const std::int64_t n : {4096, 8192})
        for (const bool sorted : {false, true}) {
            boxes_of<std::uint32_t, std::uint64_t>(n, sorted, stream);
            boxes_of<float, double>(n, sorted, stream);
            boxes_of<std::uint64_t, std::uint64_t>(n, sorted, stream);
        }
}

}  // namespace boxsum::bench
