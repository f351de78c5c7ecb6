#include "sat/device_blur.hpp"

#include "api/registry.hpp"
#include "core/validate.hpp"
#include "cuda/filters/window_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "measure/buffer_sets.hpp"
#include "measure/device_race.hpp"
#include "sat/host_tables.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/cuda/sat.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace boxsum::bench {

void measure_blurs(const sat_case& c, const sat_bench_options& options, cuda::stream_ref stream, bench_record& record) {
    const std::int64_t n = c.cols;
    const view_shape image = packed(c.types.input, n, n), table = packed(c.types.table, n + 1, n + 1);
    const buffer_sets sets(image, table, image, stream);  // the results lie where squares would
    const problem p = make_problem(image, table, {}, table_layout::padded);

    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(n * n)), expected(pixels.size()), got(pixels.size());
    BOXSUM_CUDA_TRY(
        cudaMemcpyAsync(pixels.data(), sets.image(0).data, pixels.size(), cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    std::vector<std::uint32_t> sums(static_cast<std::size_t>((n + 1) * (n + 1)));
    sat({{pixels.data(), image}}, {{{sums.data(), table}, table_layout::padded}}, {.algorithm = "reference"});
    blur_by_definition({sums.data(), table}, {expected.data(), image});

    std::vector<table_row> rows;
    std::vector<contestant> contestants;
    const auto row_of = [&](const std::string& algorithm) {
        table_row row;
        row.what = "box-blur";
        row.backend = "cuda";
        row.types = name_of(c.types);
        row.rows = row.cols = n;
        row.algorithm = algorithm;
        return row;
    };
    /// Unless its first result is wrong.
    const auto add = [&](table_row row, const device_launch& blur) {
        BOXSUM_CUDA_TRY(cudaMemsetAsync(sets.squares(0).data, 0xa5, pixels.size(), stream.get()));
        contestant timed = device_contestant(row.algorithm, blur, 32, true, stream);
        timed.run();
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(got.data(), sets.squares(0).data, got.size(), cudaMemcpyDeviceToHost, stream.get()));
        stream.synchronize();
        row.check = got == expected ? "equal" : "wrong: differs from the definition";
        row.launched = "graph";
        if (row.wrong()) {
            record.tables.push_back(std::move(row));
            return;
        }
        rows.push_back(std::move(row));
        contestants.push_back(std::move(timed));
    };
    for (const variant& v : c.variants) {
        table_row row = row_of(v.algorithm);
        row.parameters = v.parameters;
        const algorithm_record& algorithm = *find_record(operation::sat, v.algorithm);
        const parameter_values values = parse_parameters(algorithm, v.parameters);
        if (const support s = check_support(algorithm, p, values); !s) {
            row.note = s.reason;
            record.tables.push_back(std::move(row));
            continue;
        }
        const std::size_t bytes = cuda::total_workspace_bytes(algorithm, algorithm.workspace_bytes(p, values));
        const auto workspace = std::make_shared<cuda::device_buffer>(bytes, stream);
        cuda::initialize_workspace_async(workspace->data(), workspace->size(), stream);
        const auto blur = [&algorithm, &sets, p, values, workspace, bytes, n](int i, cuda::stream_ref on) {
            execution how;
            how.parameters = values;
            how.stream = on;
            how.workspace = bytes == 0 ? nullptr : workspace->data();
            how.workspace_bytes = bytes;
            algorithm.enqueue(p, {sets.image(i).data, sets.table(i).data, nullptr}, cuda::behind_header(how));
            cuda::window_task task;
            task.rows = task.cols = filters::window_axis(n, blur_radius, blur_radius, border_mode::shrink);
            task.image = sets.image(i);
            task.table = sets.table(i);
            task.end_row = n;
            cuda::enqueue_means(task, sets.squares(i), on);
        };
        add(std::move(row), blur);
    }
    filter_options window;
    window.window = window_radius(blur_radius);
    const cuda::box_filter_plan plan({sets.image(0)}, {sets.squares(0)}, window);
    const auto workspace = std::make_shared<cuda::workspace>(plan.workspace_bytes(), stream);
    table_row filter = row_of("box_filter");
    filter.note = "the library's filter, without a table";
    add(std::move(filter), [&sets, plan, workspace](int i, cuda::stream_ref on) {
        plan.run_async({sets.image(i)}, {sets.squares(i)}, *workspace, on);
    });
    const std::vector<spread> times = race(contestants, options.rounds, device_stopwatch(stream));
    for (std::size_t i = 0; i < times.size(); ++i) {
        rows[i].us = times[i].median;
        rows[i].low_us = times[i].low;
        rows[i].high_us = times[i].high;
        rows[i].rounds = times[i].samples;
        record.tables.push_back(std::move(rows[i]));
    }
}

}  // namespace boxsum::bench
