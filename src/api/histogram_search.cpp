#include "core/checked_histograms.hpp"
#include "core/checked_size.hpp"
#include "core/distance_terms.hpp"
#include "core/exhausted_memory.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"
#include "core/window_grids.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_search.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace boxsum {
namespace {

using detail::checked_extents;
using detail::grid_extents;

constexpr std::array<std::string_view, 5> distance_names{"l1", "l2", "chi-square", "intersection", "bhattacharyya"};

// ---- Distances -----------------------------------------------------------------------------------------------------

double sum_of(std::span<const double> values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum;
}

/// Shares of a smaller total lose bits that a double has below 2^-1022 only, and 1 / total overflows from 5.6e-309
/// down.
constexpr double smallest_total = 1e-290;

// ---- Windows -------------------------------------------------------------------------------------------------------

std::int64_t positions(std::int64_t extent, std::int64_t window, std::int64_t step) {
    return window > extent ? 0 : (extent - window) / step + 1;
}

/// Intersection over union.
double overlap_of(const box& a, const box& b) {
    const auto common = [](std::int64_t a_first, std::int64_t a_size, std::int64_t b_first, std::int64_t b_size) {
        const std::int64_t size = std::min(a_first + a_size, b_first + b_size) - std::max(a_first, b_first);
        return static_cast<double>(std::max(size, std::int64_t{0}));
    };
    const auto pixels = [](const box& x) { return static_cast<double>(x.rows) * static_cast<double>(x.cols); };
    const double both = common(a.row, a.rows, b.row, b.rows) * common(a.col, a.cols, b.col, b.cols);
    return both / (pixels(a) + pixels(b) - both);
}

}  // namespace

detail::grid_extents detail::checked_extents(const window_grid& g, std::int64_t image_rows, std::int64_t image_cols) {
    const auto at_least_one = [](std::string_view name, std::int64_t value) {
        if (value < 1)
            throw invalid_argument("grid: " + std::string(name) + " is " + std::to_string(value) +
                                   ", must be at least 1");
    };
    at_least_one("rows", g.rows);
    at_least_one("cols", g.cols);
    at_least_one("row_step", g.row_step);
    at_least_one("col_step", g.col_step);
    const box region = g.region.value_or(box{0, 0, image_rows, image_cols});
    try {
        check_box(region, image_rows, image_cols);
    } catch (const invalid_argument& e) {
        throw invalid_argument(std::string("grid: region: ") + e.what());
    }
    return {region, positions(region.rows, g.rows, g.row_step), positions(region.cols, g.cols, g.col_step)};
}

void detail::check_total(std::string_view argument, std::span<const double> values) {
    const double total = sum_of(values);
    if (total == 0 || (std::abs(total) >= smallest_total && !std::isinf(total))) return;
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) return;
    throw invalid_argument(std::string(argument) + ": its bins add up to " + text_of(total) + ", must be 0 or " +
                           text_of(smallest_total) + " to " + text_of(std::numeric_limits<double>::max()) +
                           " to be divided by");
}

void detail::check_target(std::span<const double> target, std::int64_t bins) {
    if (static_cast<std::int64_t>(target.size()) != bins)
        throw invalid_argument("target: has " + std::to_string(target.size()) + " bins, but the histograms have " +
                               std::to_string(bins));
    for (std::size_t i = 0; i < target.size(); ++i)
        if (!(target[i] >= 0) || std::isinf(target[i]))
            throw invalid_argument("target: bin " + std::to_string(i) + " is " + text_of(target[i]) +
                                   ", must be finite and not negative");
    check_total("target", target);
}

void detail::check_largest_overlap(double largest_overlap) {
    if (!(largest_overlap >= 0 && largest_overlap <= 1))
        throw invalid_argument("largest_overlap: is " + text_of(largest_overlap) + ", must be 0 to 1");
}

void detail::take_apart(std::vector<histogram_match>& taken, const histogram_match& next, double largest_overlap) {
    const auto apart = [&](const histogram_match& m) { return overlap_of(m.where, next.where) <= largest_overlap; };
    if (largest_overlap == 1 || std::all_of(taken.begin(), taken.end(), apart)) taken.push_back(next);
}

void detail::check_distance(histogram_distance distance) {
    if (name_of(distance).empty())
        throw invalid_argument("distance: is " + std::to_string(static_cast<int>(distance)) +
                               ", not a histogram_distance");
}

namespace {

/// Entries of one bin for the `n` windows of one row of the grid (Poostchi et al., eq. 2), in the order of subtraction
/// of box_histogram.
template <typename T>
void sums_of_windows(const table_view<const T>& table, const window_grid& g, const grid_extents& extents,
                     std::int64_t grid_row, T* out) {
    const std::int64_t before = table.form().border() - 1;  // from a pixel to the entry before it
    const std::int64_t top = extents.region.row + grid_row * g.row_step + before;
    const std::int64_t left = extents.region.col + before;
    const T* const lower = table.entries().row(top + g.rows);
    const T* const upper = top < 0 ? nullptr : table.entries().row(top);
    const auto column = [&](std::int64_t c) {  // of the window's rows, up to column c
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(upper == nullptr ? lower[c] : lower[c] - upper[c]);
        else
            return upper == nullptr ? lower[c] : lower[c] - upper[c];
    };
    for (std::int64_t j = 0; j < extents.cols; ++j) {
        const std::int64_t c = left + j * g.col_step;
        const T right = column(c + g.cols);
        out[j] = c < 0 ? right : static_cast<T>(right - column(c));
    }
}

// ---- Exhaustive search ---------------------------------------------------------------------------------------------

struct candidate {
    double distance;
    std::int64_t grid;
    std::int64_t window;  ///< number within its grid

    /// A total order, so that the result does not depend on which thread looked where.
    friend bool operator<(const candidate& a, const candidate& b) {
        const bool a_nan = std::isnan(a.distance), b_nan = std::isnan(b.distance);
        if (a_nan != b_nan) return b_nan;
        if (!a_nan && a.distance != b.distance) return a.distance < b.distance;
        return a.grid != b.grid ? a.grid < b.grid : a.window < b.window;
    }
};

/// The nearest `limit` candidates seen so far: a heap whose top is the farthest.
class nearest {
  public:
    explicit nearest(std::size_t limit) : limit_(limit) { heap_.reserve(limit); }

    void offer(const candidate& c) {
        if (heap_.size() == limit_) {
            if (!(c < heap_.front())) return;
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
        heap_.push_back(c);
        std::push_heap(heap_.begin(), heap_.end());
    }

    std::span<const candidate> all() const { return heap_; }

  private:
    std::size_t limit_;
    std::vector<candidate> heap_;
};

/// One grid searched by a team: thread t takes grid rows t, t + threads, ...
template <typename T>
struct search {
    histogram_view<const T> histograms;
    std::int64_t plane;
    histogram_distance distance;
    std::span<const double> shares;  ///< of the target
    bool target_empty;

    std::int64_t grid_index = 0;
    window_grid grid;
    grid_extents extents;

    struct scratch {
        nearest found;
        std::vector<T> sums;         ///< bins x windows of a row
        std::vector<double> totals;  ///< of windows
        std::vector<double> terms;
    };
    std::vector<scratch> threads;

    void search_row(scratch& s, std::int64_t grid_row) const {
        const auto n = static_cast<std::size_t>(extents.cols);
        std::fill_n(s.totals.begin(), n, 0.0);
        std::fill_n(s.terms.begin(), n, 0.0);
        for (std::int64_t b = 0; b < histograms.bins(); ++b) {
            T* const sums = s.sums.data() + static_cast<std::size_t>(b) * n;
            sums_of_windows<T>(histograms.bin(b, plane), grid, extents, grid_row, sums);
            for (std::size_t j = 0; j < n; ++j) s.totals[j] += static_cast<double>(sums[j]);
        }
        visit_distance(distance, [&]<histogram_distance d>() {
            for (std::int64_t b = 0; b < histograms.bins(); ++b) {
                const T* const sums = s.sums.data() + static_cast<std::size_t>(b) * n;
                const double q = shares[static_cast<std::size_t>(b)];
                for (std::size_t j = 0; j < n; ++j)
                    s.terms[j] += distance_term<d>(static_cast<double>(sums[j]) * share_factor(s.totals[j]), q);
            }
        });
        for (std::size_t j = 0; j < n; ++j)
            s.found.offer({finish_distance(distance, s.terms[j], s.totals[j] == 0, target_empty), grid_index,
                           grid_row * extents.cols + static_cast<std::int64_t>(j)});
    }

    static void run(void* context, int thread, int threads) {
        search& self = *static_cast<search*>(context);
        scratch& s = self.threads[static_cast<std::size_t>(thread)];
        for (std::int64_t row = thread; row < self.extents.rows; row += threads) self.search_row(s, row);
    }
};

template <typename T>
std::vector<histogram_match> search_all(const histogram_view<const T>& histograms, std::span<const window_grid> grids,
                                        std::span<const double> target, histogram_distance distance, std::int64_t count,
                                        std::int64_t plane, double largest_overlap) {
    const std::int64_t image_rows = histograms.image_rows(), image_cols = histograms.image_cols();
    detail::check_target(target, histograms.bins());
    std::vector<grid_extents> extents;
    std::int64_t windows = 0, widest = 0;
    for (const window_grid& g : grids) {
        extents.push_back(checked_extents(g, image_rows, image_cols));
        windows += extents.back().rows * extents.back().cols;
        widest = std::max(widest, extents.back().cols);
    }
    const double total = sum_of(target);
    std::vector<double> shares(target.begin(), target.end());
    for (double& share : shares) share *= share_factor(total);

    const auto work = checked_multiply(windows, histograms.bins() * 4 * static_cast<std::int64_t>(sizeof(T)));
    const int threads = cpu::choose_threads(work.value_or(std::numeric_limits<std::int64_t>::max()), 0);
    const auto limit = static_cast<std::size_t>(largest_overlap < 1 ? windows : std::min(count, windows));
    search<T> s{histograms, plane, distance, shares, total == 0, 0, {}, {}, {}};
    for (int t = 0; t < threads; ++t)
        s.threads.push_back({nearest(limit), std::vector<T>(static_cast<std::size_t>(widest * histograms.bins())),
                             std::vector<double>(static_cast<std::size_t>(widest)),
                             std::vector<double>(static_cast<std::size_t>(widest))});
    if (limit == 0) return {};
    for (std::size_t g = 0; g < grids.size(); ++g) {
        s.grid_index = static_cast<std::int64_t>(g);
        s.grid = grids[g];
        s.extents = extents[g];
        cpu::run_team(threads, search<T>::run, &s);
    }

    std::vector<candidate> found;
    for (const auto& thread : s.threads)
        found.insert(found.end(), thread.found.all().begin(), thread.found.all().end());
    std::sort(found.begin(), found.end());
    std::vector<histogram_match> matches;
    for (const candidate& c : found) {
        if (static_cast<std::int64_t>(matches.size()) == count) break;
        const box window = window_at(grids[static_cast<std::size_t>(c.grid)], image_cols, c.window);
        detail::take_apart(matches, {window, c.distance}, largest_overlap);
    }
    return matches;
}

}  // namespace

std::string_view name_of(histogram_distance distance) noexcept {
    const auto i = static_cast<std::size_t>(distance);
    return i < distance_names.size() ? distance_names[i] : std::string_view();
}

std::optional<histogram_distance> histogram_distance_from_name(std::string_view name) noexcept {
    for (std::size_t i = 0; i < distance_names.size(); ++i)
        if (distance_names[i] == name) return static_cast<histogram_distance>(i);
    return {};
}

double distance_between(histogram_distance distance, std::span<const double> a, std::span<const double> b) {
    if (a.size() != b.size())
        throw invalid_argument("b: has " + std::to_string(b.size()) + " bins, but a has " + std::to_string(a.size()));
    detail::check_distance(distance);
    detail::check_total("a", a);
    detail::check_total("b", b);
    const double a_total = sum_of(a), b_total = sum_of(b);
    double sum = 0;
    visit_distance(distance, [&]<histogram_distance d>() {
        for (std::size_t i = 0; i < a.size(); ++i)
            sum += distance_term<d>(a[i] * share_factor(a_total), b[i] * share_factor(b_total));
    });
    return finish_distance(distance, sum, a_total == 0, b_total == 0);
}

std::int64_t window_count(const window_grid& grid, std::int64_t image_rows, std::int64_t image_cols) {
    const grid_extents e = checked_extents(grid, image_rows, image_cols);
    const auto windows = checked_multiply(e.rows, e.cols);
    if (!windows)
        throw invalid_argument("grid: has " + std::to_string(e.rows) + " x " + std::to_string(e.cols) +
                               " windows, more than 64 bits count");
    return *windows;
}

box window_at(const window_grid& grid, std::int64_t image_cols, std::int64_t i) {
    const std::int64_t first_row = grid.region ? grid.region->row : 0, first_col = grid.region ? grid.region->col : 0;
    const std::int64_t across = positions(grid.region ? grid.region->cols : image_cols, grid.cols, grid.col_step);
    return {first_row + i / across * grid.row_step, first_col + i % across * grid.col_step, grid.rows, grid.cols};
}

template <typename T>
void window_histograms(const const_any_histogram_view& histograms, const window_grid& grid, std::span<T> out,
                       std::int64_t plane) try {
    const histogram_view<const T> view = checked_histograms<T>(histograms, plane);
    const grid_extents extents = checked_extents(grid, view.image_rows(), view.image_cols());
    const auto bins = static_cast<std::size_t>(view.bins());
    const auto across = static_cast<std::size_t>(extents.cols);
    const std::size_t wanted = static_cast<std::size_t>(extents.rows) * across * bins;
    if (out.size() != wanted)
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(wanted) + " (windows x bins)");
    std::vector<T> sums(across);
    for (std::int64_t i = 0; i < extents.rows; ++i)
        for (std::size_t b = 0; b < bins; ++b) {
            sums_of_windows<T>(view.bin(static_cast<std::int64_t>(b), plane), grid, extents, i, sums.data());
            for (std::size_t j = 0; j < across; ++j)
                out[(static_cast<std::size_t>(i) * across + j) * bins + b] = sums[j];
        }
} catch (...) {
    rethrow_as_ours();
}

template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint16_t>,
                                std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<std::uint32_t>,
                                std::int64_t);
template void window_histograms(const const_any_histogram_view&, const window_grid&, std::span<float>, std::int64_t);

std::vector<histogram_match> best_windows(const const_any_histogram_view& histograms,
                                          std::span<const window_grid> grids, std::span<const double> target,
                                          histogram_distance distance, std::int64_t count, std::int64_t plane,
                                          double largest_overlap) try {
    if (count < 1) throw invalid_argument("count: is " + std::to_string(count) + ", must be at least 1");
    if (grids.empty()) throw invalid_argument("grids: there is none");
    detail::check_distance(distance);
    detail::check_largest_overlap(largest_overlap);
    check_histograms(histograms, plane);
    std::vector<histogram_match> matches;
    visit_one_of(histogram_entries{}, histograms.entries.shape.type, [&]<typename T>() {
        matches = search_all<T>(checked_histograms<T>(histograms, plane), grids, target, distance, count, plane,
                                largest_overlap);
    });
    return matches;
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
