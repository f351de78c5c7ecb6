#pragma once

#include <boxsum/filters.hpp>

#include <algorithm>
#include <cstdint>

namespace boxsum::filters {

/// One axis of a sliding window over `extent` samples: from `before` samples before its own to `after` behind it. A
/// window that reaches beyond the image is reduced to one that reaches a bounded number of samples, plus whole
/// repetitions that every window contains (`repeats`, `edge_before`, `edge_after`).
struct window_axis {
    std::int64_t extent = 1;
    std::int64_t before = 0;  ///< reduced: below 2 * extent
    std::int64_t after = 0;
    border_mode border = border_mode::shrink;
    std::int64_t full = 1;  ///< samples of an uncut window as it was asked for
    /// Times that each sample comes on top of the reduced window (reflect, wrap; mirror, but its edges half as often).
    std::int64_t repeats = 0;
    std::int64_t edge_before = 0;  ///< times that the sample beyond the first does (replicate, constant)
    std::int64_t edge_after = 0;   ///< times that the sample beyond the last does

    window_axis() = default;

    constexpr window_axis(std::int64_t samples, std::int64_t reach_before, std::int64_t reach_after, border_mode mode)
        : extent(samples), before(reach_before), after(reach_after), border(mode) {
        if (border == border_mode::shrink) {  // cut windows never reach further, and the reach may be anything
            before = std::min(before, extent - 1);
            after = std::min(after, extent - 1);
        }
        full = before + after + 1;
        if (border == border_mode::mirror && extent == 1) border = border_mode::replicate;  // a period of no samples
        switch (border) {
            case border_mode::shrink:
                break;
            case border_mode::reflect:
                // The extended image has period 2 * extent and holds every sample twice in it.
                repeats = (before / (2 * extent) + after / (2 * extent)) * 2;
                before %= 2 * extent;
                after %= 2 * extent;
                break;
            case border_mode::replicate:
            case border_mode::constant:
                edge_before = std::max<std::int64_t>(before - extent, 0);
                edge_after = std::max<std::int64_t>(after - extent, 0);
                before = std::min(before, extent);
                after = std::min(after, extent);
                break;
            case border_mode::mirror:
                // The period of 2 * extent - 2 samples holds inner samples twice, the edges once.
                repeats = (before / (2 * extent - 2) + after / (2 * extent - 2)) * 2;
                before %= 2 * extent - 2;
                after %= 2 * extent - 2;
                break;
            case border_mode::wrap:
                repeats = before / extent + after / extent;
                before %= extent;
                after %= extent;
                break;
        }
    }

    /// Samples of an uncut window of the reduced reach.
    constexpr std::int64_t width() const noexcept { return before + after + 1; }

    /// Whether every window contains more than its reduced reach.
    constexpr bool reduced() const noexcept { return repeats > 0 || edge_before > 0 || edge_after > 0; }

    /// Times that sample i comes on top of the reduced window by repetition.
    constexpr std::int64_t repeated(std::int64_t i) const noexcept {
        return border == border_mode::mirror && (i == 0 || i == extent - 1) ? repeats / 2 : repeats;
    }

    /// Calls sample(i) for every sample of what is repeated on top of the reduced window: the image, or mirror's
    /// period. How often that is repeated.
    template <typename F>
    std::int64_t for_each_repeated(F&& sample) const {
        for (std::int64_t i = 0; i < extent; ++i) sample(i);
        if (border != border_mode::mirror) return repeats;
        for (std::int64_t i = 1; i < extent - 1; ++i) sample(i);
        return repeats / 2;
    }

    /// Samples that every window has on top of its reduced reach.
    constexpr std::int64_t beyond() const noexcept {
        return repeats * (border == border_mode::mirror ? extent - 1 : extent) + edge_before + edge_after;
    }

    /// Whether the samples beyond the border are the image's.
    constexpr bool continues() const noexcept {
        return border != border_mode::shrink && border != border_mode::constant;
    }

    /// Samples of the image, extended by the reduced reach on both sides.
    constexpr std::int64_t extended() const noexcept { return before + extent + after; }

    /// The image's sample at position i of the extended image, -before <= i < extent + after; -1 where it has none
    /// (shrink, constant).
    constexpr std::int64_t source(std::int64_t i) const noexcept {
        if (i >= 0 && i < extent) return i;
        switch (border) {
            case border_mode::shrink:
            case border_mode::constant:
                return -1;
            case border_mode::replicate:
                return i < 0 ? 0 : extent - 1;
            case border_mode::wrap:
                return ((i % extent) + extent) % extent;
            case border_mode::mirror:
            case border_mode::reflect:
                break;
        }
        const std::int64_t repeated_edge = border == border_mode::reflect ? 1 : 0;
        const std::int64_t period = 2 * extent - 2 + 2 * repeated_edge;
        const std::int64_t phase = ((i % period) + period) % period;
        return phase < extent ? phase : period - repeated_edge - phase;
    }

    /// Samples of the image's own range in the window around i, each counted once.
    constexpr std::int64_t inside(std::int64_t i) const noexcept {
        return std::min(i + after, extent - 1) - std::max<std::int64_t>(i - before, 0) + 1;
    }

    /// What the mean of the window around i divides by, along this axis.
    constexpr std::int64_t count(std::int64_t i) const noexcept {
        return border == border_mode::shrink ? inside(i) : full;
    }

    /// Windows around first_uncut() <= i < end_uncut() all have the same count.
    std::int64_t first_uncut() const noexcept {
        return border == border_mode::shrink ? std::min(before, extent) : std::int64_t{0};
    }
    std::int64_t end_uncut() const noexcept {
        return border == border_mode::shrink ? std::max(extent - after, first_uncut()) : extent;
    }

    /// Of samples first .. end - 1 of the image, those whose windows end within them or are cut by the image's border.
    struct range {
        std::int64_t first, end;
    };
    constexpr range windows_within(std::int64_t first, std::int64_t end) const noexcept {
        if (border == border_mode::wrap && end - first < extent) return {first + before, end - after};
        return {first == 0 ? 0 : first + before, end == extent ? extent : end - after};
    }

    /// The samples, from the first to the last, that windows around first .. end - 1 take.
    constexpr range taken_by(std::int64_t first, std::int64_t end) const noexcept {
        const std::int64_t low = first - before, high = end + after;
        range r{std::max<std::int64_t>(low, 0), std::min(high, extent)};
        if (repeats > 0) return {0, extent};
        if (border == border_mode::wrap && (low < 0 || high > extent)) return {0, extent};
        if (border != border_mode::reflect && border != border_mode::mirror) return r;
        // Mirrored at the first sample, and at the last.
        const std::int64_t skipped = border == border_mode::mirror ? 1 : 0;
        if (low < 0) r.end = std::max(r.end, std::min(skipped - low, extent));
        if (high > extent) r.first = std::min(r.first, std::max<std::int64_t>(2 * extent - skipped - high, 0));
        return r;
    }
};

}  // namespace boxsum::filters
