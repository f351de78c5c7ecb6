#include "cpu/filters/row_job.hpp"

namespace boxsum::filters {

row_job::row_job(const window_job& job) : window_job(job), kernels(&rows_of_this_machine()) {
    const view_shape& s = image.shape;
    threads = used_threads(threads, s.planes * s.rows * s.cols * s.channels);
}

void for_each_band(const row_job& job, const std::function<void(const band&, int thread)>& work) {
    for_each_band(job.image.shape.planes, job.image.shape.rows, job.threads, work);
}

}  // namespace boxsum::filters
