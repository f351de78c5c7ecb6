#pragma once

#include <cstddef>
#include <cstdint>

namespace boxsum {

/// The first bytes of every device workspace. cuda::workspace zeroes all of it, header and all, once; from then on the
/// header belongs to the records whose words are `workspace_content::tagged`, and every call leaves `ticket` and
/// `finished` at zero for the next one on the stream. Scratch records do not touch it.
///
/// The epoch lives in device memory and not in a kernel argument so that a replayed CUDA graph, whose arguments are
/// frozen, still gets a new one with every replay.
struct alignas(256) workspace_header {
    /// Epoch of the last finished call; 0: none yet. A call tags its words with the successor, which its last block
    /// stores here. Where the tag's bits run out, the last block zeroes the whole workspace
    /// (execution::workspace_bytes) before it starts again at 0, because words of any earlier epoch may still lie
    /// anywhere in it. Tests store values close to the end here to force that.
    std::uint32_t epoch;
    std::uint32_t ticket;    ///< next tile to be worked on; blocks take tiles in the order in which they start
    std::uint32_t finished;  ///< blocks that are done; the last one resets the header
    /// Next block of a launch whose blocks draw one number each, before the launch before has ended: of its own,
    /// because that one may still use `ticket`. Goes back to zero by itself with the launch's last number.
    std::uint32_t early_ticket;
    std::uint32_t reserved[60];  ///< zero, or a record's own words with the same life as `ticket`
};

inline constexpr std::size_t workspace_header_bytes = sizeof(workspace_header);
static_assert(workspace_header_bytes == 256 && offsetof(workspace_header, epoch) == 0);

}  // namespace boxsum
