#pragma once

#include <stdexcept>

namespace boxsum::bench {

/// A record, a report or standard output that cannot be read or written. The message names it.
class io_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace boxsum::bench
