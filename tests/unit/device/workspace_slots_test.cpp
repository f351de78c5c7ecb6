#include "cuda/device/workspace_slots.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace boxsum::cuda {
namespace {

struct arrays {
    explicit arrays(workspace_slots& slots, std::int64_t n)
        : bytes(slots.take<char>(n)),
          doubles(slots.take<double>(n)),
          nothing(slots.take<int>(0)),
          flags(slots.take<unsigned>(1)) {}

    char* bytes;
    double* doubles;
    int* nothing;
    unsigned* flags;
};

TEST(workspace_slots, without_memory_they_only_measure) {
    workspace_slots slots;
    const arrays none(slots, 1000);
    EXPECT_EQ(none.bytes, nullptr);
    EXPECT_EQ(none.doubles, nullptr);
    EXPECT_EQ(none.flags, nullptr);
    EXPECT_EQ(slots.bytes(), 1024u + 8192u + 256u);
}

TEST(workspace_slots, arrays_are_aligned_apart_and_within_what_was_measured) {
    for (const std::int64_t n : {1, 31, 32, 33, 256, 1000}) {
        workspace_slots measure;
        (void)arrays(measure, n);
        alignas(256) static std::byte memory[16384];
        workspace_slots slots(memory);
        const arrays a(slots, n);
        EXPECT_EQ(slots.bytes(), measure.bytes());
        const auto offset = [&](const void* p) { return static_cast<const std::byte*>(p) - memory; };
        EXPECT_EQ(offset(a.bytes), 0);
        for (const void* p :
             {static_cast<void*>(a.doubles), static_cast<void*>(a.nothing), static_cast<void*>(a.flags)})
            EXPECT_EQ(offset(p) % 256, 0);
        EXPECT_GE(offset(a.doubles), n);
        EXPECT_GE(offset(a.nothing), offset(a.doubles) + n * 8);
        EXPECT_EQ(a.nothing, static_cast<void*>(a.flags));  // of no elements: it takes no room
        EXPECT_LE(offset(a.flags) + 4, static_cast<std::ptrdiff_t>(slots.bytes()));
    }
}

}  // namespace
}  // namespace boxsum::cuda
