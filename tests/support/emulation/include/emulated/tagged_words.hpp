#pragma once

// What src/cuda/device/tagged_words.cuh writes in assembly.

#include "support/emulation/machine.hpp"

#include <cstdint>

namespace boxsum::cuda {

inline std::uint64_t keep_in_l2() {
    return 0;
}

inline void publish(tagged_word* where, tagged_word w, std::uint64_t,
                    const emulation::location& here = emulation::location::current()) {
    *where = w;
    emulation::progress();
    emulation::yield(here);
}

/// Words of a pair are seen one by one.
inline void publish(tagged_word* where, word_pair w, std::uint64_t,
                    const emulation::location& here = emulation::location::current()) {
    if (reinterpret_cast<std::uintptr_t>(where) % sizeof w != 0) emulation::fail("a pair of words that is not aligned");
    where[0] = w.a;
    emulation::progress();
    emulation::yield(here);
    where[1] = w.b;
    emulation::progress();
    emulation::yield(here);
}

inline tagged_word look(const tagged_word* where, std::uint64_t,
                        const emulation::location& here = emulation::location::current()) {
    emulation::look(where, "looks at a tagged word", here);
    return *where;
}

inline word_pair look_at_pair(const tagged_word* where, std::uint64_t,
                              const emulation::location& here = emulation::location::current()) {
    if (reinterpret_cast<std::uintptr_t>(where) % sizeof(word_pair) != 0)
        emulation::fail("a pair of words that is not aligned");
    emulation::look(where, "looks at a pair of tagged words", here);
    const tagged_word first = where[0];
    emulation::yield(here);
    return {first, where[1]};
}

}  // namespace boxsum::cuda
