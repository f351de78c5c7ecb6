#pragma once

#include "core/algorithm_record.hpp"

namespace boxsum::test {

/// One small single-pass kernel for 8u32u (inclusive, one plane and channel): a warp a tile, tickets, look-back to the
/// left and upper neighbour, words tagged with the epoch. First as it should be, then with the mistakes that this kind
/// of kernel invites.
extern const algorithm_record sound_look_back_record;
extern const algorithm_record early_status_record;   ///< says "ready" before the value is there
extern const algorithm_record dropped_carry_record;  ///< one lane does not add what comes from above
extern const algorithm_record wrong_epoch_record;    ///< takes any earlier call's word for this one's
extern const algorithm_record block_index_record;    ///< tiles by blockIdx, so it hopes that all blocks run at once

}  // namespace boxsum::test
