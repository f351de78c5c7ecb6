// Filters one raw image for the comparison with Python (compare_with_python.py):
//     filter_probe TYPE ROWS COLS FILTER WINDOW_ROWS WINDOW_COLS BORDER K RANGE < pixels > result
// TYPE is 8u, 16u or 32f. FILTER: mean, mean_64f, deviation, or a threshold method. Doubles come out of mean_64f and
// deviation, the image's type out of mean, bytes out of a threshold.
#include <boxsum/filters.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace boxsum;

struct request {
    std::int64_t rows, cols;
    std::string filter;
    boxsum::window window;
    border_mode border;
    double k, range;
};

template <typename Out>
int put(const std::vector<Out>& values) {
    return std::fwrite(values.data(), sizeof(Out), values.size(), stdout) == values.size() ? 0 : 1;
}

template <typename T>
int run(const request& r) {
    const auto size = static_cast<std::size_t>(r.rows * r.cols);
    std::vector<T> pixels(size);
    if (std::fread(pixels.data(), sizeof(T), size, stdin) != size) return 1;
    const image_view<const T> image(pixels.data(), r.rows, r.cols);
    if (r.filter == "mean") {
        std::vector<T> out(size);
        box_filter({image}, {image_view<T>(out.data(), r.rows, r.cols)}, {.window = r.window, .border = r.border});
        return put(out);
    }
    if (const auto method = threshold_from_name(r.filter)) {
        std::vector<std::uint8_t> out(size);
        threshold_rule rule{.method = *method, .k = r.k};
        if (*method == threshold_method::sauvola) rule.range = r.range;
        adaptive_threshold({image}, {image_view<std::uint8_t>(out.data(), r.rows, r.cols)}, rule,
                           {.window = r.window, .border = r.border});
        return put(out);
    }
    std::vector<double> out(size);
    const image_view<double> result(out.data(), r.rows, r.cols);
    if (r.filter == "mean_64f")
        box_filter({image}, {result}, {.window = r.window, .border = r.border});
    else
        local_statistics({image}, {.deviation = result}, {.window = r.window, .border = r.border});
    return put(out);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 10) return 2;
    try {
        const std::string type = argv[1];
        const request r{std::atoll(argv[2]),
                        std::atoll(argv[3]),
                        argv[4],
                        {std::atoll(argv[5]), std::atoll(argv[6])},
                        boxsum::border_from_name(argv[7]).value(),
                        std::atof(argv[8]),
                        std::atof(argv[9])};
        return type == "8u" ? run<std::uint8_t>(r) : type == "16u" ? run<std::uint16_t>(r) : run<float>(r);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
