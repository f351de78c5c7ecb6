#pragma once

#include "filter_options.hpp"
#include "summary.hpp"

#include <boxsum/window.hpp>

#include <cstdint>
#include <functional>

namespace boxsum::cli {

/// Rows of an image's results that are computed together, and handed on while they are in the cache.
struct strip {
    filter_inputs inputs = {};  ///< the rows of the image, its mask and its weights that their windows lie in
    std::int64_t top = 0;       ///< the first of them
    std::int64_t rows = 0;      ///< how many
    int place = 0;              ///< where their results go: no two strips are in a place at the same time
    int threads = 0;            ///< of the library, for this strip

    /// How much of an image of so many rows is done with this strip.
    double share_of(std::int64_t all_rows) const {
        return static_cast<double>(top + rows) / static_cast<double>(all_rows);
    }
};

/// A cut of an image into strips, of which several may be worked on at the same time.
class strips {
  public:
    /// For results of so many bytes a row and as many threads as --threads says.
    strips(const view_shape& image, const window& reach, std::int64_t bytes_of_row, int threads);

    /// Rows of the highest strip.
    std::int64_t most_rows() const { return most_; }

    /// How many strips are at work at most.
    int places() const { return places_; }

    /// Computes every strip on one of as many threads as there are places, and hands them on from top to bottom, one at
    /// a time, while others are computed. What `compute` or `hand_on` throws ends the run. The time that it takes is
    /// added to the report's computing and writing, in proportion to what they took of all threads. Throws
    /// invalid_argument, before any of it, for a mask or weights of other rows or columns than the image's.
    void run(const image& source, const sampling& samples, const std::function<void(const strip&)>& compute,
             const std::function<void(const strip&)>& hand_on, summary& report) const;

  private:
    std::int64_t bottom_of(std::int64_t top) const;

    std::int64_t rows_, above_, below_, height_ = 1, most_ = 1;
    int threads_, places_ = 1;
};

}  // namespace boxsum::cli
