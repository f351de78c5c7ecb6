#pragma once

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace boxsum::test {

/// The message of the invalid_argument that a call throws; empty when it throws nothing.
template <typename F>
std::string complaint(F f) {
    try {
        f();
    } catch (const invalid_argument& e) {
        return e.what();
    }
    return {};
}

}  // namespace boxsum::test

#define EXPECT_COMPLAINT(call, part)                                            \
    do {                                                                        \
        const std::string message = ::boxsum::test::complaint([&] { call; });   \
        EXPECT_NE(message.find(part), std::string::npos) << "got: " << message; \
    } while (false)
