#include "competitors/host_competitors.hpp"

#include "core/visit_types.hpp"
#if defined(BOXSUM_BENCH_OPENCV)
#include "competitors/opencv_integral.hpp"
#endif

namespace boxsum::bench {
namespace {

template <typename In, typename Sum>
void serial(const const_any_view& image, const any_view& table) {
    const image_view<const In> in(static_cast<const In*>(image.data), image.shape.rows, image.shape.cols,
                                  image.shape.row_stride);
    const image_view<Sum> out(static_cast<Sum*>(table.data), table.shape.rows, table.shape.cols,
                              table.shape.row_stride);
    for (std::int64_t j = 0; j < in.rows(); ++j) {
        const In* const pixels = in.row(j);
        Sum* const sums = out.row(j);
        const Sum* const above = j == 0 ? nullptr : out.row(j - 1);
        Sum sum{};
        for (std::int64_t i = 0; i < in.cols(); ++i) {
            if constexpr (std::is_integral_v<Sum>) {  // wraps; signed sums through the unsigned ones
                using word = std::make_unsigned_t<Sum>;
                sum = static_cast<Sum>(static_cast<word>(sum) + static_cast<word>(pixels[i]));
                sums[i] = static_cast<Sum>(static_cast<word>(sum) +
                                           (above == nullptr ? word{} : static_cast<word>(above[i])));
            } else {
                if constexpr (std::is_same_v<In, float16>)
                    sum += to_float(pixels[i]);
                else
                    sum += static_cast<Sum>(pixels[i]);
                sums[i] = above == nullptr ? sum : above[i] + sum;
            }
        }
    }
}

support any_types(type_pair) {
    return {};
}

#if defined(BOXSUM_BENCH_OPENCV)
support opencv_types(type_pair types) {
    if (opencv_has_integral(types.input, types.table, {})) return {};
    return {false, "cv::integral has no " + name_of(types)};
}
void opencv_run(const const_any_view& image, const any_view& table) {
    run_opencv_integral(image, table.shape.type, table.data, {}, nullptr);
}
#else
support opencv_types(type_pair) {
    return {false, "OpenCV was not found when this was built"};
}
void opencv_run(const const_any_view&, const any_view&) {}
std::string opencv_version() {
    return "not found";
}
#endif

}  // namespace

void serial_table(const const_any_view& image, const any_view& table) {
    visit_type_pair(all_type_pairs{}, {image.shape.type, table.shape.type},
                    [&]<typename In, typename Sum>() { serial<In, Sum>(image, table); });
}

const std::vector<host_competitor>& host_competitors() {
    static const std::vector<host_competitor> all{
        {"opencv-cpu", "OpenCV " + opencv_version() + ", cv::integral", table_layout::padded, opencv_types, opencv_run},
        {"serial-cpu", "the serial loop", table_layout::inclusive, any_types, serial_table},
    };
    return all;
}

}  // namespace boxsum::bench
