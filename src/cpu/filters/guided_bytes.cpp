#include "cpu/filters/guided_bytes.hpp"

#include "cpu/filters/integer_windows.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace boxsum::filters {
namespace {

/// How many pixels the windows of a row have, as a product of two numbers, and what they are divided by.
struct real_counts {
    explicit real_counts(const row_job& job) : cols(job.n()), inverse_cols(job.n()) {
        for (std::int64_t i = 0; i < job.n(); ++i) {
            cols[i] = static_cast<f64>(job.cols.count(i));
            inverse_cols[i] = 1 / cols[i];
        }
    }
    byte_window_counts at(std::int64_t rows, std::int64_t first) const {
        const auto real = static_cast<f64>(rows);
        return {real, 1 / real, cols.data() + first, inverse_cols.data() + first};
    }

    work_buffer<f64> cols, inverse_cols;
};

/// Sums of terms over the rows of a window, for every column. add(sums, row, weight) and slide(sums, in, out) are of
/// rows of the image.
template <typename A, typename Add, typename Slide>
class column_terms {
  public:
    column_terms(const row_job& job, Add add, Slide slide) : job_(job), row_(job), add_(add), slide_(slide) {}

    A* data() const noexcept { return row_.origin(); }

    void move_to(std::int64_t row, bool first) {
        if (first) {
            std::fill_n(data(), job_.n(), A{0});
            return for_each_row_of_window(job_.rows, row, [&](std::int64_t i, std::int64_t weight) { add(i, weight); });
        }
        const std::int64_t in = job_.rows.source(row + job_.rows.after);
        const std::int64_t out = job_.rows.source(row - job_.rows.before - 1);
        if (in >= 0 && out >= 0) return slide_(data(), in, out);
        add(in, 1);
        add(out, -1);
    }

  private:
    void add(std::int64_t row, std::int64_t weight) {
        if (row >= 0) add_(data(), row, static_cast<A>(weight));
    }

    const row_job& job_;
    extended_row<A> row_;
    Add add_;
    Slide slide_;
};

/// Windows of column sums that are made for them.
template <typename Columns>
class sum_windows {
  public:
    sum_windows(const row_job& job, Columns&& columns) : columns_(std::move(columns)), windows_(job, 0) {}

    void move_to(std::int64_t row, bool first) {
        columns_.move_to(row, first);
        windows_.start(columns_.data(), row);
    }
    auto next(std::int64_t first, std::int64_t n) { return windows_.next(first, n); }

  private:
    Columns columns_;
    row_windows<std::remove_pointer_t<decltype(std::declval<Columns>().data())>> windows_;
};

/// A plane of bytes, of those of a job.
struct byte_plane {
    const row_job& job;
    std::int64_t number;

    const u8* row(std::int64_t row) const { return job.pixels<u8>(row, number); }
};

/// Sums of x y.
auto product_windows(const byte_plane& x, const byte_plane& y, const byte_guide_kernels& kernels) {
    const auto add = [x, y, &kernels, n = x.job.n()](u32* sums, std::int64_t row, u32 weight) {
        kernels.add_products(sums, x.row(row), y.row(row), weight, n);
    };
    const auto slide = [x, y, &kernels, n = x.job.n()](u32* sums, std::int64_t in, std::int64_t out) {
        kernels.slide_products(sums, x.row(in), y.row(in), x.row(out), y.row(out), n);
    };
    return sum_windows(x.job, column_terms<u32, decltype(add), decltype(slide)>(x.job, add, slide));
}

auto pixel_windows(const byte_plane& x) {
    const auto& kernels = std::get<accumulate_kernels<u8, u32>>(x.job.kernels->accumulate);
    const auto add = [x, &kernels](u32* sums, std::int64_t row, u32 weight) {
        kernels.add(sums, x.row(row), 0, weight, x.job.n());
    };
    const auto slide = [x, &kernels](u32* sums, std::int64_t in, std::int64_t out) {
        kernels.slide(sums, x.row(in), x.row(out), 0, x.job.n());
    };
    return sum_windows(x.job, column_terms<u32, decltype(add), decltype(slide)>(x.job, add, slide));
}

/// Of a plane of fits.
auto fit_windows(const row_job& fits, std::int64_t plane, const byte_guide_kernels& kernels) {
    const auto add = [&fits, &kernels, plane](u64* sums, std::int64_t row, u64 weight) {
        kernels.add_fits(sums, fits.pixels<u64>(row, plane), weight, fits.n());
    };
    const auto slide = [&fits, &kernels, plane](u64* sums, std::int64_t in, std::int64_t out) {
        kernels.slide_fits(sums, fits.pixels<u64>(in, plane), fits.pixels<u64>(out, plane), fits.n());
    };
    return sum_windows(fits, column_terms<u64, decltype(add), decltype(slide)>(fits, add, slide));
}

/// f(row, first, n) for tiles of all rows, behind move_to(row, whether it is a band's first).
template <typename MoveTo, typename F>
void for_each_tile(const row_job& job, const band& b, MoveTo&& move_to, F&& f) {
    for (std::int64_t row = b.first; row < b.end; ++row) {
        move_to(row, row == b.first);
        for (std::int64_t first = 0; first < job.n(); first += tile) f(row, first, std::min(tile, job.n() - first));
    }
}

}  // namespace

std::optional<byte_fit_scales> byte_fit_scales_of(f64 epsilon, std::int64_t window, std::int64_t guides) {
    constexpr std::int64_t largest_window = 33025;  // sums of 255^2 stay below 2^31
    const bool itself = guides == 0;
    const f64 count = static_cast<f64>(itself ? 1 : guides);
    // Of the guides' deviations D along their axes and the image's d, |a| is at most that of D d / (D^2 + epsilon).
    const f64 a = itself ? 1 : 127.5 / (2 * std::sqrt(epsilon)), b = itself ? 255 : 255 * (1 + a * std::sqrt(count));
    // Sums are below 2^51, which the kernels turn into doubles.
    const auto bits = [&](f64 most) { return std::floor(51 - std::log2(most * static_cast<f64>(window))); };
    const f64 least_a = 24 + std::log2(255 * count);  // half of the error in all of them
    if (window > largest_window || bits(a) < least_a || bits(b) < 24) return std::nullopt;
    return byte_fit_scales{std::exp2(std::min(bits(a), 48.0)), std::exp2(std::min(bits(b), 40.0))};
}

void find_byte_fits(const row_job& image, const row_job* guide, f64 epsilon, const byte_fit_scales& scales,
                    const any_view& fits) {
    const byte_guide_kernels& kernels = guided_of_this_machine().bytes;
    const real_counts counts(image);
    const bool itself = guide == nullptr;
    const row_job& guide_job = itself ? image : *guide;
    const auto guides = static_cast<std::size_t>(guide_job.shape.planes);
    for_each_band_of_rows(image, [&](const band& b) {
        const byte_plane x{image, 0};
        std::vector<decltype(pixel_windows(x))> pixels;  // the guides', then the image's
        std::vector<decltype(product_windows(x, x, kernels))> products;
        for (std::size_t i = 0; i < guides; ++i) {
            const byte_plane g{guide_job, static_cast<std::int64_t>(i)};
            pixels.push_back(pixel_windows(g));
            for (std::size_t j = 0; j <= i; ++j)
                products.push_back(product_windows(g, {guide_job, static_cast<std::int64_t>(j)}, kernels));
        }
        if (!itself) {
            pixels.push_back(pixel_windows(x));
            for (std::size_t i = 0; i < guides; ++i)
                products.push_back(product_windows({guide_job, static_cast<std::int64_t>(i)}, x, kernels));
        }
        const std::size_t pairs = guides * (guides + 1) / 2;
        for_each_tile(
            image, b,
            [&](std::int64_t row, bool first) {
                for (auto& windows : pixels) windows.move_to(row, first);
                for (auto& windows : products) windows.move_to(row, first);
            },
            [&](std::int64_t row, std::int64_t first, std::int64_t n) {
                byte_guide_sums sums{};
                s64* to[5];
                for (std::size_t i = 0; i < guides; ++i) sums.guide[i] = pixels[i].next(first, n);
                for (std::size_t i = 0; i < pairs; ++i) sums.products[i] = products[i].next(first, n);
                if (!itself) {
                    sums.image = pixels[guides].next(first, n);
                    for (std::size_t i = 0; i < guides; ++i) sums.with_image[i] = products[pairs + i].next(first, n);
                }
                for (std::size_t i = 0; i <= guides; ++i)
                    to[i] = image.row_to<s64>(fits, row, static_cast<std::int64_t>(i)) + first;
                kernels.fit[itself ? 0 : guides](to, sums, counts.at(image.rows.count(row), first), epsilon, scales, n);
            });
    });
}

void apply_byte_fits(const row_job& fits, const const_any_view& guide, std::int64_t guide_row,
                     const byte_fit_scales& scales, rounding_mode rounding, const any_view& result, std::int64_t step) {
    const byte_guide_kernels& kernels = guided_of_this_machine().bytes;
    const real_counts counts(fits);
    const f64 raised = byte_fit_error + (rounding == rounding_mode::half_up ? 0.5 : 0);
    const std::int64_t guides = guide.shape.planes;
    for_each_band_of_rows(fits, [&](const band& b) {
        std::vector<decltype(fit_windows(fits, 0, kernels))> windows;
        for (std::int64_t i = 0; i <= guides; ++i) windows.push_back(fit_windows(fits, i, kernels));
        const work_buffer<u8> piece(step > 1 ? tile : 0);
        for_each_tile(
            fits, b,
            [&](std::int64_t row, bool first) {
                for (auto& each : windows) each.move_to(row, first);
            },
            [&](std::int64_t row, std::int64_t first, std::int64_t n) {
                u8* const to = row_of<u8>(result, row, 0) + first * step;
                u8* const near = step > 1 ? piece.data() : to;
                const u64* sums[5];
                const u8* pixels[4];
                for (std::size_t i = 0; i < windows.size(); ++i) sums[i] = windows[i].next(first, n);
                for (std::int64_t i = 0; i < guides; ++i) pixels[i] = row_of<u8>(guide, row - guide_row, i) + first;
                kernels.apply[guides - 1](near, sums, pixels, counts.at(fits.rows.count(row), first), scales, raised,
                                          n);
                if (step > 1)
                    for (std::int64_t i = 0; i < n; ++i) to[i * step] = near[i];
            });
    });
}

}  // namespace boxsum::filters
