#include "api/registry.hpp"
#include "convolve/problem.hpp"
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
    (void)checked_reach("result", outputs.result.shape, access::write);
    const auto packed = [](const view_shape& s) {
        return is_plain(s) ? s : packed_shape(s.type, s.planes, s.rows, s.cols, s.channels);
    };
    const convolution::job job =
        convolution::make_job(packed(inputs.image.shape), inputs.kernel, packed(outputs.result.shape), options);
    filters::check_results({{"image", inputs.image}, {"kernel", inputs.kernel}}, {{"result", outputs.result}});
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    const convolution::job packed_job = with_shapes(job, image.view().shape, result.view().shape);
    const problem p = convolution::as_problem(packed_job);
    buffers memory;
    memory.image = image.view().data;
    memory.table = result.view().data;
    execution how;
    how.threads = options.threads;
    choose(p, backend::cpu, options.algorithm, {}).record->enqueue(p, memory, how);
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

support supports(const algorithm_info& algorithm, const view_shape& image, const image_view<const double>& kernel,
                 dtype result, const convolve_options& options) {
    if (algorithm.what != operation::convolve) return {false, "it does not convolve"};
    const algorithm_record* record = find_record(algorithm.what, algorithm.name);
    if (record == nullptr) return {false, "it is not registered"};
    checked_reach("image", image, access::read);
    try {
        const auto plain = [&](dtype type) {
            return packed_shape(type, image.planes, image.rows, image.cols, image.channels);
        };
        const convolution::job job = convolution::make_job(plain(image.type), kernel, plain(result), options);
        return check_support(*record, convolution::as_problem(job), {});
    } catch (const unsupported& e) {  // types that no convolution has are an answer here, not a mistake
        return {false, e.what()};
    }
}

}  // namespace boxsum
