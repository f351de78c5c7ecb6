#include "cpu/filters/byte_windows.hpp"
#include "cpu/filters/filters.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/write_row.hpp"

namespace boxsum::filters {

void local_contrast(const row_job& job, double epsilon, const filter_outputs& outputs) {
    if (job.sampled()) return sampled_contrast(job, epsilon, outputs);
    write_counts(job, outputs.count);
    const any_view& result = outputs.result;
    if (has_byte_windows(job, true))
        return for_each_band(job, [&](const band& b, int) {
            for_each_byte_row(job, b, true, [&](const byte_window_rows& rows, std::int64_t row) {
                job.kernels->byte.contrast(job.row_to<f32>(result, row, b.plane), job.pixels<u8>(row, b.plane),
                                           rows.sums(), rows.spreads(), rows.counts(), epsilon, job.n());
            });
        });
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        const auto& kernels = std::get<pixel_kernels<Pixel>>(job.kernels->pixel);
        for_each_band(job, [&](const band& b, int) {
            deviations<Pixel>(
                job, b,
                [&](std::int64_t row, std::int64_t first, std::int64_t n, const f64* mean, const f64* deviation) {
                    kernels.contrast(job.row_to<f32>(result, row, b.plane) + first,
                                     job.pixels<Pixel>(row, b.plane) + first, mean, deviation, epsilon, n);
                });
        });
    });
}

}  // namespace boxsum::filters
