#include "cpu/filters/row_job.hpp"

#include "cpu/host.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace boxsum::filters {

row_job::row_job(const window_job& windows, const filter_inputs& inputs)
    : window_job(windows),
      image_type(windows.shape.type),
      widened(inputs.image, computed_as(image_type),
              used_threads(windows.threads, windows.shape.planes * windows.shape.rows * windows.n())),
      image(widened.view()),
      mask(masked ? inputs.mask : const_any_view{}),
      weights(weighted ? inputs.weights : const_any_view{}),
      kernels(&rows_of_this_machine()) {
    shape.type = image.shape.type;
    threads = used_threads(threads, shape.planes * result_rows() * n());
}

bool row_job::streams(std::int64_t result_bytes) const {
    const std::int64_t image_bytes = image.shape.rows * static_cast<std::int64_t>(size_of(shape.type));
    const std::int64_t bytes = shape.planes * n() * (image_bytes + result_rows() * result_bytes);
    return cpu::choose_store(bytes, threads, store_policy::automatic) == store_policy::streaming;
}

void fetch_lines(const void* from, std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(static_cast<const u8*>(from) + i, 0, 2);
}

void for_each_band(const row_job& job, band_work work) {
    for_each_band(job.shape.planes, job.result_rows(), job.threads, [&](const band& b, int thread) {
        work({b.plane, b.first + job.first_row, b.end + job.first_row}, thread);
#if defined(__x86_64__)
        _mm_sfence();  // behind numbers that left past the caches, before others may read them
#endif
    });
}

}  // namespace boxsum::filters
