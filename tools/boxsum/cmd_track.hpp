#pragma once

#include "action.hpp"

#include <boxsum/box.hpp>
#include <boxsum/histogram_search.hpp>

#include <optional>
#include <string>

namespace boxsum::cli {

/// boxsum track: follows a region through a video by exhaustive histogram search.
struct track_options {
    std::string input;  ///< YUV4MPEG2 file, "-", or a pattern of numbered images: frames/%04d.png
    box start;          ///< in the first frame
    int bins = 32;      ///< of brightness
    int colours = 0;    ///< levels of red, green and blue each, in place of brightness; 0: none
    histogram_distance distance = histogram_distance::bhattacharyya;
    int reach = 16;              ///< how far the region may move between two frames, in pixels; 0: anywhere
    double update = 0;           ///< share of the newest histogram in the target, 0 to 1
    std::optional<int> first;    ///< number of the first image; else the lowest that is there
    std::string annotate;        ///< folder for frames with the region drawn in
    std::optional<double> lost;  ///< distance from which on the region counts as lost
    int buffers = 4;             ///< frames in flight
    std::string device = "auto";
    int threads = 0;
    bool json = false;
};

void setup_track(CLI::App& app, action& chosen);
exit_code run_track(const track_options& options);

}  // namespace boxsum::cli
