// No include guard: part of row_kernels_impl.hpp, inside its namespaces.

// Sums of `width` samples in a row, of doubles, by additions of whole vectors: nothing is subtracted, and the order of
// the additions depends on the position in the row alone.
//
// Sums of 4, 16 and 64 neighbours are made from each other, four terms at a time. A window below 128 samples is up to
// 1 of 64, 3 of 16, 3 of 4 and 3 single samples, taken from left to right. A wider one is q = width / 64 sums of 64,
// one every 64 samples, and such a rest. These q terms are summed in the scheme of floating_windows.hpp, for 64
// neighbouring windows at once: blocks of 64 * q positions, suffixes of one and prefixes of the next.
//
// (Scans within blocks of the window's width, one sample after the other, were at 4096^2, radius 3, 32f, the larger
// part of the box mean: docs/decisions/filters.md.)

constexpr i64 base = 64;

/// to[i] = x[i] + x[i + d] + x[i + 2 d] + x[i + 3 d]
void sum_four(f64* __restrict to, const f64* __restrict x, i64 d, i64 n) {
    for (i64 i = 0; i < n; ++i) to[i] = (x[i] + x[i + d]) + (x[i + 2 * d] + x[i + 3 * d]);
}

/// One row of terms: to[i] = or += x[i] + x[i + d] + ..., `count` of them, 0 to 3.
void add_terms(f64* __restrict to, const f64* __restrict x, i64 d, i64 count, bool first, i64 n) {
    switch (count) {
        case 1:
            if (first)
                for (i64 i = 0; i < n; ++i) to[i] = x[i];
            else
                for (i64 i = 0; i < n; ++i) to[i] += x[i];
            break;
        case 2:
            if (first)
                for (i64 i = 0; i < n; ++i) to[i] = x[i] + x[i + d];
            else
                for (i64 i = 0; i < n; ++i) to[i] += x[i] + x[i + d];
            break;
        case 3:
            if (first)
                for (i64 i = 0; i < n; ++i) to[i] = (x[i] + x[i + d]) + x[i + 2 * d];
            else
                for (i64 i = 0; i < n; ++i) to[i] += (x[i] + x[i + d]) + x[i + 2 * d];
            break;
        default:
            break;
    }
}

/// Sums of 4, 16 and 64 neighbours over one piece of a row.
struct neighbour_sums {
    f64* of_4;
    f64* of_16;
    f64* of_64;

    /// Those that windows of `width` samples from n positions take; x has n + (width - 1) * channels elements.
    void make(const f64* x, i64 n, i64 width, i64 channels) const {
        i64 reach = n + (width - 4) * channels;
        if (width >= 4) sum_four(of_4, x, channels, reach);
        reach -= 12 * channels;
        if (width >= 16) sum_four(of_16, of_4, 4 * channels, reach);
        reach -= 48 * channels;
        if (width >= 64) sum_four(of_64, of_16, 16 * channels, reach);
    }

    /// to = or += the samples from `start` on to the end of the window, fewer than 64.
    void add_rest(f64* to, const f64* x, i64 start, i64 width, i64 channels, bool first, i64 n) const {
        const i64 of_16s = (width - start) / 16, of_4s = (width - start) % 16 / 4, singles = (width - start) % 4;
        add_terms(to, of_16 + start * channels, 16 * channels, of_16s, first, n);
        first = first && of_16s == 0;
        start += 16 * of_16s;
        add_terms(to, of_4 + start * channels, 4 * channels, of_4s, first, n);
        first = first && of_4s == 0;
        start += 4 * of_4s;
        add_terms(to, x + start * channels, channels, singles, first, n);
    }
};

constexpr i64 piece = 512;  // positions at a time, so that all of it stays in the first-level cache

void narrow_sums(f64* __restrict to, const f64* __restrict x, i64 n, i64 width, i64 channels, f64* scratch) {
    const i64 room = piece + 2 * base * channels;
    const neighbour_sums sums{scratch, scratch + room, scratch + 2 * room};
    for (i64 begin = 0; begin < n; begin += piece) {
        const i64 count = n - begin < piece ? n - begin : piece;
        sums.make(x + begin, count, width, channels);
        add_terms(to + begin, sums.of_64, 0, width / base, true, count);
        sums.add_rest(to + begin, x + begin, width / base * base, width, channels, width < base, count);
    }
}

/// to[i] = x[i] + to[i + step] from the last element of `to` back: sums of every step-th element up to the end.
void sum_back(f64* __restrict to, const f64* __restrict x, i64 step, i64 n) {
    const i64 last = (n - 1) / step * step;
    for (i64 i = last; i < n; ++i) to[i] = x[i];
    for (i64 j = last - step; j >= 0; j -= step) {
        const i64 whole = n - j - step < step ? n - j - step : step;  // of the next group
        add_rows(to + j, x + j, to + j + step, whole);
        for (i64 i = whole; i < step; ++i) to[j + i] = x[j + i];
    }
}

/// to[i] = to[i - step] + x[i]: sums of every step-th element from the first on.
void sum_on(f64* __restrict to, const f64* __restrict x, i64 step, i64 n) {
    for (i64 i = 0; i < n && i < step; ++i) to[i] = x[i];
    for (i64 j = step; j < n; j += step) add_rows(to + j, to + j - step, x + j, n - j < step ? n - j : step);
}

void wide_sums(f64* __restrict to, const f64* __restrict x, i64 n, i64 width, i64 channels, f64* scratch) {
    const i64 step = base * channels;  // elements between the terms of a window
    const i64 block = width / base * step;
    const i64 end = n + (width - 1) * channels;  // of x
    const i64 room = block + step;
    const neighbour_sums sums{scratch, scratch + room, scratch + 2 * room};
    f64* const suffix = scratch + 3 * room;
    f64* const prefix = suffix + block;

    // The sums of neighbours in the block that begins at `begin`, and those behind it that its last ones are made of;
    // how many sums of 64 there are.
    const auto make = [&](i64 begin) {
        const auto within = [&](i64 most, i64 samples) {
            const i64 positions = end - begin - (samples - 1) * channels;
            return positions < 0 ? 0 : positions < most ? positions : most;
        };
        sum_four(sums.of_4, x + begin, channels, within(block + 60 * channels, 4));
        sum_four(sums.of_16, sums.of_4, 4 * channels, within(block + 48 * channels, 16));
        const i64 count = within(block, 64);
        sum_four(sums.of_64, sums.of_16, 16 * channels, count);
        return count;
    };

    sum_back(suffix, sums.of_64, step, make(0));
    for (i64 begin = 0; begin < n; begin += block) {
        const i64 count = n - begin < block ? n - begin : block;
        const i64 next = make(begin + block);
        sum_on(prefix, sums.of_64, step, next);
        const i64 alone = count < step ? count : step;  // windows that are the whole block
        for (i64 i = 0; i < alone; ++i) to[begin + i] = suffix[i];
        add_rows(to + begin + alone, suffix + alone, prefix, count - alone);
        sums.add_rest(to + begin, x + begin + block, 0, width % base, channels, false, count);
        if (next > 0) sum_back(suffix, sums.of_64, step, next);
    }
}

void sliding_sums(f64* __restrict to, const f64* __restrict x, i64 n, i64 width, i64 channels, f64* scratch) {
    if (width < 2 * base)
        narrow_sums(to, x, n, width, channels, scratch);
    else
        wide_sums(to, x, n, width, channels, scratch);
}
