#pragma once

#include "../../tools/boxsum/cuda_device.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/stream.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace boxsum::test {

/// BOXSUM_REQUIRE_GPU=N: a machine that must have N devices and has fewer fails instead of skipping.
inline int gpus_required() {
    const char* const text = std::getenv("BOXSUM_REQUIRE_GPU");
    return text == nullptr ? 0 : std::atoi(text);
}

inline bool gpu_required() {
    return gpus_required() > 0;
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
        cuda::set_device(cli::device_from_text("cuda"));
    }
};

/// Base of every test that needs a stream on it.
class gpu_stream_test : public gpu_test {
  protected:
    void SetUp() override {
        gpu_test::SetUp();
        if (!IsSkipped() && !HasFatalFailure()) stream_.emplace();
    }
    cuda::stream_ref stream() const { return *stream_; }

  private:
    std::optional<cuda::stream> stream_;
};

/// Base of every test that needs two devices.
class two_gpus_test : public gpu_test {
  protected:
    void SetUp() override {
        gpu_test::SetUp();
        if (IsSkipped() || HasFatalFailure() || cuda::device_count() >= 2) return;
        if (gpus_required() >= 2) FAIL() << "one CUDA device, but BOXSUM_REQUIRE_GPU=" << gpus_required();
        GTEST_SKIP() << "needs two CUDA devices";
    }
};

}  // namespace boxsum::test
