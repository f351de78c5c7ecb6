// Convolution by its definition, in long double and rounded once:
//
//     result(r, c) = sum over i < N, j < M of w(i, j) * image(r + i - above, c + j - left)

#include "convolve/job.hpp"
#include "core/visit_types.hpp"
#include "reference/records.hpp"

namespace boxsum {
namespace {

template <typename Pixel, typename Result>
void convolve_all(const convolution::job& j, const image_view<const Pixel>& image, const image_view<Result>& result) {
    for (std::int64_t p = 0; p < image.planes(); ++p)
        for (std::int64_t r = 0; r < image.rows(); ++r)
            for (std::int64_t c = 0; c < image.cols(); ++c)
                for (std::int64_t k = 0; k < image.channels(); ++k) {
                    long double sum = 0;
                    const double* weight = j.weights.data();
                    for (int i = 0; i < j.rows; ++i)
                        for (int m = 0; m < j.cols; ++m) {
                            const std::int64_t y = convolution::source(r + i - j.above, image.rows(), j.border);
                            const std::int64_t x = convolution::source(c + m - j.left, image.cols(), j.border);
                            const auto pixel = static_cast<long double>(
                                y < 0 || x < 0 ? j.border_value : static_cast<double>(image(y, x, k, p)));
                            sum += static_cast<long double>(*weight++) * pixel;
                        }
                    result(r, c, k, p) = static_cast<Result>(sum);
                }
}

support supports(const problem&, const parameter_values&) {
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution&) {
    visit_type(filter_types{}, p.image.type, [&]<typename Pixel>() {
        visit_type(type_list<f32, f64>{}, p.table.type, [&]<typename Result>() {
            convolve_all<Pixel, Result>(*p.convolution, {static_cast<const Pixel*>(memory.image), p.image},
                                        {static_cast<Result*>(memory.table), p.table});
        });
    });
}

}  // namespace

constinit const algorithm_record reference_convolve_record{
    .info = {.what = operation::convolve,
             .name = "reference",
             .title = "serial, by the definition, in wide types",
             .paper = "the definition (convolve.hpp)",
             .cost = "N M reads, 1 write per element",
             .where = backend::cpu},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
};

}  // namespace boxsum
