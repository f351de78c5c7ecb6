#include "core/exhausted_memory.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace boxsum {
namespace {

/// Whether what `E` says is heard through each of its bases.
template <typename Standard, typename E>
void expect_caught_as_both(const E& thrown, const char* text) {
    static_assert(std::is_base_of_v<Standard, E> && std::is_nothrow_copy_constructible_v<E>);
    EXPECT_STREQ(thrown.what(), text);
    const auto told_to = [&]<typename Base>(std::type_identity<Base>) -> const char* {
        try {
            throw thrown;
        } catch (const Base& e) {
            EXPECT_STREQ(e.what(), text);
            return "caught";
        } catch (...) {
            return "missed";
        }
    };
    EXPECT_STREQ(told_to(std::type_identity<E>{}), "caught");
    EXPECT_STREQ(told_to(std::type_identity<error>{}), "caught");
    EXPECT_STREQ(told_to(std::type_identity<Standard>{}), "caught");
    EXPECT_STREQ(told_to(std::type_identity<std::exception>{}), "caught");
}

TEST(error, is_the_librarys_and_the_standards) {
    expect_caught_as_both<std::invalid_argument>(invalid_argument("a"), "a");
    expect_caught_as_both<std::domain_error>(unsupported("b"), "b");
    expect_caught_as_both<std::bad_alloc>(out_of_memory("c"), "c");
    expect_caught_as_both<std::runtime_error>(cuda_error(2, "d"), "d");
    expect_caught_as_both<std::runtime_error>(workers_failed("e"), "e");
    expect_caught_as_both<std::runtime_error>(pipeline_error(7, pipeline_stage::read, "f", nullptr),
                                              "frame 7: read: f");
    EXPECT_EQ(cuda_error(2, "d").code(), 2);
}

template <typename E>
std::string after_rethrow(const E& thrown) {
    try {
        try {
            throw thrown;
        } catch (...) {
            rethrow_as_ours();
        }
    } catch (const out_of_memory& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("not ours: ") + e.what();
    }
}

TEST(error, exhausted_memory_keeps_the_text_that_names_the_size) {
    EXPECT_EQ(after_rethrow(out_of_memory("cannot allocate 5 bytes")), "cannot allocate 5 bytes");
    EXPECT_EQ(after_rethrow(std::bad_alloc()), "cannot allocate working memory");
    EXPECT_EQ(after_rethrow(std::length_error("vector")), "cannot allocate working memory");
    EXPECT_EQ(after_rethrow(std::runtime_error("other")), "not ours: other");
    EXPECT_EQ(after_rethrow(invalid_argument("rows")), "not ours: rows");
}

}  // namespace
}  // namespace boxsum
