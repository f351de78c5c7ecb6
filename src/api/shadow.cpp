#include "api/summed_entries.hpp"
#include "core/exhausted_memory.hpp"
#include "core/shadow_job.hpp"
#include "core/shadow_terms.hpp"
#include "core/table_types.hpp"
#include "cpu/host.hpp"
#include "cpu/team.hpp"

#include <boxsum/shadow.hpp>

#include <algorithm>
#include <cstdint>

namespace boxsum {
namespace {

using sum_function = double (*)(const const_any_table_view&, const weighted_side&, const weighted_side&);

sum_function sum_function_of(dtype type) {
    sum_function found = nullptr;
    visit_type(table_types{}, type, [&]<typename T>() {
        found = [](const const_any_table_view& table, const weighted_side& rows, const weighted_side& cols) {
            return weighted_sum<T>(summed_entries<T>(table), rows, cols);
        };
    });
    return found;
}

double real_at(const const_any_view& view, std::int64_t r, std::int64_t c, int k) {
    const auto* const at = static_cast<const std::byte*>(view.data) + r * view.shape.row_stride +
                           c * view.shape.pixel_stride() + k * static_cast<std::int64_t>(size_of(view.shape.type));
    return view.shape.type == dtype::f32 ? static_cast<double>(*reinterpret_cast<const float*>(at))
                                         : *reinterpret_cast<const double*>(at);
}

struct shadows {
    const shadow_inputs& inputs;
    const any_view& out;
    const shadow_options& options;
    shadow_job job;
    sum_function sums, squares;

    double visibility(std::int64_t r, std::int64_t c) const {
        const const_any_view& box = inputs.rectangle;
        const weighted_side vertical = shadow_side(real_at(box, r, c, 0), real_at(box, r, c, 2), job.rows),
                            horizontal = shadow_side(real_at(box, r, c, 1), real_at(box, r, c, 3), job.cols);
        const double area = vertical.length * horizontal.length;
        if (!(area > 0)) return 1;
        return lit_part(sums(inputs.moments.sums, vertical, horizontal) / area,
                        squares(inputs.moments.squares, vertical, horizontal) / area,
                        real_at(inputs.receiver, r, c, 0) - job.offset, options.min_variance, options.bleeding);
    }

    void row(std::int64_t r) const {
        auto* const to = static_cast<std::byte*>(out.data) + r * out.shape.row_stride;
        for (std::int64_t c = 0; c < out.shape.cols; ++c) {
            const double v = visibility(r, c);
            if (out.shape.type == dtype::f32)
                *reinterpret_cast<float*>(to + c * out.shape.pixel_stride()) = static_cast<float>(v);
            else
                *reinterpret_cast<double*>(to + c * out.shape.pixel_stride()) = v;
        }
    }
};

}  // namespace

void variance_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, const shadow_options& options) try {
    const shadow_job job = checked_shadows(inputs, outputs, options);
    const view_shape& receiver = inputs.receiver.shape;
    shadows all{inputs,
                outputs.visibility,
                options,
                job,
                sum_function_of(inputs.moments.sums.entries.shape.type),
                sum_function_of(inputs.moments.squares.entries.shape.type)};
    const int threads = static_cast<int>(std::min<std::int64_t>(
        cpu::choose_threads(receiver.rows * receiver.cols * 256, options.threads), receiver.rows));
    cpu::run_team(
        threads,
        [](void* context, int thread, int team) {
            const shadows& one = *static_cast<const shadows*>(context);
            const std::int64_t rows = one.out.shape.rows;
            for (std::int64_t r = rows * thread / team; r < rows * (thread + 1) / team; ++r) one.row(r);
        },
        &all);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
