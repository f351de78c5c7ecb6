// A test of the suite itself: histogram records that are wrong in known ways must be rejected, for every pair of types.

#include "api/registry.hpp"
#include "core/visit_histogram.hpp"
#include "reference/records.hpp"
#include "verify/histogram_conformance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace boxsum {
namespace {

/// Runs the oracle, then hands each bin's table to the vandal.
template <typename Vandal>
void spoil(const problem& p, const buffers& memory, const execution& how, Vandal vandal) {
    reference_histogram_record.enqueue(p, memory, how);
    visit_one_of(histogram_entries{}, p.table.type, [&]<typename Entry>() {
        for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
            for (std::int64_t bin = 0; bin < p.histogram->bins; ++bin)
                vandal(table_of_bin<Entry>(p, memory.table, bin, plane), bin);
    });
}

/// A tile reads the carry of the row above the right one.
void carry_off_by_one(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t, std::int64_t) {
        if (t.rows() > 33)
            for (std::int64_t c = 0; c < t.cols(); ++c) t(32, c) = t(31, c);
    });
}

/// The last partial vector of a row starts from zero instead of from the row's count.
void tail_without_carry(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t, std::int64_t) {
        const std::int64_t first = t.cols() / 16 * 16;
        if (first == 0) return;
        for (std::int64_t c = first; c < t.cols(); ++c) t(0, c) = static_cast<T>(t(0, c) - t(0, first - 1));
    });
}

/// The last bin is left out: a pixel at the upper end of the range is lost.
void last_bin_empty(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, [&]<typename T>(image_view<T> t, std::int64_t bin) {
        if (bin != p.histogram->bins - 1) return;
        for (std::int64_t r = 0; r < t.rows(); ++r)
            for (std::int64_t c = 0; c < t.cols(); ++c) t(r, c) = T{};
    });
}

/// A store is one element too wide: it spills into the gap between rows.
void writes_between_rows(const problem& p, const buffers& memory, const execution& how) {
    spoil(p, memory, how, []<typename T>(image_view<T> t, std::int64_t) {
        if (t.row_stride() > t.cols() * static_cast<std::int64_t>(sizeof(T))) t.row(0)[t.cols()] = T{};
    });
}

/// Runs the oracle on a changed problem.
template <void (*change)(histogram_problem&)>
void misread_rule(const problem& p, const buffers& memory, const execution& how) {
    problem wrong = p;
    change(*wrong.histogram);
    reference_histogram_record.enqueue(wrong, memory, how);
}

/// hi belongs to the last bin.
void closed_range(histogram_problem& h) {
    if (h.outside == out_of_range::ignored) h.hi = std::nextafter(h.hi, INFINITY);
}
void clamps_always(histogram_problem& h) {
    h.outside = out_of_range::clamped;
}
void never_clamps(histogram_problem& h) {
    h.outside = out_of_range::ignored;
}

constexpr algorithm_record broken(std::string_view name,
                                  void (*enqueue)(const problem&, const buffers&, const execution&)) {
    algorithm_record record;
    record.info.what = operation::histogram;
    record.info.name = name;
    record.supports = [](const problem&, const parameter_values&) -> support { return {}; };
    record.enqueue = enqueue;
    record.addition_depth = serial_addition_depth;
    return record;
}

const std::array broken_records{
    broken("carry-off-by-one", carry_off_by_one),
    broken("tail-without-carry", tail_without_carry),
    broken("last-bin-empty", last_bin_empty),
    broken("writes-between-rows", writes_between_rows),
    broken("clamps-always", misread_rule<clamps_always>),
    broken("never-clamps", misread_rule<never_clamps>),
};

bool rejected(const algorithm_record& record, dtype input, dtype tensor, effort e) {
    for (const histogram_case& c : histogram_cases(input, tensor, e))
        if (check_histogram_record(record, c)) return true;
    return false;
}

TEST(broken_histograms, every_one_is_rejected_for_every_pair_of_types) {
    for (const algorithm_record& record : broken_records)
        for (const dtype input : {dtype::u8, dtype::u16, dtype::s32, dtype::f32})
            for (const dtype tensor : {dtype::u32, dtype::u16, dtype::f32})
                EXPECT_TRUE(rejected(record, input, tensor, effort::full))
                    << record.info.name << " passed for " << name_of(type_pair{input, tensor});
}

TEST(broken_histograms, a_closed_range_is_rejected_where_pixels_lie_on_its_end) {
    const algorithm_record record = broken("closed-range", misread_rule<closed_range>);
    for (const dtype input : {dtype::s32, dtype::f32}) EXPECT_TRUE(rejected(record, input, dtype::u32, effort::full));
}

TEST(broken_histograms, the_message_names_the_first_wrong_entry) {
    histogram_case c;
    c.rows = 40;
    c.cols = 50;
    c.bins = 3;
    c.contents = histogram_pattern::one_bin;  // bin 1
    const auto wrong = check_histogram_record(broken_records[0], c);
    ASSERT_TRUE(wrong);
    EXPECT_NE(wrong->find("bin 1, plane 0, row 32, col 0"), std::string::npos) << *wrong;
}

TEST(broken_histograms, the_oracle_is_not_rejected) {
    EXPECT_FALSE(rejected(reference_histogram_record, dtype::u8, dtype::u32, effort::quick));
}

}  // namespace
}  // namespace boxsum
