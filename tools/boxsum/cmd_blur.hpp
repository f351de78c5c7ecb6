#pragma once

#include "action.hpp"
#include "filter_command.hpp"

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum blur: box mean with one radius, or with a radius per pixel; depth of field.
struct blur_options {
    filter_command_options common;
    std::optional<window_radius> radius;  ///< none with a map
    std::string radius_map;               ///< an image of radii; empty with a radius
    std::string depth;                    ///< an image of depths: radii are those of a lens
    double focus = 0;
    double aperture = 8;
    int order = 2;              ///< with `depth`
    std::optional<dtype> type;  ///< of the result; else the image's

    bool radius_is_per_pixel() const { return !radius_map.empty() || !depth.empty(); }
};

void setup_blur(CLI::App& app, action& chosen);
exit_code run_blur(const blur_options& options);

}  // namespace boxsum::cli
