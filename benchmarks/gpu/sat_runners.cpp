#include "sat_runners.hpp"

#include "competitors/device_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "support/device_oracle.hpp"

#include <cuda_runtime_api.h>

namespace boxsum::bench {
namespace {

constexpr int repetitions = 15;

sat_options options_for(std::string_view algorithm) {
    sat_options options;
    options.algorithm = algorithm;
    return options;
}

/// Of launch number i.
sat_outputs outputs_of(const buffer_sets& sets, const table_form& form, int i) {
    sat_outputs out{{sets.table(i), form}};
    if (sets.has_squares()) out.squares = {sets.squares(i), form};
    return out;
}

}  // namespace

std::vector<double> times_of(const std::vector<runner>& runners, int launches, bool graph, cuda::stream_ref stream) {
    std::vector<contestant> contestants;
    for (const runner& r : runners) contestants.push_back(device_contestant(r.name, r.launch, launches, graph, stream));
    std::vector<double> medians;
    for (const spread& s : race(contestants, repetitions, device_stopwatch(stream))) medians.push_back(s.median);
    return medians;
}

planned_table::planned_table(const buffer_sets& sets, const table_form& form, std::string_view algorithm,
                             cuda::stream_ref stream)
    : sets_(sets),
      form_(form),
      plan_({sets.image(0)}, outputs_of(sets, form, 0), options_for(algorithm)),
      workspace_(plan_.workspace_bytes(), stream) {}

void planned_table::run(int i, cuda::stream_ref stream) const {
    plan_.run_async({sets_.image(i)}, outputs_of(sets_, form_, i), workspace_, stream);
}

runner planned_table::as_runner() const {
    return {std::string(plan_.algorithm().name), [this](int i, cuda::stream_ref stream) { run(i, stream); }};
}

std::string planned_table::verdict(cuda::stream_ref stream) const {
    run(0, stream);
    const std::string sums = verdict_on(sets_.image(0), sets_.table(0), form_, stream);
    if (sums != "equal" || !sets_.has_squares()) return sums;
    return verdict_on(sets_.image(0), sets_.squares(0), form_, stream, true);
}

std::string verdict_on(const const_any_view& image, const const_any_view& table, const table_form& form,
                       cuda::stream_ref stream, bool squares) {
    const view_shape& s = image.shape;
    test::device_oracle oracle(s.planes * s.rows * s.cols * s.channels, stream);
    oracle.sum(image, squares, stream);
    oracle.compare(table, form, stream);
    const std::string wrong = oracle.result(stream);
    return wrong.empty() ? "equal" : "WRONG: " + wrong;
}

std::vector<runner> streaming_kernels(const buffer_sets& sets) {
    const view_shape image = sets.image(0).shape;
    const dtype sum = sets.table(0).shape.type;
    const std::int64_t elements = image.planes * image.rows * image.cols * image.channels;
    std::vector<runner> all;
    for (int variant = 0; variant < streaming_variants; ++variant)
        all.push_back({"streaming " + std::to_string(variant), [=, &sets](int i, cuda::stream_ref stream) {
                           if (sets.has_squares())
                               streaming_convert_twice(sets.image(i).data, sets.table(i).data, sets.squares(i).data,
                                                       elements, variant, stream);
                           else
                               streaming_convert(image.type, sum, sets.image(i).data, sets.table(i).data, elements,
                                                 variant, stream);
                       }});
    return all;
}

std::vector<runner> references(const buffer_sets& sets) {
    std::vector<runner> all = streaming_kernels(sets);
    const view_shape image = sets.image(0).shape;
    if (image.type != sets.table(0).shape.type) return all;
    const std::size_t bytes = cuda::span_bytes(image);
    all.insert(all.begin(), {"memcpy", [=, &sets](int i, cuda::stream_ref stream) {
                                 BOXSUM_CUDA_TRY(cudaMemcpyAsync(sets.table(i).data, sets.image(i).data, bytes,
                                                                 cudaMemcpyDeviceToDevice, stream.get()));
                             }});
    return all;
}

reference_time best_reference(type_pair types, const std::vector<runner>& runners, const std::vector<double>& us,
                              std::size_t first) {
    std::size_t best = first;
    if (types != type_pair{dtype::f32, dtype::f32})
        for (std::size_t i = first; i < us.size(); ++i)
            if (us[i] < us[best]) best = i;
    return {runners[best].name, us[best]};
}

}  // namespace boxsum::bench
