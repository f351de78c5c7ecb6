#include "cpu/convolve/convolve.hpp"

#include "convolve/job.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/convolve.hpp>
#include <boxsum/error.hpp>

namespace boxsum {

namespace {

convolution::job with_shapes(convolution::job job, const view_shape& image, const view_shape& result) {
    job.image = image;
    job.result = result;
    return job;
}

}  // namespace

void convolve(const convolve_inputs& inputs, const convolve_outputs& outputs, const convolve_options& options) try {
    (void)check_read("image", inputs.image);
    if (options.algorithm != "auto")
        throw unsupported("algorithm: is '" + options.algorithm + "'; on the CPU there is only auto");
    (void)checked_reach("result", outputs.result.shape, access::write);
    const auto packed = [](const view_shape& s) {
        return is_plain(s) ? s : packed_shape(s.type, s.planes, s.rows, s.cols, s.channels);
    };
    const convolution::job job =
        convolution::make_job(packed(inputs.image.shape), inputs.kernel, packed(outputs.result.shape), options);
    filters::check_results({{"image", inputs.image}, {"kernel", inputs.kernel}}, {{"result", outputs.result}});
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    convolution::run(with_shapes(job, image.view().shape, result.view().shape), image.view().data, result.view().data,
                     options.threads);
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
