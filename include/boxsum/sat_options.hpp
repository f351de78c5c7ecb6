#pragma once

#include <boxsum/export.hpp>

#include <cstdint>
#include <string>

namespace boxsum BOXSUM_EXPORT {

/// How a CPU algorithm writes its table.
enum class store_policy : std::uint8_t {
    automatic,  ///< by output size and last-level cache, see cpu_info
    cached,     ///< ordinary stores: right when the table is read at once and fits in cache
    streaming,  ///< non-temporal stores: right when it does not
};

/// What every computation of a table can be told. The defaults are right for most callers.
struct sat_options {
    /// Name of a registered algorithm, or "auto": the best one of the backend that supports the problem (or the one
    /// that the environment variable BOXSUM_ALGORITHM names, e.g. "sat:reference"; it is read at the first call).
    std::string algorithm = "auto";

    /// Parameters of that algorithm, "name=value,name=value"; `boxsum algorithms --params` lists them.
    std::string parameters = {};

    /// CPU only. 0: chosen by size.
    int threads = 0;
    store_policy store = store_policy::automatic;
};

}  // namespace boxsum
