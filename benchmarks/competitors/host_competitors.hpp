#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <string>
#include <vector>

namespace boxsum::bench {

/// Another implementation on the CPU, on one thread.
struct host_competitor {
    std::string name;   ///< as among the algorithms: "opencv-cpu"
    std::string title;  ///< "OpenCV 4.6.0 cv::integral (AVX2)"
    table_layout layout;
    support (*supports)(type_pair);
    /// `table` is packed, with the extents of the layout.
    void (*run)(const const_any_view& image, const any_view& table);
};

/// OpenCV's integral where it was found, and the serial loop. Those that were not built are listed, and say so.
const std::vector<host_competitor>& host_competitors();

/// Chen et al. 2018, algorithm 1: the naive serial inclusive table, in the table's type.
void serial_table(const const_any_view& image, const any_view& table);

}  // namespace boxsum::bench
