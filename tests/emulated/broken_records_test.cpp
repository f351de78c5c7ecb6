// The broken look-back kernels of the GPU suite, on the emulated device: it must find what is wrong with each.

#include "support/broken_device_records.hpp"
#include "support/emulation/settings.hpp"
#include "verify/conformance.hpp"
#include "verify/device_runner.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace boxsum {
namespace {

/// What is wrong with the record, over some seeds and all orders of blocks.
std::optional<std::string> first_complaint(const algorithm_record& record, cuda::workspace_reuse reuse) {
    const record_runner run = cuda::device_runner(reuse);
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
        for (const conformance_case& c : conformance_cases(dtype::u8, dtype::u32, {}, effort::quick)) {
            if (c.rows * c.cols > 40000 || !record.supports(problem_of(c), {})) continue;
            using emulation::block_order;
            constexpr block_order orders[] = {block_order::forward, block_order::backward, block_order::shuffled};
            const emulation::scoped_settings device({.seed = seed, .order = orders[seed % 3]});
            try {
                if (auto wrong = check_record(record, c, {}, run)) return wrong;
            } catch (const emulation::failure& f) {
                return f.what();
            }
        }
    return {};
}

TEST(emulated_broken_records, the_sound_kernel_passes) {
    EXPECT_EQ(first_complaint(test::sound_look_back_record, cuda::workspace_reuse::shared), std::nullopt);
    EXPECT_EQ(first_complaint(test::sound_look_back_record, cuda::workspace_reuse::fresh), std::nullopt);
}

TEST(emulated_broken_records, a_status_before_its_value_is_rejected) {
    EXPECT_TRUE(first_complaint(test::early_status_record, cuda::workspace_reuse::shared));
}

TEST(emulated_broken_records, a_dropped_carry_is_rejected) {
    EXPECT_TRUE(first_complaint(test::dropped_carry_record, cuda::workspace_reuse::shared));
}

TEST(emulated_broken_records, a_wrong_epoch_is_rejected) {
    EXPECT_TRUE(first_complaint(test::wrong_epoch_record, cuda::workspace_reuse::shared));
}

TEST(emulated_broken_records, block_indices_instead_of_tickets_are_rejected) {
    const auto wrong = first_complaint(test::block_index_record, cuda::workspace_reuse::shared);
    ASSERT_TRUE(wrong);
    EXPECT_NE(wrong->find("deadlock"), wrong->npos) << *wrong;
}

}  // namespace
}  // namespace boxsum
