#include "api/cuda/histogram_once.hpp"

#include "api/registry.hpp"
#include "core/packed_views.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/column_carries.hpp"
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
#include <type_traits>

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

    device_copy(std::string_view argument, const const_any_view& from, int device, stream_ref stream,
                const allocator& pool)
        : view(from) {
        const bool on_host = is_host_memory(from.data);
        if (!on_host) check_device_pointer(argument, from.data, device);
        if (!on_host && is_plain(from.shape)) return;
        const view_shape shape = device_shape(from.shape.type, from.shape.rows, from.shape.cols, 1, from.shape.planes);
        memory = device_buffer(span_bytes(shape), stream, pool);
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
    const part_limits& limits;

    /// Enqueues bins first_bin .. of a tensor in device memory, behind a workspace of the stream's order.
    void run(std::int64_t first_bin, const any_tensor_view& tensor) const {
        problem part = group_of(p, first_bin, tensor.shape);
        part.image = inputs.image.shape;
        if (part.histogram->weights) part.histogram->weights = inputs.weights.shape;
        if (const support s = check_support(*chosen.record, part, chosen.parameters); !s)
            throw unsupported("algorithm '" + std::string(chosen.record->info.name) + "' cannot compute bins " +
                              std::to_string(first_bin) + " to " + std::to_string(first_bin + tensor.shape.bins - 1) +
                              " of " + std::to_string(p.histogram->bins) + " alone: " + s.reason);
        const device_buffer workspace(chosen.record->workspace_bytes(part, chosen.parameters), stream, limits.memory);
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

std::size_t bytes_of(const tensor_shape& s) {
    return static_cast<std::size_t>(s.planes * s.plane_stride);
}

/// Groups of bins through device memory to a tensor on the host. Copying takes fifty times as long as computing, so
/// nothing is gained by doing both at once.
void run_in_groups(const one_call& call, const any_tensor_view& tensor, std::size_t room) {
    const tensor_shape& s = tensor.shape;
    const auto group = [&](std::int64_t bins) {
        return device_histogram_shape(s.type, bins, s.rows, s.cols, {}, s.planes).entries;
    };
    const auto fitting = static_cast<std::int64_t>(room / bytes_of(group(1)));
    std::int64_t bins = std::clamp<std::int64_t>(std::min(call.limits.bins, fitting), 1, s.bins);
    device_buffer memory;
    while (memory.size() == 0) try {
            memory = device_buffer(bytes_of(group(bins)), call.stream, call.limits.memory);
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

/// Columns first .. first + count - 1.
template <typename View>
View columns_of(View view, std::int64_t first, std::int64_t count) {
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    std::int64_t step = static_cast<std::int64_t>(size_of(view.shape.type));
    if constexpr (std::is_same_v<View, const_any_view>) step = view.shape.pixel_stride();
    if (first > 0) view.data = static_cast<byte*>(view.data) + first * step;
    view.shape.cols = count;
    return view;
}

/// One call for a tensor on the host of which not even one bin fits the device.
struct striped_call {
    const problem& p;
    const choice& chosen;
    const histogram_inputs& inputs;
    const void* lookup;
    stream_ref stream;
    int device;
    const part_limits& limits;

    /// Strips of columns, each with its part of the image, from the left to the right (Poostchi et al. 2017, section
    /// 3.1), and a bin at a time. What a strip's tables lack is what is to their left, a value for every row and bin,
    /// which stays on the device. Strips of padded tables share a column, the zeros of one and the last sums of the
    /// other.
    void run(const any_tensor_view& tensor, std::size_t room) const {
        const tensor_shape& s = tensor.shape;
        const std::int64_t border = p.form.border(), plane_entries = s.bins * s.rows,
                           entry = static_cast<std::int64_t>(size_of(s.type));
        const device_buffer carries(static_cast<std::size_t>(s.planes * plane_entries * entry), stream, limits.memory);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(carries.data(), 0, carries.size(), stream.get()));
        const std::int64_t width = widest(s, room > carries.size() ? room - carries.size() : 0);
        const device_buffer memory(bytes_of(table_of(s, width)), stream, limits.memory);
        for (std::int64_t first = 0, end = 0; end < s.cols; first = end - border) {
            end = std::min(first + width, s.cols);
            const std::int64_t pixels = p.form.image_extent(end - first);
            const device_copy image("image", columns_of(inputs.image, first, pixels), device, stream, limits.memory);
            std::optional<device_copy> weights;
            if (is_set(inputs.weights))
                weights.emplace("weights", columns_of(inputs.weights, first, pixels), device, stream, limits.memory);
            const one_call call{p,      chosen, {image.view, weights ? weights->view : const_any_view{}},
                                lookup, stream, limits};
            const any_tensor_view part{memory.data(), table_of(s, end - first)};
            for (std::int64_t bin = 0; bin < s.bins; ++bin) {
                call.run(bin, part);
                enqueue_column_carries(part, static_cast<std::byte*>(carries.data()) + bin * s.rows * entry,
                                       plane_entries, stream);
                copy_tables(part, columns_of(bins_of(tensor, bin, 1), first, end - first), stream);
            }
            stream.synchronize();  // before the strip of the image goes
        }
    }

  private:
    static tensor_shape table_of(const tensor_shape& s, std::int64_t cols) {
        return device_histogram_shape(s.type, 1, s.rows, cols, {}, s.planes).entries;
    }

    /// Of strips that fit; rows start on 256 bytes, so they have whole ones. At least one such.
    std::int64_t widest(const tensor_shape& s, std::size_t room) const {
        const auto step = static_cast<std::int64_t>(256 / size_of(s.type));
        const auto bytes = [&](std::int64_t cols) {
            const auto strip_of = [&](const view_shape& v) {
                return device_shape(v.type, v.rows, p.form.image_extent(cols), 1, v.planes);
            };
            problem part = group_of(p, 0, table_of(s, cols));
            part.image = strip_of(p.image);
            std::size_t all = bytes_of(table_of(s, cols)) + span_bytes(part.image);
            if (part.histogram->weights) {
                part.histogram->weights = strip_of(*p.histogram->weights);
                all += span_bytes(*part.histogram->weights);
            }
            return all + chosen.record->workspace_bytes(part, chosen.parameters);
        };
        std::int64_t fits = 1, too_many = s.cols / step + 2;
        while (too_many - fits > 1) {
            const std::int64_t steps = fits + (too_many - fits) / 2;
            (bytes(std::min(steps * step, s.cols)) <= room ? fits : too_many) = steps;
        }
        return std::min(fits * step, s.cols);
    }
};

}  // namespace

void integral_histogram_in_parts(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                                 stream_ref stream, const histogram_options& options, const part_limits& limits) {
    check_threads(options.threads);
    const problem p = make_histogram_problem(inputs, bins, outputs);
    const int device = device_of(stream);
    const device_scope scope(device);
    const choice chosen = choose(p, backend::cuda, options.algorithm, options.parameters);
    const any_tensor_view& tensor = outputs.histograms.entries;
    const tensor_shape& s = tensor.shape;
    const bool on_host = is_host_memory(tensor.data);
    const device_buffer lookup = upload_lookup(bins);
    const auto copied = [&](const const_any_view& v) {
        return is_set(v) && is_host_memory(v.data)
                   ? span_bytes(device_shape(v.shape.type, v.shape.rows, v.shape.cols, 1, v.shape.planes))
                   : 0;
    };
    const std::size_t available = std::min(describe_device(device).free_bytes, limits.bytes),
                      copies = copied(inputs.image) + copied(inputs.weights),
                      one_bin = bytes_of(device_histogram_shape(s.type, 1, s.rows, s.cols, {}, s.planes).entries),
                      room = available > copies ? (available - copies) / 4 * 3 : 0;  // a workspace is some per cent
    if (on_host && one_bin > room)
        return striped_call{p, chosen, inputs, lookup.data(), stream, device, limits}.run(tensor, available / 16 * 15);
    const device_copy image("image", inputs.image, device, stream, limits.memory);
    std::optional<device_copy> weights;
    if (is_set(inputs.weights)) weights.emplace("weights", inputs.weights, device, stream, limits.memory);
    const one_call call{p,      chosen, {image.view, weights ? weights->view : const_any_view{}}, lookup.data(),
                        stream, limits};
    if (on_host) {
        run_in_groups(call, tensor, room);
    } else {
        check_device_pointer("histograms", tensor.data, device);
        call.run(0, tensor);
    }
    stream.synchronize();
}

void integral_histogram(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                        stream_ref stream, const histogram_options& options) {
    integral_histogram_in_parts(inputs, bins, outputs, stream, options, {});
}

}  // namespace boxsum::cuda
