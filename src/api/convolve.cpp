#include "cpu/convolve/convolve.hpp"

#include "convolve/job.hpp"
#include "core/exhausted_memory.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/convolve.hpp>

namespace boxsum {

void convolve(const convolve_inputs& inputs, const filter_outputs& outputs, const convolve_options& options) try {
    (void)check_view("image", inputs.image);
    convolution::check_outputs(outputs);
    const convolution::job job =
        convolution::make_job(inputs.image.shape, inputs.kernel, outputs.result.shape, options);
    filters::check_results({{"image", inputs.image}, {"kernel", inputs.kernel}}, {{"result", outputs.result}});
    convolution::run(job, inputs.image.data, outputs.result.data, options.threads);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
