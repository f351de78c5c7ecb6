#pragma once

// What src/cuda/device/word_gather.cuh writes in assembly.

#include "cuda/device/tagged_words.cuh"

#include <cstdint>

namespace boxsum::cuda {

inline void look_if(bool wanted, word_pair& w, const tagged_word* where, std::uint64_t keep) {
    if (wanted) w = look_at_pair(where, keep);
}

inline void look_if(bool wanted, tagged_word& w, const tagged_word* where, std::uint64_t keep) {
    if (wanted) w = look(where, keep);
}

}  // namespace boxsum::cuda
