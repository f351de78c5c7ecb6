#pragma once

#include <cstdint>

namespace boxsum::bench {

/// Where the traffic goes, and bytes of an element (`second_bytes` 0: no table of squares). 64-byte aligned.
struct traffic {
    const void* in;
    void* out;
    void* second;
    int in_bytes;
    int out_bytes;
    int second_bytes;
};

enum class limit_stores {
    cached,     ///< ordinary stores
    fetched,    ///< ordinary stores into lines that were asked for before
    streaming,  ///< non-temporal stores, and the source is asked for before
};

/// The memory traffic of a table without its arithmetic: reads `elements` elements and writes as many to each output,
/// with the widest vectors of the machine. What is written was read, so nothing can be left out, and is as random
/// (lines of zeros are written faster). `elements`: a multiple of 64.
void run_streaming_limit(const traffic& t, std::int64_t elements, limit_stores stores, int threads);

}  // namespace boxsum::bench
