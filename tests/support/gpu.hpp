#pragma once

#include <boxsum/device.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace boxsum::test {

/// BOXSUM_REQUIRE_GPU=1: a machine that must have a device and has none fails instead of skipping.
inline bool gpu_required() {
    const char* const text = std::getenv("BOXSUM_REQUIRE_GPU");
    return text != nullptr && std::string(text) == "1";
}

inline std::string no_gpu_reason() {
    if (!cuda::built()) return "no CUDA device: built without CUDA";
    return cuda::device_count() == 0 ? "no CUDA device" : "";
}

/// Base of every test that needs a device; uses the one that BOXSUM_DEVICE names.
class gpu_test : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = no_gpu_reason(); !reason.empty()) {
            if (gpu_required()) FAIL() << reason << ", but BOXSUM_REQUIRE_GPU=1";
            GTEST_SKIP() << reason;
        }
        cuda::set_device(cuda::device_from_text("cuda"));
    }
};

}  // namespace boxsum::test
