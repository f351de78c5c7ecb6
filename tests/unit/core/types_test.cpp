#include <boxsum/types.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace boxsum {
namespace {

TEST(types, names_are_the_literatures_and_read_back) {
    EXPECT_EQ(name_of(type_pair{dtype::u8, dtype::u32}), "8u32u");
    EXPECT_EQ(name_of(squares_triple{dtype::u8, dtype::u32, dtype::u64}), "8u32u64u");
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16, dtype::u32, dtype::s32, dtype::u64, dtype::s64,
                             dtype::f16, dtype::f32, dtype::f64})
        EXPECT_EQ(dtype_from_name(name_of(type)), type);
    EXPECT_FALSE(dtype_from_name("8U"));
    for (const table_layout layout : {table_layout::inclusive, table_layout::exclusive, table_layout::padded})
        EXPECT_EQ(layout_from_name(name_of(layout)), layout);
    EXPECT_FALSE(layout_from_name(""));
}

TEST(types, what_is_no_enumerator_has_no_name) {
    EXPECT_EQ(name_of(static_cast<dtype>(10)), "");
    EXPECT_EQ(name_of(static_cast<dtype>(255)), "");
    EXPECT_EQ(name_of(static_cast<table_layout>(3)), "");
}

TEST(types, closed_lists_hold_no_duplicates) {
    std::set<std::string> names;
    for (const type_pair types : type_pairs()) EXPECT_TRUE(names.insert(name_of(types)).second) << name_of(types);
    for (const squares_triple types : squares_triples())
        EXPECT_TRUE(names.insert(name_of(types)).second) << name_of(types);
    EXPECT_EQ(type_pairs().size(), 21u);
}

TEST(types, every_triple_computes_a_table_of_the_pair_list) {
    for (const squares_triple types : squares_triples()) {
        bool found = false;
        for (const type_pair pair : type_pairs()) found |= pair == type_pair{types.input, types.table};
        EXPECT_TRUE(found || types == (squares_triple{dtype::u16, dtype::u32, dtype::f64})) << name_of(types);
    }
}

/// Half the way between two neighbours, all 63488 finite values and both infinities.
TEST(types, half_converts_both_ways) {
    for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
        const float16 half{static_cast<std::uint16_t>(bits)};
        const float value = to_float(half);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
            continue;
        }
        EXPECT_EQ(to_float16(value), half) << bits;
        const float16 next{static_cast<std::uint16_t>(bits + 1)};
        if ((bits & 0x7fffu) >= 0x7bffu) continue;  // the largest finite value has no finite neighbour
        const float middle = value + (to_float(next) - value) / 2;
        EXPECT_EQ(to_float16(middle), bits % 2 == 0 ? half : next) << bits;  // ties to even
    }
    EXPECT_EQ(to_float(float16{0x3c00}), 1.0f);
    EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);  // rounds to infinity
    EXPECT_EQ(to_float16(65519.0f).bits, 0x7bff);
    EXPECT_EQ(to_float16(-0.0f).bits, 0x8000);
}

}  // namespace
}  // namespace boxsum
