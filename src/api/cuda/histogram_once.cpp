#include "api/cuda/histogram_once.hpp"

#include "api/registry.hpp"
#include "core/packed_views.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/histogram_lookup.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/strided_copy.hpp"
#include "cuda/runtime/workspace_use.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace boxsum::cuda {

problem group_of(const problem& all, std::int64_t first_bin, const tensor_shape& tensor) {
    problem p = all;
    p.table = tables_of_first_bin(tensor);
    p.histogram->bins = tensor.bins;
    p.histogram->bin_stride = tensor.bin_stride;
    p.histogram->first_bin = first_bin;
    p.histogram->rule_bins = all.histogram->bins;
    return p;
}

namespace {

/// A view in device memory, as kernels take it: itself, or a copy. Outlives the call's work on the stream.
struct device_copy {
    std::optional<packed_input> host;
    device_buffer memory;
    const_any_view view;

    device_copy(std::string_view argument, const const_any_view& from, int device, stream_ref stream) : view(from) {
        const bool on_host = is_host_memory(from.data);
        if (!on_host) check_device_pointer(argument, from.data, device);
        if (!on_host && is_plain(from.shape)) return;
        const view_shape shape = device_shape(from.shape.type, from.shape.rows, from.shape.cols, 1, from.shape.planes);
        memory = device_buffer(span_bytes(shape), stream);
        view = {memory.data(), shape};
        if (on_host) {
            host.emplace(from, is_plain);
            copy_async(host->view(), {memory.data(), shape}, stream);
        } else {
            enqueue_copy_strided(from.shape, from.data, strides_of(from.shape), memory.data(), strides_of(shape),
                                 stream);
        }
    }
};

/// One call: everything but the tensor.
struct one_call {
    const problem& p;  ///< as the caller's views are
    const choice& chosen;
    histogram_inputs inputs;  ///< on the device
    const void* lookup;
    stream_ref stream;

    /// Enqueues bins first_bin .. of a tensor in device memory, behind a workspace of the stream's order.
    void run(std::int64_t first_bin, const any_tensor_view& tensor) const {
        problem part = group_of(p, first_bin, tensor.shape);
        part.image = inputs.image.shape;
        if (part.histogram->weights) part.histogram->weights = inputs.weights.shape;
        if (const support s = check_support(*chosen.record, part, chosen.parameters); !s)
            throw unsupported("algorithm '" + std::string(chosen.record->info.name) + "' cannot compute bins " +
                              std::to_string(first_bin) + " to " + std::to_string(first_bin + tensor.shape.bins - 1) +
                              " of " + std::to_string(p.histogram->bins) + " alone: " + s.reason);
        const device_buffer workspace(chosen.record->workspace_bytes(part, chosen.parameters), stream);
        execution how;
        how.parameters = chosen.parameters;
        how.stream = stream;
        how.workspace = workspace.data();
        how.workspace_bytes = workspace.size();
        buffers memory;
        memory.image = inputs.image.data;
        memory.table = tensor.data;
        memory.weights = inputs.weights.data;
        memory.lookup = static_cast<const std::uint16_t*>(lookup);
        chosen.record->enqueue(part, memory, how);
    }
};

/// Bins first .. first + count - 1 of a tensor.
any_tensor_view bins_of(const any_tensor_view& tensor, std::int64_t first, std::int64_t count) {
    any_tensor_view part = tensor;
    if (first > 0) part.data = static_cast<std::byte*>(tensor.data) + first * tensor.shape.bin_stride;
    part.shape.bins = count;
    return part;
}

void copy_tables(const any_tensor_view& from, const any_tensor_view& to, stream_ref stream) {
    for (std::int64_t plane = 0; plane < from.shape.planes; ++plane)
        for (std::int64_t bin = 0; bin < from.shape.bins; ++bin) {
            const auto table = [&](const any_tensor_view& t) {
                view_shape s = tables_of_first_bin(t.shape);
                s.planes = 1;
                return any_view{static_cast<std::byte*>(t.data) + (plane > 0 ? plane * t.shape.plane_stride : 0) +
                                    (bin > 0 ? bin * t.shape.bin_stride : 0),
                                s};
            };
            copy_async(table(from), table(to), stream);
        }
}

/// Groups of bins through device memory to a tensor on the host. Copying takes fifty times as long as computing, so
/// nothing is gained by doing both at once.
void run_in_groups(const one_call& call, const any_tensor_view& tensor, std::int64_t most_bins, int device) {
    const tensor_shape& s = tensor.shape;
    const auto group = [&](std::int64_t bins) {
        return device_histogram_shape(s.type, bins, s.rows, s.cols, {}, s.planes).entries;
    };
    const auto bytes_of = [](const tensor_shape& g) { return static_cast<std::size_t>(g.planes * g.plane_stride); };
    const std::size_t room = describe_device(device).free_bytes / 4 * 3;  // a workspace is some per cent of a tensor
    const auto fitting = static_cast<std::int64_t>(room / bytes_of(group(1)));
    std::int64_t bins = std::clamp<std::int64_t>(std::min(most_bins, fitting), 1, s.bins);
    device_buffer memory;
    while (memory.size() == 0) try {
            memory = device_buffer(bytes_of(group(bins)), call.stream);
        } catch (const out_of_memory&) {
            if (bins == 1) throw;
            bins = (bins + 1) / 2;
        }
    for (std::int64_t first = 0; first < s.bins; first += bins) {
        const any_tensor_view part{memory.data(), group(std::min(bins, s.bins - first))};
        call.run(first, part);
        copy_tables(part, bins_of(tensor, first, part.shape.bins), call.stream);
    }
}

}  // namespace

void integral_histogram_in_groups(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                                  stream_ref stream, const histogram_options& options, std::int64_t most_bins) {
    const problem p = make_histogram_problem(inputs, bins, outputs);
    const int device = device_of(stream);
    const device_scope scope(device);
    const choice chosen = choose(p, backend::cuda, options.algorithm, options.parameters);
    const device_copy image("image", inputs.image, device, stream);
    std::optional<device_copy> weights;
    if (is_set(inputs.weights)) weights.emplace("weights", inputs.weights, device, stream);
    const device_buffer lookup = upload_lookup(bins);
    const one_call call{p, chosen, {image.view, weights ? weights->view : const_any_view{}}, lookup.data(), stream};
    const any_tensor_view& tensor = outputs.histograms.entries;
    if (is_host_memory(tensor.data)) {
        run_in_groups(call, tensor, most_bins, device);
    } else {
        check_device_pointer("histograms", tensor.data, device);
        call.run(0, tensor);
    }
    stream.synchronize();
}

void integral_histogram(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                        stream_ref stream, const histogram_options& options) {
    integral_histogram_in_groups(inputs, bins, outputs, stream, options, binning::max_bins);
}

}  // namespace boxsum::cuda
