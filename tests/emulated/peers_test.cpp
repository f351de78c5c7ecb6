// Devices that do not reach each other's memory: what GPUs of one machine do or do not, emulated ones do as told.

#include "cuda/runtime/peers.hpp"

#include "pipeline/bin_run.hpp"
#include "support/emulation/settings.hpp"
#include "support/frames.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <gtest/gtest.h>

#include <array>

namespace boxsum {
namespace {

using emulation::peer_copies;
using emulation::scoped_settings;

/// What devices have found out about each other stays for the process: the one test that asks for that.
TEST(peers, that_do_not_reach_each_other_share_no_upload) {
    const scoped_settings device({.peers = peer_copies::refused});
    EXPECT_EQ(detail::share_upload(std::array{0, 1}), nullptr);
    const test::video v(33, 64, 1);
    const binning bins = binning::uniform(16, 0, 256);
    histogram_tasks both({.devices = {0, 1}});
    const std::vector<box> boxes{{0, 0, 33, 64}, {3, 4, 5, 6}};
    std::vector<std::uint32_t> expected;
    for (const box& b : boxes) {
        const auto one = test::counted(v.frame(0), bins, b);
        expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_EQ(both.keep({v.frame(0)}, bins).box_histograms(boxes).counts, expected);
}

TEST(peers, are_tried_not_believed) {
    cuda::let_read(0, 1);
    cuda::let_read(1, 0);
    EXPECT_TRUE(cuda::copies_arrive(0, 1));
    EXPECT_TRUE(cuda::copies_arrive(1, 0));
    const scoped_settings device({.peers = peer_copies::lost});
    EXPECT_FALSE(cuda::copies_arrive(0, 1));
    EXPECT_FALSE(cuda::copies_arrive(1, 0));
}

TEST(peers, read_no_other_memory) {
    cuda::set_device(1);
    const cuda::stream there;
    const cuda::device_buffer source(100, there);
    cuda::set_device(0);
    const cuda::stream here;
    const cuda::device_buffer copy = cuda::buffer_for_peers(100, here);
    const view_shape bytes{dtype::u8, 1, 1, 100, 1, 100, 100};
    EXPECT_THROW(cuda::copy({source.data(), bytes}, {copy.data(), bytes}, here), cuda_error);
}

}  // namespace
}  // namespace boxsum
