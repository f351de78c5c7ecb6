#pragma once

#include <boxsum/error.hpp>

#include <new>
#include <stdexcept>

namespace boxsum {

/// For the last handler of a public function, catch (...): what is being handled goes on, except that the standard
/// library's word for exhausted memory becomes ours. Tables, tensors and rows of filters come from the pool, which says
/// so itself; this is for the small things beside them.
[[noreturn]] inline void rethrow_as_ours() {
    constexpr auto text = "cannot allocate working memory";
    try {
        throw;
    } catch (const error&) {  // ours already, with a better text
        throw;
    } catch (const std::bad_alloc&) {
        throw out_of_memory(text);
    } catch (const std::length_error&) {  // of a vector
        throw out_of_memory(text);
    }
}

}  // namespace boxsum
