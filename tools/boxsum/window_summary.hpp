#pragma once

#include "filter_command.hpp"

#include <string>

namespace boxsum::cli {

/// Prints, of each band, how many pixels count, and the least, the mean and the greatest of the means and the standard
/// deviations of the windows around these.
exit_code print_window_summary(const filter_command_options& options, const window_choice& window,
                               const source_options& from, const std::string& input);

}  // namespace boxsum::cli
