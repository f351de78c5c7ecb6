#include "box_list.hpp"
#include "fuzz_support.hpp"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    boxsum::cli::tolerate_refusal([&] {
        boxsum::cli::box_list boxes;
        boxsum::cli::parse_boxes(std::string_view(reinterpret_cast<const char*>(data), size), "boxes.csv", boxes);
    });
    return 0;
}
