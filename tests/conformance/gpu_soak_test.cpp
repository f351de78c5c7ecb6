// What takes too long, or too much memory, for every run: random shapes by the thousand, more than 2^32 elements,
// repetitions under load, a kernel that holds most of the GPU. BOXSUM_SOAK scales the counts: 1 is the full amount.

#include "core/visit_types.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"
#include "support/competing_kernel.hpp"
#include "support/device_oracle.hpp"
#include "support/gpu.hpp"
#include "support/gpu_case.hpp"

#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace boxsum {
namespace {

constexpr int poison = 0xa5;

double soak_scale() {
    const char* const text = std::getenv("BOXSUM_SOAK");
    return text == nullptr ? 1.0 : std::atof(text);
}

/// The production kernels support everything and get the full counts; the exhibits of papers get less.
bool is_production(const algorithm_record& record) {
    return record.info.paper == "boxsum";
}

class soak : public test::gpu_stream_test {};

// ---- the oracle itself ----------------------------------------------------------------------------------------------

TEST_F(soak, the_device_oracle_agrees_with_the_definition) {
    test::device_oracle oracle(1 << 20, stream());
    std::int64_t checked = 0;
    for (const type_pair types : type_pairs())
        for (conformance_case c : conformance_cases(types.input, types.table, {}, effort::quick)) {
            if (c.in_place) continue;
            const problem p = problem_of(c);
            const std::int64_t elements = p.image.planes * p.image.rows * p.image.cols * p.image.channels;
            if (elements > 1 << 20) continue;
            const cuda::device_buffer image(cuda::span_bytes(p.image), stream());
            const cuda::device_buffer table(cuda::span_bytes(p.table), stream());
            test::fill_exact({image.data(), p.image}, test::exact_magnitude(c.table, elements, false), c.seed,
                             stream());
            std::vector<std::byte> host_image(image.size()), host_table(table.size());
            BOXSUM_CUDA_TRY(
                cudaMemcpyAsync(host_image.data(), image.data(), image.size(), cudaMemcpyDeviceToHost, stream().get()));
            stream().synchronize();
            find_record(operation::sat, "reference")->enqueue(p, {host_image.data(), host_table.data(), nullptr}, {});
            BOXSUM_CUDA_TRY(
                cudaMemcpyAsync(table.data(), host_table.data(), table.size(), cudaMemcpyHostToDevice, stream().get()));
            oracle.sum({image.data(), p.image}, false, stream());
            oracle.compare({table.data(), p.table}, p.form.layout, stream());
            ASSERT_EQ(oracle.result(stream()), "") << describe(c);
            // And it can fail: one bit of the last entry is turned.
            const std::size_t last = table.size() - size_of(c.table);
            host_table[last] ^= std::byte{1};
            BOXSUM_CUDA_TRY(
                cudaMemcpyAsync(table.data(), host_table.data(), table.size(), cudaMemcpyHostToDevice, stream().get()));
            oracle.compare({table.data(), p.table}, p.form.layout, stream());
            ASSERT_NE(oracle.result(stream()), "") << describe(c);
            ++checked;
        }
    EXPECT_GT(checked, 100);
}

// ---- random shapes --------------------------------------------------------------------------------------------------

class random_cases {
  public:
    explicit random_cases(std::uint64_t seed) : random_(seed) {}

    /// Any types, layout, extents, channels, planes, gaps and offsets; at most `most` elements, and with `large` at
    /// least an eighth of them: images that the production algorithm computes with other kernels, also where rows are
    /// long, or planes many.
    conformance_case next(std::int64_t most, bool large) {
        conformance_case c;
        if (between(0, 3) == 0) {
            const squares_triple t = squares_triples()[between(0, squares_triples().size() - 1)];
            c.input = t.input;
            c.table = t.table;
            c.squares = t.squares;
        } else {
            const type_pair t = type_pairs()[between(0, type_pairs().size() - 1)];
            c.input = t.input;
            c.table = t.table;
        }
        c.layout = static_cast<table_layout>(between(0, 2));
        c.channels = between(0, 2) == 0 ? static_cast<std::int64_t>(between(2, 4)) : 1;
        c.planes = between(0, 3) == 0 ? static_cast<std::int64_t>(between(2, large ? 3 : 40)) : 1;
        const std::uint64_t kind = large ? between(0, 3) : 0;
        const bool long_rows = kind == 1, many_planes = kind == 2;
        if (long_rows) c.channels = c.planes = 1;
        if (many_planes) c.planes = static_cast<std::int64_t>(between(300, 1200));
        std::int64_t elements = 0;
        do {
            c.rows = long_rows     ? extent(500, 900)
                     : many_planes ? extent(400, 750)
                     : large       ? extent(900, 1300)
                                   : extent(0, 1200);
            c.cols = long_rows     ? extent(1300, 1500)
                     : many_planes ? extent(400, 750)
                     : large       ? extent(900, 1300)
                                   : extent(0, 1200);
            elements = c.rows * c.cols * c.channels * c.planes;
        } while (elements > most || (large && elements < most / 8));
        c.image_gap = gap();
        c.table_gap = gap();
        c.plane_gap = static_cast<std::int64_t>(between(0, 1));
        c.image_offset = offset();
        c.table_offset = offset();
        c.in_place = c.layout == table_layout::inclusive && !c.squares && size_of(c.input) == size_of(c.table) &&
                     between(0, 3) == 0;
        c.seed = random_();
        return c;
    }

  private:
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }

    /// Log-uniform between powers of two (in hundredths), often next to a multiple of a tile.
    std::int64_t extent(std::uint64_t low, std::uint64_t high) {
        auto n = static_cast<std::int64_t>(std::exp2(static_cast<double>(between(low, high)) / 100.0));
        if (between(0, 1) == 0) {
            const std::int64_t tile = std::int64_t{1} << between(4, 8);
            n = std::max<std::int64_t>(1, n / tile * tile + static_cast<std::int64_t>(between(0, 2)) - 1);
        }
        return n;
    }
    std::int64_t gap() { return between(0, 2) == 0 ? -1 : static_cast<std::int64_t>(between(0, 20)); }
    std::int64_t offset() { return between(0, 1) == 0 ? 0 : static_cast<std::int64_t>(between(0, 16)); }

    std::mt19937_64 random_;
};

constexpr std::int64_t most_elements = 1 << 20, most_large_elements = 1 << 23;
constexpr std::size_t block_bytes = std::size_t{256} << 20;

/// A part of the random shapes of a record, so that several processes share them.
struct slice {
    const algorithm_record* record;
    int number, of;
};

class random_shapes : public soak, public testing::WithParamInterface<slice> {};

TEST_P(random_shapes, agree_with_the_device_oracle) {
    const cuda::device_buffer image_block(block_bytes, stream()), table_block(block_bytes, stream()),
        squares_block(block_bytes, stream());
    const cuda::device_buffer workspace(std::size_t{256} << 20, stream());
    BOXSUM_CUDA_TRY(cudaMemsetAsync(workspace.data(), poison, workspace.size(), stream().get()));
    cuda::initialize_workspace_async(workspace.data(), workspace.size(), stream());
    test::device_oracle sums(most_large_elements, stream()), squares(most_large_elements, stream());

    const auto [record, number, of] = GetParam();
    const bool production = is_production(*record);
    const auto wanted = static_cast<int>(soak_scale() * (production ? 20000 : 1000) / of);
    random_cases cases((production ? 2026u : 1121u) + 10000u * static_cast<unsigned>(number));
    int checked = 0, refused = 0;
    while (checked < wanted && refused < 20 * wanted) {
        const bool large = production && (checked + refused) % 20 == 19;
        const conformance_case c = cases.next(large ? most_large_elements : most_elements, large);
        const problem p = problem_of(c);
        if (!check_support(*record, p, {})) {
            ++refused;
            continue;
        }
        const std::size_t needed = cuda::total_workspace_bytes(*record, record->workspace_bytes(p, {}));
        ASSERT_LE(needed, workspace.size()) << record->info.name << ", " << describe(c);

        // Blocks with poison before, between and behind the rows.
        const auto place = [&](const cuda::device_buffer& block, const view_shape& s, std::int64_t offset) {
            const std::size_t before = 256 + static_cast<std::size_t>(offset) * size_of(s.type);
            const std::size_t bytes = before + cuda::span_bytes(s) + 256;
            EXPECT_LE(bytes, block.size());
            BOXSUM_CUDA_TRY(cudaMemsetAsync(block.data(), poison, bytes, stream().get()));
            return std::pair(any_view{static_cast<std::byte*>(block.data()) + before, s}, bytes);
        };
        const auto [image, image_bytes] = place(image_block, p.image, c.image_offset);
        const std::int64_t elements = c.rows * c.cols * c.channels * c.planes;
        std::int64_t magnitude = test::exact_magnitude(c.table, elements, false);
        if (c.squares) {
            const std::int64_t limit = test::exact_magnitude(*c.squares, elements, true);
            magnitude = magnitude == 0 ? limit : limit == 0 ? magnitude : std::min(magnitude, limit);
        }
        test::fill_exact(image, magnitude, c.seed, stream());
        sums.sum(image, false, stream());
        if (c.squares) squares.sum(image, true, stream());

        any_view table = image, square_table;
        std::size_t table_bytes = image_bytes, squares_bytes = 0;
        if (p.in_place)
            table.shape = p.table;
        else
            std::tie(table, table_bytes) = place(table_block, p.table, c.table_offset);
        if (c.squares) std::tie(square_table, squares_bytes) = place(squares_block, *p.squares, c.table_offset);

        execution how;
        how.stream = stream();
        how.workspace = workspace.data();
        how.workspace_bytes = workspace.size();
        cuda::enqueue_in_workspace(*record, p, {image.data, table.data, square_table.data}, how);

        sums.compare(table, c.layout, stream());
        sums.check_gaps(p.in_place ? image_block.data() : table_block.data(), table_bytes, table, poison, stream());
        if (c.squares) {
            squares.compare(square_table, c.layout, stream());
            squares.check_gaps(squares_block.data(), squares_bytes, square_table, poison, stream());
        }
        const std::string wrong = sums.result(stream());
        ASSERT_EQ(wrong, "") << record->info.name << ", case " << checked << ": " << describe(c);
        if (c.squares) {
            const std::string wrong_squares = squares.result(stream());
            ASSERT_EQ(wrong_squares, "") << record->info.name << ", case " << checked << ": squares, " << describe(c);
        }
        ++checked;
    }
    EXPECT_EQ(checked, wanted) << record->info.name << " supports too few of the random cases";
    std::printf("random shapes: %s %d\n", std::string(record->info.name).c_str(), checked);
}

std::vector<slice> slices() {
    std::vector<slice> all;
    for (const algorithm_record* record : test::cuda_records()) {
        const int of = is_production(*record) ? 10 : 1;
        for (int i = 0; i < of; ++i) all.push_back({record, i, of});
    }
    return all;
}

std::string name_of_slice(const testing::TestParamInfo<slice>& subject) {
    std::string name(subject.param.record->info.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return subject.param.of == 1 ? name : name + '_' + std::to_string(subject.param.number);
}

INSTANTIATE_TEST_SUITE_P(soak, random_shapes, testing::ValuesIn(slices()), name_of_slice);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(random_shapes);

// ---- size -----------------------------------------------------------------------------------------------------------

struct large_shape {
    std::int64_t planes, rows, cols;
    table_layout layout;
};

TEST_F(soak, more_than_2_to_the_32_elements) {
    if (soak_scale() < 1) GTEST_SKIP() << "needs the full amount";
    constexpr std::int64_t two_32 = std::int64_t{1} << 32;
    const large_shape shapes[] = {
        {1, 70000, 70000, table_layout::inclusive},   {1, 66000, 66000, table_layout::padded},
        {1, 1, two_32 + 17, table_layout::inclusive}, {1, (1 << 22) + 5, 1030, table_layout::inclusive},
        {70001, 251, 257, table_layout::inclusive},   {3, 40000, 40000, table_layout::exclusive}};
    for (const large_shape& s : shapes) {
        const view_shape image = cuda::device_shape(dtype::u8, s.rows, s.cols, 1, s.planes);
        const view_shape table = cuda::device_shape(dtype::u32, table_form(s.layout).table_extent(s.rows),
                                                    table_form(s.layout).table_extent(s.cols), 1, s.planes);
        ASSERT_GT(s.planes * s.rows * s.cols, two_32);
        const cuda::device_buffer pixels(cuda::span_bytes(image), stream());
        const cuda::device_buffer entries(cuda::span_bytes(table), stream());
        test::fill_position_coded({pixels.data(), image}, stream());
        for (const algorithm_record* record : test::cuda_records()) {
            // A thread per row takes minutes for the odd shapes.
            if (!is_production(*record) && &s != &shapes[0]) continue;
            sat_options options;
            options.algorithm = record->info.name;
            const std::string what = std::string(record->info.name) + " " + std::to_string(s.planes) + " x " +
                                     std::to_string(s.rows) + " x " + std::to_string(s.cols) + " " +
                                     std::string(name_of(s.layout));
            BOXSUM_CUDA_TRY(cudaMemsetAsync(entries.data(), poison, entries.size(), stream().get()));
            try {
                cuda::sat({{pixels.data(), image}}, {{{entries.data(), table}, s.layout}}, stream(), options);
            } catch (const unsupported& e) {
                // An exhibit may have limits; the production algorithm has none but the device's memory.
                EXPECT_FALSE(is_production(*record)) << what << ": " << e.what();
                std::printf("large: %s refused: %s\n", what.c_str(), e.what());
                continue;
            } catch (const out_of_memory& e) {
                // The production algorithm runs where its working memory exists at all.
                const std::size_t needed =
                    cuda::sat_plan({{pixels.data(), image}}, {{{entries.data(), table}, s.layout}}, options)
                        .workspace_bytes();
                std::size_t free = 0, total = 0;
                BOXSUM_CUDA_TRY(cudaMemGetInfo(&free, &total));
                EXPECT_TRUE(!is_production(*record) || pixels.size() + entries.size() + needed > total)
                    << what << ": " << e.what();
                std::printf("large: %s out of memory: %s\n", what.c_str(), e.what());
                continue;
            }
            ASSERT_EQ(test::compare_position_coded({entries.data(), table}, s.layout, stream()), "") << what;
            std::printf("large: %s ok\n", what.c_str());
        }
    }
}

// ---- repetition -----------------------------------------------------------------------------------------------------

TEST_F(soak, a_thousand_repetitions_have_the_same_bits_while_eight_streams_run) {
    const int repetitions = std::max(20, static_cast<int>(1000 * soak_scale()));
    struct background {
        cuda::stream stream;
        std::optional<test::gpu_case> memory;
        std::optional<cuda::sat_plan> plan;
        cuda::workspace workspace;
    };
    std::vector<background> others(8);
    for (std::size_t i = 0; i < others.size(); ++i) {
        background& b = others[i];
        const auto n = static_cast<std::int64_t>(i);
        b.memory.emplace(test::plain_case(dtype::f32, dtype::f32, 200 + 190 * n, 1700 - 170 * n), b.stream);
        b.plan.emplace(b.memory->shapes(), b.memory->options());
        b.workspace.reserve(b.plan->workspace_bytes(), b.stream);
    }
    const cuda::device_buffer differences(sizeof(unsigned long long), stream());
    for (const algorithm_record* record : test::cuda_records())
        for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::f64, dtype::f64}})
            for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{2049, 3001}, {300, 500}}) {
                const test::gpu_case memory(test::plain_case(types.input, types.table, rows, cols), stream());
                if (!check_support(*record, memory.shape(), {})) continue;
                const cuda::sat_plan plan(memory.shapes(), memory.options(record->info.name));
                cuda::workspace workspace(plan.workspace_bytes(), stream());
                const std::size_t bytes = cuda::span_bytes(memory.shape().table);
                const cuda::device_buffer first(bytes, stream());
                auto* const count = static_cast<unsigned long long*>(differences.data());
                BOXSUM_CUDA_TRY(cudaMemsetAsync(count, 0, sizeof *count, stream().get()));
                memory.run_async(plan, workspace, stream());
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(first.data(), memory.table().data, bytes, cudaMemcpyDeviceToDevice,
                                                stream().get()));
                const int wanted = is_production(*record) ? repetitions : repetitions / 10;
                for (int i = 0; i < wanted; ++i) {
                    for (background& b : others) b.memory->run_async(*b.plan, b.workspace, b.stream);
                    BOXSUM_CUDA_TRY(cudaMemsetAsync(memory.table().data, poison, bytes, stream().get()));
                    memory.run_async(plan, workspace, stream());
                    test::count_differences(first.data(), memory.table().data, bytes, count, stream());
                    if (i % 50 == 49)  // bounds the queues
                        for (background& b : others) b.stream.synchronize();
                }
                unsigned long long found = 1;
                BOXSUM_CUDA_TRY(cudaMemcpyAsync(&found, count, sizeof found, cudaMemcpyDeviceToHost, stream().get()));
                stream().synchronize();
                ASSERT_EQ(found, 0u) << record->info.name << " " << name_of(types) << " " << rows << " x " << cols
                                     << ": bytes that differ between repetitions";
                const auto wrong = memory.mismatch(plan.algorithm(), stream());
                ASSERT_FALSE(wrong) << *wrong;
            }
    for (background& b : others) {
        const auto wrong = b.memory->mismatch(b.plan->algorithm(), b.stream);
        EXPECT_FALSE(wrong) << *wrong;
    }
}

// ---- competition ----------------------------------------------------------------------------------------------------

TEST_F(soak, a_kernel_that_holds_most_multiprocessors_does_not_stop_any_record) {
    for (const algorithm_record* record : test::cuda_records())
        for (const type_pair types : {type_pair{dtype::u8, dtype::u32}, {dtype::f32, dtype::f32}})
            for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{2500, 3100}, {300, 300}}) {
                test::gpu_case memory(test::plain_case(types.input, types.table, rows, cols), stream());
                if (!check_support(*record, memory.shape(), {})) continue;
                const cuda::sat_plan plan(memory.shapes(), memory.options(record->info.name));
                cuda::workspace workspace(plan.workspace_bytes(), stream());
                memory.run_async(plan, workspace, stream());  // loads the kernels
                memory.refill(99, stream());
                for (const int left : {1, 4}) {
                    test::competing_kernel others(left, 30);
                    memory.run_async(plan, workspace, stream());
                    const bool done = test::finishes_within(stream(), 10);
                    others.release();
                    ASSERT_TRUE(done) << record->info.name << " waits for multiprocessors that another kernel holds";
                    const auto wrong = memory.mismatch(plan.algorithm(), stream());
                    ASSERT_FALSE(wrong) << *wrong;
                }
            }
}

}  // namespace
}  // namespace boxsum
