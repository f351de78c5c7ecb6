#pragma once

#include "image_io/image.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/types.hpp>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace boxsum::cli {

/// How tables are to be computed: the options that `table` and `query` share.
struct compute_options {
    std::string device = "auto";  ///< see device.hpp
    std::string algorithm = "auto";
    std::vector<std::string> parameters = {};  ///< "name=value"
    int threads = 0;
    store_policy store = store_policy::automatic;
};

/// --device, --algorithm, --param, --threads, --store
void add_compute_options(CLI::App& command, compute_options& options);

/// "name=value,name=value" for the library, of what --param gave. Throws usage_error unless the algorithm has such
/// parameters with such values; an unknown algorithm is left to the library.
std::string joined_parameters(operation what, const std::string& algorithm_name,
                              const std::vector<std::string>& parameters);

/// The table type that loses nothing: 64u, 64s or 64f.
dtype widest_table_type(dtype image) noexcept;

/// The type of squares that goes with it, 64u before 64f before others; nothing when the closed list has no triple.
std::optional<dtype> widest_squares_type(dtype image, dtype table) noexcept;

/// Integers of `bits` bits or more in a type of fewer that holds them all: the first of `types` that does; NumPy's are
/// of 64 bits whatever they hold. It holds `others`, too, where the image's own type does. Nothing where none does, or
/// the image is of another type: the image is returned.
image narrowed(const image& source, std::size_t bits, std::initializer_list<dtype> types,
               std::span<const double> others = {});

/// An exact copy in a wider type, for inputs that the list of type pairs lacks: 16f to 32f; 16s, 32s and 32u to 64f.
/// Other images are returned as they are.
image widened(const image& source);

struct computed_tables {
    writable_image sums;
    std::optional<writable_image> squares;
    std::string device;  ///< where they were computed: "cpu", "cuda:0"
    double seconds = 0;  ///< of the computation, with the copies to and from a GPU
};

/// Computes the tables of an image; 16f images are widened first unless the table is 32f. Rows start on 64-byte
/// boundaries. Throws `unsupported` (no such device, type pair or algorithm), usage_error (unknown parameter),
/// out_of_memory.
computed_tables compute_tables(const image& source, table_form form, dtype table, std::optional<dtype> squares,
                               const compute_options& options);

}  // namespace boxsum::cli
