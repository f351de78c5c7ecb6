// The guided filter on a device against its definition in long double: every type, border and stride, whole memories.

#include "core/visit_types.hpp"
#include "cuda/filters/guided_kernels.hpp"
#include "filters/guided_job.hpp"
#include "support/guided_reference.hpp"
#include "support/placed_image.hpp"

#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <cmath>
#include <cstring>
#include <limits>

namespace boxsum {
namespace {

using placed = test::placed_image;
using test::wide;

struct setting {
    dtype image, guide, result;  ///< the guide's only where there is one
    bool guided;
    std::int64_t rows, cols, channels = 1, planes = 1, guide_planes = 1;
    boxsum::window window = 5;
    border_mode border = border_mode::shrink;
    double epsilon = 1;
    rounding_mode rounding = rounding_mode::half_up;
    double offset = 0;        ///< of floating pixels, which are random in offset .. offset + 1
    std::int64_t guides = 1;  ///< channels of the guide
    std::int64_t gap = 0, first = 0;
};

std::string text_of(const setting& s) {
    return std::string(name_of(s.image)) +
           (s.guided ? " by " + std::to_string(s.guides) + " of " + std::string(name_of(s.guide)) : "") + " to " +
           std::string(name_of(s.result)) + ", " + std::to_string(s.planes) + " x " + std::to_string(s.rows) + " x " +
           std::to_string(s.cols) + " x " + std::to_string(s.channels) + ", window " + std::to_string(s.window.above) +
           " " + std::to_string(s.window.below) + " " + std::to_string(s.window.left) + " " +
           std::to_string(s.window.right) + ", " + std::string(name_of(s.border)) + ", gap " + std::to_string(s.gap) +
           ", from " + std::to_string(s.first);
}

template <typename F>
void visit_pixels(dtype type, F&& f) {
    visit_type(type_list<u8, u16, f32, f64>{}, type, std::forward<F>(f));
}

template <typename T>
image_view<T> view_of(placed& image) {
    return {reinterpret_cast<T*>(image.memory.bytes.data() + image.offset), image.memory.shape};
}

void fill_random(placed& image, unsigned seed, double offset) {
    visit_pixels(image.memory.shape.type, [&]<typename T>() {
        const view_shape& s = image.memory.shape;
        const auto pixels = test::random_pixels<T>(s.planes * s.rows * s.cols * s.channels, seed, offset, 1);
        const image_view<T> to = view_of<T>(image);
        std::size_t i = 0;
        for (std::int64_t p = 0; p < s.planes; ++p)
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t e = 0; e < s.cols * s.channels; ++e) to.row(r, p)[e] = pixels[i++];
    });
}

class device_guided_filter : public test::placed_images_test {
  protected:
    /// All results of a filter of `image`, and what lies between its rows.
    void expect_definition(placed& image, placed& guide, const setting& s) {
        SCOPED_TRACE(text_of(s));
        placed result(test::packed(s.result, s.rows, s.cols, s.channels, s.planes), s.gap, s.first);
        std::fill(result.memory.bytes.begin(), result.memory.bytes.end(), std::byte{0x5a});
        const guided_inputs inputs{.image = upload(image),
                                   .guide = s.guided ? const_any_view(upload(guide)) : const_any_view{}};
        const any_view to = upload(result);
        const filter_options how{.window = s.window, .border = s.border, .rounding = s.rounding};
        const cuda::guided_filter_plan plan(inputs, {to}, {s.epsilon}, how);
        {  // a poisoned workspace
            cuda::workspace workspace(plan.workspace_bytes(), stream());
            plan.run_async(inputs, {to}, workspace, stream());
            plan.run_async(inputs, {to}, workspace, stream());
        }
        placed found = result;
        found.memory.bytes = fetched(result, to);
        visit_pixels(s.image, [&]<typename P>() {
            visit_pixels(s.guided ? s.guide : s.image, [&]<typename G>() { compare<P, G>(image, guide, found, s); });
        });
        for (std::size_t i = 0; i < found.memory.bytes.size(); ++i) {  // what compare() has seen is cleared
            ASSERT_TRUE(found.memory.bytes[i] == std::byte{0x5a} || seen_[i]) << "byte " << i << " between the rows";
        }
    }

    /// Without gaps, and with gaps and from some address on.
    void expect_definition_of_random(setting s) {
        for (const auto& [gap, first] : {std::pair{0, 0}, {5, 3}}) {
            s.gap = gap;
            s.first = first;
            placed image(test::packed(s.image, s.rows, s.cols, s.channels, s.planes), gap, first);
            placed guide(test::packed(s.guide, s.rows, s.cols, s.guides, s.guide_planes), gap, first);
            fill_random(image, ++seed_, s.offset);
            fill_random(guide, ++seed_, s.offset);
            ASSERT_NO_FATAL_FAILURE(expect_definition(image, guide, s));
        }
    }

  private:
    unsigned seed_ = 1;

    template <typename P, typename G>
    void compare(placed& image, placed& guide, placed& found, const setting& s) {
        const image_view<const P> p = view_of<P>(image);
        const image_view<const G> by =
            s.guided ? image_view<const G>(view_of<G>(guide)) : image_view<const G>(view_of<G>(image));
        const bool doubles = s.image == dtype::f64 || s.result == dtype::f64 || (s.guided && s.guide == dtype::f64);
        const double range = s.image == dtype::u8 ? 255 : s.image == dtype::u16 ? 65535 : std::abs(s.offset) + 1;
        seen_.assign(found.memory.bytes.size(), false);
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t k = 0; k < s.channels; ++k) {
                const auto exact =
                    test::expected_guided(p, k, by, s.guided ? 0 : k, s.guides, plane,
                                          s.guided && s.guide_planes == 1 ? 0 : plane, s.window, s.border, s.epsilon);
                for (std::int64_t r = 0; r < s.rows; ++r)
                    for (std::int64_t c = 0; c < s.cols; ++c) {
                        const test::guided_value& q = exact[static_cast<std::size_t>(r * s.cols + c)];
                        wide x = 0;
                        for (std::int64_t g = 0; g < s.guides; ++g)
                            x += std::abs(static_cast<wide>(
                                by(r, c, s.guided ? g : k, s.guided && s.guide_planes == 1 ? 0 : plane)));
                        wide bound = wide{1e-11} * static_cast<wide>(range);
                        if (!doubles) {
                            const wide noise = std::sqrt(static_cast<wide>(s.epsilon));
                            const wide most = s.image == dtype::u8 ? 25.5L : s.image == dtype::u16 ? 6553.5L : 64;
                            const wide scale = std::min(noise, most);
                            bound += (0x1p-25L * q.largest_a + 0x1p-26L * scale / noise) * x + 0x1p-25L * q.largest_b +
                                     0x1p-24L * scale;
                        }
                        ASSERT_NO_FATAL_FAILURE(compare_one(found, plane, r, c * s.channels + k, q.value, bound, s))
                            << "plane " << plane << ", row " << r << ", col " << c << ", channel " << k;
                    }
            }
    }

    void compare_one(placed& found, std::int64_t plane, std::int64_t r, std::int64_t element, wide exact, wide bound,
                     const setting& s) {
        visit_pixels(s.result, [&]<typename T>() {
            const T* const at = view_of<T>(found).row(r, plane) + element;
            const auto first = reinterpret_cast<const std::byte*>(at) - found.memory.bytes.data();
            for (std::size_t i = 0; i < sizeof(T); ++i) seen_[static_cast<std::size_t>(first) + i] = true;
            const auto got = static_cast<wide>(*at);
            if constexpr (std::is_integral_v<T>) {
                const wide half = s.rounding == rounding_mode::half_up ? 0.5L : 0, most = std::numeric_limits<T>::max();
                const auto rounded = [&](wide value) { return std::clamp(std::floor(value + half), wide{0}, most); };
                ASSERT_GE(got, rounded(exact - bound)) << "of " << static_cast<double>(exact);
                ASSERT_LE(got, rounded(exact + bound)) << "of " << static_cast<double>(exact);
            } else {
                const wide rounding = static_cast<wide>(std::numeric_limits<T>::epsilon()) * std::abs(exact);
                ASSERT_LE(std::abs(got - exact), bound + rounding)
                    << static_cast<double>(got) << ", not " << static_cast<double>(exact);
            }
        });
    }

    std::vector<bool> seen_;
};

constexpr border_mode borders[] = {border_mode::shrink, border_mode::reflect, border_mode::replicate,
                                   border_mode::mirror, border_mode::wrap};

TEST_F(device_guided_filter, is_the_definition) {
    std::vector<setting> settings;
    const auto u8 = dtype::u8, u16 = dtype::u16, f32 = dtype::f32, f64 = dtype::f64;
    for (const border_mode border : borders) {
        settings.push_back({u8, u8, u8, false, 13, 41, 1, 1, 1, {5, 7}, border, 400});
        settings.push_back({u8, u8, f32, true, 37, 150, 1, 1, 1, {9, 5}, border, 30});
        settings.push_back({f32, f32, f32, false, 19, 70, 3, 2, 1, window_radius(2), border, 0.01});
        settings.push_back({f32, f32, f32, true, 40, 33, 2, 2, 1, window_extents{2, 0, 1, 3}, border, 1e-4});
        settings.push_back({f64, f64, f64, true, 21, 22, 1, 1, 1, window_extents{1, 3, 2, 0}, border, 1e-6});
    }
    settings.push_back({u16, u16, u16, false, 17, 40, 2, 1, 1, 5, border_mode::reflect, 1e5, rounding_mode::floor});
    settings.push_back({u16, u16, u16, true, 23, 47, 1, 1, 1, 7, border_mode::mirror, 4e7});
    settings.push_back({u8, f32, f64, true, 15, 24, 3, 2, 2, 5, border_mode::shrink, 0.01});
    settings.push_back({f64, u16, f32, true, 16, 25, 1, 1, 1, 3, border_mode::mirror, 1e4});
    settings.push_back({u8, f32, u8, true, 15, 28, 1, 1, 1, 5, border_mode::replicate, 0.01});
    settings.push_back({f32, u8, f32, true, 15, 28, 1, 1, 1, 5, border_mode::wrap, 50});
    // Windows that reach all of the image, single rows and columns, single pixels.
    settings.push_back({u8, u8, u8, true, 9, 11, 1, 1, 1, window_radius(8, 10), border_mode::shrink, 400});
    settings.push_back({f32, f32, f32, false, 1, 90, 1, 1, 1, {1, 9}, border_mode::reflect, 0.01});
    settings.push_back({f32, f32, f32, false, 90, 1, 1, 1, 1, {9, 1}, border_mode::reflect, 0.01});
    settings.push_back({u8, u8, f32, false, 5, 6, 1, 1, 1, {1, 1}, border_mode::shrink, 3});
    // Far from zero, and small variances.
    settings.push_back(
        {f32, f32, f64, true, 20, 33, 1, 1, 1, 5, border_mode::reflect, 1e-6, rounding_mode::half_up, 8});
    settings.push_back(
        {f32, f32, f32, false, 20, 33, 1, 1, 1, 5, border_mode::shrink, 1e-4, rounding_mode::half_up, 4096});
    settings.push_back(
        {f64, f64, f64, true, 20, 33, 1, 1, 1, 5, border_mode::shrink, 1e-4, rounding_mode::half_up, 1e5});
    // Where epsilon is above all variances, the mean is left.
    settings.push_back({f32, f32, f32, false, 20, 33, 1, 1, 1, 5, border_mode::shrink, 1e18});
    settings.push_back({f32, f32, f32, true, 20, 36, 1, 1, 1, 5, border_mode::shrink, 1e306});
    settings.push_back({f32, f32, f32, false, 20, 36, 1, 1, 1, 5, border_mode::reflect, 1e306});
    settings.push_back({u8, u8, f32, true, 20, 36, 1, 1, 1, 5, border_mode::reflect, 1e306});
    settings.push_back({u8, u8, u8, false, 20, 36, 1, 1, 1, 5, border_mode::shrink, 1e306});
    settings.push_back({f32, u16, f32, true, 20, 33, 1, 1, 1, 5, border_mode::shrink, 4e7});
    settings.push_back({u8, u16, f32, true, 20, 33, 1, 1, 1, 5, border_mode::wrap, 4e7});
    // High and wide.
    settings.push_back({f32, f32, f32, true, 140, 130, 1, 1, 1, window_radius(36, 2), border_mode::mirror, 0.01});
    settings.push_back({f32, f32, f32, true, 140, 132, 1, 1, 1, window_radius(36, 2), border_mode::shrink, 0.01});
    settings.push_back({f32, f32, f32, false, 140, 132, 1, 1, 1, window_radius(36, 2), border_mode::reflect, 0.01});
    settings.push_back({f32, f32, f32, false, 43, 76, 1, 1, 1, {7, 5}, border_mode::wrap, 0.01});
    settings.push_back({u8, u8, u8, false, 140, 130, 1, 1, 1, window_radius(36, 2), border_mode::shrink, 650.25});
    settings.push_back({u8, u8, f32, true, 150, 60, 1, 1, 1, window_radius(40, 3), border_mode::shrink, 20});
    settings.push_back({f32, f32, f32, true, 8, 700, 1, 1, 1, window_radius(1, 60), border_mode::reflect, 0.01});
    settings.push_back({f32, f32, f32, true, 3, 1100, 1, 1, 1, window_radius(1, 150), border_mode::shrink, 0.01});
    settings.push_back({u8, u8, f32, true, 3, 1100, 1, 1, 1, window_radius(1, 150), border_mode::wrap, 30});
    settings.push_back({u8, u8, u8, true, 12, 41, 3, 1, 1, 5, border_mode::mirror, 30});
    for (setting s : settings) ASSERT_NO_FATAL_FAILURE(expect_definition_of_random(s));
}

/// Wider than blocks, and several times beyond the image.
TEST_F(device_guided_filter, of_large_windows_is_the_definition) {
    const auto u8 = dtype::u8, u16 = dtype::u16, f32 = dtype::f32, f64 = dtype::f64;
    std::vector<setting> settings;
    for (const border_mode border : borders) {
        settings.push_back({u8, u8, u8, false, 5, 7, 1, 1, 1, window_extents{11, 26, 9, 31}, border, 400});
        settings.push_back({f32, f32, f32, true, 6, 5, 2, 2, 1, window_extents{19, 0, 23, 4}, border, 1e-3});
        settings.push_back({f64, f64, f64, true, 5, 6, 1, 1, 1, window_extents{1, 13, 20, 2}, border, 1e-4});
        setting colours{u8, f32, f32, true, 6, 5, 2, 1, 1, window_extents{17, 2, 3, 21}, border, 0.01};
        colours.guides = 3;
        settings.push_back(colours);
    }
    settings.push_back({u8, u8, u8, true, 2, 900, 1, 1, 1, window_radius(1, 450), border_mode::shrink, 400});
    settings.push_back({f32, f32, f32, false, 2, 900, 1, 1, 1, window_radius(1, 450), border_mode::mirror, 0.01});
    settings.push_back({u16, u16, f32, true, 70, 9, 1, 1, 1, window_extents{40, 90, 4, 20}, border_mode::reflect, 4e7});
    for (setting s : settings) ASSERT_NO_FATAL_FAILURE(expect_definition_of_random(s));
}

TEST_F(device_guided_filter, of_colours_is_the_definition) {
    std::vector<setting> settings;
    const auto u8 = dtype::u8, u16 = dtype::u16, f32 = dtype::f32, f64 = dtype::f64;
    const auto add = [&](std::int64_t guides, setting s) {
        s.guided = true;
        s.guides = guides;
        settings.push_back(s);
    };
    for (const border_mode border : borders) {
        add(3, {u8, u8, u8, true, 13, 41, 1, 1, 1, {5, 7}, border, 400});
        add(3, {f32, f32, f32, true, 19, 36, 3, 2, 1, window_radius(2), border, 1e-4});
        add(2, {f64, f64, f64, true, 21, 22, 1, 1, 1, window_extents{1, 3, 2, 0}, border, 1e-6});
    }
    add(4, {u16, u16, u16, true, 17, 40, 2, 1, 1, 5, border_mode::reflect, 1e5, rounding_mode::floor});
    add(3, {u8, f32, f64, true, 15, 24, 3, 2, 2, 5, border_mode::shrink, 0.01});
    add(3, {f32, u8, f32, true, 15, 24, 1, 2, 1, 5, border_mode::mirror, 50});
    add(4, {f64, u8, f32, true, 16, 25, 1, 1, 1, 3, border_mode::replicate, 1});
    // Windows that reach all of the image, single rows, columns and pixels.
    add(3, {u8, u8, u8, true, 9, 11, 1, 1, 1, window_radius(8, 10), border_mode::shrink, 400});
    add(2, {f32, f32, f32, true, 1, 90, 1, 1, 1, {1, 9}, border_mode::reflect, 0.01});
    add(3, {f32, f32, f32, true, 90, 1, 1, 1, 1, {9, 1}, border_mode::wrap, 0.01});
    add(3, {u8, u8, f32, true, 5, 6, 1, 1, 1, {1, 1}, border_mode::shrink, 3});
    // Far from zero, and small variances.
    add(3, {f32, f32, f64, true, 20, 33, 1, 1, 1, 5, border_mode::reflect, 1e-6, rounding_mode::half_up, 8});
    add(3, {f64, f64, f64, true, 20, 33, 1, 1, 1, 5, border_mode::shrink, 1e-4, rounding_mode::half_up, 1e5});
    add(3, {f32, f32, f32, true, 20, 33, 1, 1, 1, 5, border_mode::shrink, 1e18});
    // High and wide.
    add(3, {u8, u8, u8, true, 90, 40, 1, 1, 1, window_radius(36, 2), border_mode::mirror, 650.25});
    add(2, {f32, f32, f32, true, 4, 300, 1, 1, 1, window_radius(1, 60), border_mode::reflect, 0.01});
    for (setting s : settings) ASSERT_NO_FATAL_FAILURE(expect_definition_of_random(s));
}

struct colour_types {
    dtype image, guide;
    std::int64_t channels;
};
constexpr colour_types colour_pairs[] = {{dtype::u8, dtype::u8, 1},   {dtype::u8, dtype::u8, 3},
                                         {dtype::u16, dtype::u8, 1},  {dtype::u8, dtype::u16, 2},
                                         {dtype::f32, dtype::f32, 1}, {dtype::f32, dtype::u8, 2}};

/// However many rows have their moments in memory at once.
TEST_F(device_guided_filter, of_colours_in_parts_has_the_bits_of_all_rows) {
    constexpr std::int64_t rows = 83, cols = 70;
    for (const auto& [type, by, channels] : colour_pairs) {
        const filter_options how{.window = window_extents{5, 3, 2, 9},
                                 .border = channels == 1 ? border_mode::shrink : border_mode::wrap};
        placed image(test::packed(type, rows, cols, channels), 0, 0), guide(test::packed(by, rows, cols, 3), 0, 0);
        placed result = image;
        fill_random(image, 8, 0);
        fill_random(guide, 9, 0);
        const any_view p = upload(image), g = upload(guide);
        const filters::guided_job job = filters::guided_call_of({p.shape, g.shape, p.shape}, {}, how).job;
        const view_shape plane = cuda::device_shape(dtype::f32, rows, cols);
        const auto fits = filters::windows_of({.image = plane}, {.window = job.fits, .border = job.border});
        const auto means =
            filters::box_filter_job({.image = plane}, {plane}, {.window = job.means, .border = job.border});
        std::vector<std::byte> whole;
        for (const std::int64_t at_once : {rows, std::int64_t{1}, std::int64_t{32}, rows - 1}) {
            std::fill(result.memory.bytes.begin(), result.memory.bytes.end(), std::byte{0x5a});
            const any_view to = upload(result);
            cuda::guided_colours filter{
                &fits, &means, p, g, to, job.epsilon, cuda::guided_units(means, type, job.epsilon)};
            filter.rows_at_once = at_once;
            const cuda::device_buffer space(cuda::guided_colour_bytes(filter), stream());
            filter.space = space.data();
            cuda::enqueue_guided_colours(filter, stream());
            const std::vector<std::byte> found = fetched(result, to);
            if (whole.empty()) whole = found;
            ASSERT_TRUE(found == whole) << name_of(type) << " by " << name_of(by) << ", " << at_once << " rows";
        }
    }
}

/// Strips of rows with all that their windows reach, each an image of its own.
TEST_F(device_guided_filter, of_colours_in_strips_has_the_bits_of_the_whole) {
    constexpr std::int64_t rows = 150, cols = 90, reach = 2 * 8;
    const filter_options how{.window = window_extents{5, 3, 2, 9}};
    for (const auto& [type, by, channels] : colour_pairs) {
        placed image(test::packed(type, rows, cols, channels), 0, 0), guide(test::packed(by, rows, cols, 3), 0, 0);
        fill_random(image, 18, 0);
        fill_random(guide, 19, 0);
        const auto filtered = [&](std::int64_t first, std::int64_t end) {
            const auto rows_of = [&](const placed& from) {
                const view_shape& s = from.memory.shape;
                placed part(test::packed(s.type, end - first, s.cols, s.channels), 0, 0);
                std::memcpy(part.memory.bytes.data(), from.memory.bytes.data() + first * s.row_stride,
                            part.memory.bytes.size());
                return part;
            };
            placed part = rows_of(image), colours = rows_of(guide), result = part;
            const any_view to = upload(result);
            cuda::guided_filter({.image = upload(part), .guide = upload(colours)}, {to}, stream(), {}, how);
            return fetched(result, to);
        };
        const std::vector<std::byte> whole = filtered(0, rows);
        const auto bytes = [&](std::int64_t n) { return n * image.memory.shape.row_stride; };
        for (const auto& [first, end] : {std::pair<std::int64_t, std::int64_t>{0, 37}, {37, 101}, {101, rows}}) {
            const std::int64_t top = std::max<std::int64_t>(first - reach, 0);
            const std::vector<std::byte> strip = filtered(top, std::min(end + reach, rows));
            ASSERT_TRUE(std::equal(whole.begin() + bytes(first), whole.begin() + bytes(end),
                                   strip.begin() + bytes(first - top)))
                << name_of(type) << " by " << name_of(by) << ", rows " << first << " to " << end;
        }
    }
}

/// Where all pixels of a window are one, its variance and covariance are 0, however small epsilon is.
TEST_F(device_guided_filter, flat_guides_have_flat_fits) {
    for (const std::int64_t guides : {1, 3}) {
        setting s{dtype::f32, dtype::f32, dtype::f32, true, 24, 60, 1, 1, 1, 5, border_mode::reflect, 1e-16};
        s.guides = guides;
        placed image(test::packed(s.image, s.rows, s.cols, 1, 1), 0, 0),
            guide(test::packed(s.guide, s.rows, s.cols, guides, 1), 0, 0);
        fill_random(image, 1, 0);
        fill_random(guide, 2, 0);
        for (std::int64_t r = 0; r < s.rows; ++r)  // of several channels one is flat further on
            for (std::int64_t c = 0; c < 30; ++c)
                for (std::int64_t k = 0; k < (c < 15 ? guides : 1); ++k) view_of<float>(guide)(r, c, k) = 0.7f;
        ASSERT_NO_FATAL_FAILURE(expect_definition(image, guide, s));
    }
}

TEST_F(device_guided_filter, what_is_not_finite_acts_on_windows_that_share_one_with_it) {
    constexpr std::int64_t rows = 30, cols = 150;
    for (const std::int64_t guides : {0, 1, 3})
        for (const float wrong :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
            placed image(test::packed(dtype::f32, rows, cols, 1), 0, 0),
                clean = image, guide(test::packed(dtype::f32, rows, cols, std::max<std::int64_t>(guides, 1)), 0, 0);
            fill_random(image, 3, 0);
            fill_random(guide, 4, 0);
            const auto filtered = [&] {
                const guided_inputs inputs{.image = upload(image),
                                           .guide = guides > 0 ? const_any_view(upload(guide)) : const_any_view{}};
                placed result(image.memory.shape, 0, 0);
                const any_view to = upload(result);
                cuda::guided_filter(inputs, {to}, stream(), {}, {.window = 5});
                result.memory.bytes = fetched(result, to);
                return result;
            };
            clean = filtered();
            view_of<float>(image)(18, 111) = wrong;
            placed spoilt = filtered();
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < cols; ++c) {
                    const float before = view_of<float>(clean)(r, c), now = view_of<float>(spoilt)(r, c);
                    if (std::abs(r - 18) > 4 || std::abs(c - 111) > 4) {  // others may make it then
                        ASSERT_NEAR(before, now, 3e-7) << r << ", " << c << ", " << wrong;
                    } else if (!std::isfinite(wrong)) {
                        ASSERT_TRUE(std::isnan(now)) << r << ", " << c << ", " << wrong;
                    }
                }
        }
}

TEST_F(device_guided_filter, takes_host_memory) {
    constexpr std::int64_t rows = 33, cols = 40;
    const auto p = test::random_pixels<float>(rows * cols, 1, 0, 1);
    const auto g = test::random_pixels<std::uint8_t>(rows * cols * 3, 2, 0, 1);
    std::vector<double> on_host(p.size(), -1), on_device(p.size(), -2);
    const image_view<const std::uint8_t> green(g.data() + 1, rows, cols, {.row = 3 * cols, .col = 3});
    const guided_inputs inputs{.image = image_view<const float>(p.data(), rows, cols), .guide = green};
    const filter_options how{.window = 7, .border = border_mode::reflect};
    guided_filter(inputs, {image_view<double>(on_host.data(), rows, cols)}, {}, how);
    cuda::guided_filter(inputs, {image_view<double>(on_device.data(), rows, cols)}, stream(), {}, how);
    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(on_host[i], on_device[i], 1e-12) << i;
    const guided_inputs by_colours{.image = inputs.image,
                                   .guide = image_view<const std::uint8_t>(g.data(), rows, cols, 0, 3)};
    guided_filter(by_colours, {image_view<double>(on_host.data(), rows, cols)}, {}, how);
    cuda::guided_filter(by_colours, {image_view<double>(on_device.data(), rows, cols)}, stream(), {}, how);
    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(on_host[i], on_device[i], 1e-12) << i;
    guided_filter({.image = inputs.image}, {image_view<double>(on_host.data(), rows, cols)}, {}, how);
    cuda::guided_filter({.image = inputs.image}, {image_view<double>(on_device.data(), rows, cols)}, stream(), {}, how);
    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(on_host[i], on_device[i], 1e-12) << i;
}

TEST_F(device_guided_filter, copies_what_has_gaps_between_pixels) {
    constexpr std::int64_t rows = 20, cols = 24;
    placed colours(test::packed(dtype::u8, rows, cols, 3), 1, 0), result(test::packed(dtype::f32, rows, cols, 1), 0, 0);
    fill_random(colours, 5, 0);
    const any_view all = upload(colours), to = upload(result);
    const auto channel = [&](std::int64_t k, void* data) {
        any_view one{static_cast<std::byte*>(data) + k, colours.memory.shape};
        one.shape.channels = 1;
        one.shape.col_stride = 3;
        return one;
    };
    cuda::guided_filter({.image = channel(0, all.data), .guide = channel(2, all.data)}, {to}, stream(), {}, {});
    placed expected = result;
    guided_filter({.image = channel(0, colours.view().data), .guide = channel(2, colours.view().data)},
                  {expected.view()}, {}, {});
    result.memory.bytes = fetched(result, to);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            ASSERT_NEAR(view_of<float>(result)(r, c), view_of<float>(expected)(r, c), 1e-3) << r << ", " << c;
}

TEST_F(device_guided_filter, refusals) {
    placed image(test::packed(dtype::u8, 20, 30, 1), 0, 0), other = image;
    std::fill(other.memory.bytes.begin(), other.memory.bytes.end(), std::byte{9});
    const any_view p = upload(image), q = upload(other);
    const auto message = [&](auto&& call) {
        try {
            call();
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    const auto filtered = [&](const guided_inputs& in, const filter_outputs& to, const guided_rule& rule = {},
                              const filter_options& how = {}) {
        return message([&] { cuda::guided_filter(in, to, stream(), rule, how); });
    };
    EXPECT_EQ(filtered({.image = p}, {q}, {0.0}), "epsilon: is 0, must be finite and above 0");
    EXPECT_EQ(filtered({.image = p}, {p}), "result: overlaps image");
    EXPECT_EQ(filtered({.image = p}, {other.view()}), "result: is host memory, but the image is device memory");
    EXPECT_EQ(filtered({.image = p}, {q}, {}, {.border = border_mode::constant}),
              "border: is constant, but what a guided filter has beyond the image are its fits there");
    EXPECT_EQ(filtered({.image = p, .weights = p}, {q}), "weights: type is 8u, must be 32f");
    EXPECT_EQ(filtered({.image = p, .mask = q}, {q}), "result: overlaps mask");
    EXPECT_EQ(filtered({.image = p}, {q, q}), "count: overlaps result");
    EXPECT_EQ(filtered({.image = p, .mask = other.view()}, {q}),
              "mask: is host memory, but the image is device memory");
    EXPECT_EQ(filtered({.image = p}, {q}, {}, {.fill = 300}),
              "fill: is 300, must be an integer of the result's type 8u");
    const cuda::guided_filter_plan plan({.image = p}, {q});
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    EXPECT_EQ(message([&] { plan.run_async({.image = p, .guide = p}, {q}, workspace, stream()); }),
              "guide: given, but the plan was made without");
    EXPECT_EQ(message([&] { plan.run_async({.image = p, .mask = p}, {q}, workspace, stream()); }),
              "mask: given, but the plan was made without");
    EXPECT_EQ(message([&] {
                  plan.run_async({.image = p}, {q, q}, workspace, stream());
              }),
              "count: given, but the plan was made without");
    const cuda::guided_filter_plan masked({.image = p, .mask = p}, {q});
    cuda::workspace more(masked.workspace_bytes(), stream());
    EXPECT_EQ(message([&] { masked.run_async({.image = p, .mask = q}, {q}, more, stream()); }),
              "result: overlaps mask");
    EXPECT_EQ(message([&] { plan.run_async({.image = p}, {p}, workspace, stream()); }), "result: overlaps image");
    EXPECT_TRUE(fetched(other, q) == other.memory.bytes);
}

}  // namespace
}  // namespace boxsum
