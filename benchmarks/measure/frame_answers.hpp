#pragma once

#include <boxsum/histogram_pipeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What a stream of frames is asked for where its tensors stay where they are computed.
namespace boxsum::bench {

/// "boxes" (the histograms of 1000), "search" (the best of every fourth window of a tenth by a twentieth of the frame).
const std::vector<std::string>& answer_names();

/// The request of an answer_names() for frames of 40 x 40 and more with bins of [0, 256).
frame_request request_for_answers(const std::string& name, std::int64_t rows, std::int64_t cols, std::int64_t bins);

/// "equal", or "wrong: ..." where a frame of 8u has other answers than the tensor of a plain loop.
std::string check_answers(const frame_request& request, std::int64_t bins, const frame_result& result);

}  // namespace boxsum::bench
