#include "cpu/filters/row_job.hpp"

namespace boxsum::filters {

row_job::row_job(const window_job& windows, const filter_inputs& inputs)
    : window_job(windows),
      image(inputs.image),
      mask(masked ? inputs.mask : const_any_view{}),
      weights(weighted ? inputs.weights : const_any_view{}),
      kernels(&rows_of_this_machine()) {
    threads = used_threads(threads, shape.planes * result_rows() * n());
}

void for_each_band(const row_job& job, const std::function<void(const band&, int thread)>& work) {
    for_each_band(job.shape.planes, job.result_rows(), job.threads, [&](const band& b, int thread) {
        work({b.plane, b.first + job.first_row, b.end + job.first_row}, thread);
    });
}

}  // namespace boxsum::filters
