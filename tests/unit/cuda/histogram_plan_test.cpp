// Plans of integral histograms, and one-shot calls. Runs on a GPU, and on the emulated device.

#include "api/cuda/histogram_once.hpp"
#include "support/device_tensors.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::fetch;
using test::on_device;
using test::random_pixels;
using test::same_entries;

constexpr std::int64_t rows = 70, cols = 133;

/// The message of the exception that a call throws.
template <typename Error, typename F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

bool contains_text(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class gpu_histogram_plan : public test::gpu_test {
  protected:
    const std::vector<std::uint8_t> pixels = random_pixels<std::uint8_t>(rows * cols, 3);
    const binning bins = binning::uniform(7, 10, 240.5);
    image_view<const std::uint8_t> host_image() const { return {pixels.data(), rows, cols}; }
};

TEST_F(gpu_histogram_plan, runs_again_and_again_in_one_workspace) {
    const cuda::stream stream;
    const auto expected = integral_histogram<std::uint32_t>(host_image(), bins);
    const on_device<std::uint8_t> image(pixels, rows, cols, stream);
    const cuda::histogram_table<std::uint32_t> tensor(7, rows, cols, stream);
    for (const char* algorithm : {"auto", "wf-tis"}) {
        const cuda::histogram_plan plan({image.view()}, bins, {tensor}, {.algorithm = algorithm});
        EXPECT_EQ(plan.algorithm().name, std::string(algorithm) == "auto" ? "fast" : algorithm);
        cuda::workspace workspace(plan.workspace_bytes(), stream);
        for (int round = 0; round < 2; ++round) {
            plan.run_async({image.view()}, {tensor}, workspace, stream);
            const auto found = fetch(tensor, stream);
            EXPECT_TRUE(same_entries<std::uint32_t>(found.view(), expected.view())) << algorithm;
        }
    }
}

TEST_F(gpu_histogram_plan, keeps_its_look_up_table) {
    const cuda::stream stream;
    std::vector<std::uint16_t> table(256);
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = i % 9 == 0 ? binning::no_bin : static_cast<std::uint16_t>(i % 5);
    const on_device<std::uint8_t> image(pixels, rows, cols, stream);
    const cuda::histogram_table<std::uint32_t> tensor(5, rows, cols, stream, table_layout::padded);
    const auto make = [&] { return cuda::histogram_plan({image.view()}, binning::lookup(5, table), {tensor}); };
    const cuda::histogram_plan plan = make();
    const auto expected =
        integral_histogram<std::uint32_t>(host_image(), binning::lookup(5, table), table_layout::padded);
    table.assign(256, 0);  // the plan has its own
    cuda::workspace workspace(plan.workspace_bytes(), stream);
    plan.run_async({image.view()}, {tensor}, workspace, stream);
    EXPECT_TRUE(same_entries<std::uint32_t>(fetch(tensor, stream).view(), expected.view()));
}

TEST_F(gpu_histogram_plan, calls_that_enqueue_make_their_plan) {
    const cuda::stream stream;
    std::vector<std::uint16_t> table(256);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint16_t>(i % 5);
    const binning lookup = binning::lookup(5, table);
    const on_device<std::uint8_t> image(pixels, rows, cols, stream);
    cuda::workspace workspace;
    for (const binning* rule : {&bins, &lookup}) {
        const cuda::histogram_table<std::uint32_t> tensor(rule->bins(), rows, cols, stream);
        cuda::integral_histogram_async({image.view()}, *rule, {tensor}, workspace, stream);
        const auto expected = integral_histogram<std::uint32_t>(host_image(), *rule);
        EXPECT_TRUE(same_entries<std::uint32_t>(fetch(tensor, stream).view(), expected.view()));
    }
    EXPECT_GT(workspace.bytes(), 0U);
}

TEST_F(gpu_histogram_plan, tensors_on_the_device_check_their_extents) {
    const cuda::stream stream;
    using tensor = cuda::histogram_table<std::uint32_t>;
    EXPECT_EQ(message_of<invalid_argument>([&] { tensor(7, 0, cols, stream, table_layout::padded); }),
              "image_rows: is 0, must be at least 1");
    EXPECT_EQ(message_of<invalid_argument>([&] { tensor(7, rows, -1, stream, table_layout::padded); }),
              "image_cols: is -1, must be at least 1");
    EXPECT_EQ(message_of<unsupported>([&] { tensor(7, rows, cols, stream, table_layout::exclusive); }),
              "histograms: layout is exclusive, integral histograms are inclusive or padded");
}

TEST_F(gpu_histogram_plan, a_tensor_on_the_host_comes_in_groups_of_bins) {
    const cuda::stream stream;
    const auto expected = integral_histogram<std::uint32_t>(host_image(), bins);
    for (const std::int64_t most : {1, 3, 7}) {
        histogram_table<std::uint32_t> tensor(7, rows, cols);
        cuda::integral_histogram_in_parts({host_image()}, bins, {tensor}, stream, {}, {.bins = most});
        EXPECT_TRUE(same_entries<std::uint32_t>(tensor.view(), expected.view())) << most << " bins at a time";
    }
    histogram_table<std::uint32_t> tensor(7, rows, cols);
    cuda::integral_histogram({host_image()}, bins, {tensor}, stream);
    EXPECT_TRUE(same_entries<std::uint32_t>(tensor.view(), expected.view()));
}

TEST_F(gpu_histogram_plan, sums_of_weights_have_the_same_bits_in_groups) {
    const cuda::stream stream;
    std::vector<float> weights(pixels.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0f / static_cast<float>(1 + i % 1013);
    const image_view<const float> w(weights.data(), rows, cols);
    histogram_table<float> whole(7, rows, cols), parts(7, rows, cols);
    cuda::integral_histogram({host_image(), w}, bins, {whole}, stream);
    cuda::integral_histogram_in_parts({host_image(), w}, bins, {parts}, stream, {}, {.bins = 2});
    EXPECT_TRUE(same_entries<float>(parts.view(), whole.view()));
}

/// A device with so much memory, all of which is the library's pool.
class small_device {
  public:
    explicit small_device(std::size_t bytes) : bytes_(bytes) {}

    cuda::part_limits limits() {
        return {.bytes = bytes_,
                .memory = {.name = "a small device", .context = this, .allocate = allocate, .deallocate = deallocate}};
    }
    std::size_t most() const { return most_; }

  private:
    static void* allocate(void* context, std::size_t bytes, CUstream_st* stream) {
        auto& own = *static_cast<small_device*>(context);
        if (own.used_ + bytes > own.bytes_) return nullptr;
        own.used_ += bytes;
        own.most_ = std::max(own.most_, own.used_);
        own.buffers_.emplace_back(bytes, cuda::stream_ref(stream));
        return own.buffers_.back().data();
    }
    static void deallocate(void* context, void* data, std::size_t bytes, CUstream_st*) noexcept {
        auto& own = *static_cast<small_device*>(context);
        own.used_ -= bytes;
        own.buffers_.remove_if([data](const cuda::device_buffer& b) { return b.data() == data; });
    }

    std::size_t bytes_, used_ = 0, most_ = 0;
    std::list<cuda::device_buffer> buffers_;
};

TEST_F(gpu_histogram_plan, images_of_which_one_bin_exceeds_the_device_come_in_strips_of_columns) {
    const cuda::stream stream;
    constexpr std::int64_t wide = 700;  // a bin: 196000 bytes of 32u, and the image 49000
    const auto image = random_pixels<std::uint8_t>(rows * wide, 5);
    const image_view<const std::uint8_t> view(image.data(), rows, wide);
    std::vector<float> weights(image.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 13) - 5;  // sums are exact
    const image_view<const float> w(weights.data(), rows, wide);
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (const std::size_t bytes : {120'000, 180'000, 230'000}) {
            SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::string(name_of(layout)));
            small_device device(bytes);
            histogram_table<std::uint32_t> counts(7, rows, wide, layout);
            std::fill_n(counts.view().entries().data(), 3, 77U);
            cuda::integral_histogram_in_parts({view}, bins, {counts}, stream, {}, device.limits());
            EXPECT_TRUE(same_entries<std::uint32_t>(counts.view(),
                                                    integral_histogram<std::uint32_t>(view, bins, layout).view()));
            EXPECT_GT(device.most(), bytes / 2);  // strips are as wide as there is room for

            small_device other(2 * bytes);  // weights take as much as a bin
            histogram_table<float> sums(7, rows, wide, layout);
            cuda::integral_histogram_in_parts({view, w}, bins, {sums}, stream, {}, other.limits());
            EXPECT_TRUE(same_entries<float>(sums.view(), integral_histogram<float>({view, w}, bins, layout).view()));
        }
    small_device hopeless(40'000);
    histogram_table<std::uint32_t> counts(7, rows, wide);
    EXPECT_THROW(cuda::integral_histogram_in_parts({view}, bins, {counts}, stream, {}, hopeless.limits()),
                 out_of_memory);
}

TEST_F(gpu_histogram_plan, strips_of_batches_of_16_bit_pixels) {
    const cuda::stream stream;
    constexpr std::int64_t wide = 300, planes = 3;
    const auto image = random_pixels<std::uint16_t>(planes * 40 * wide, 6);
    const image_view<const std::uint16_t> view(image.data(), 40, wide, 0, 1, planes);
    const binning rule = binning::uniform(5, 0, 65536);
    small_device device(150'000);
    histogram_table<std::uint32_t> counts(5, 40, wide, table_layout::padded, planes);
    cuda::integral_histogram_in_parts({view}, rule, {counts}, stream, {}, device.limits());
    EXPECT_TRUE(same_entries<std::uint32_t>(
        counts.view(), integral_histogram<std::uint32_t>(view, rule, table_layout::padded).view()));
}

TEST_F(gpu_histogram_plan, a_published_algorithm_refuses_groups) {
    const cuda::stream stream;
    histogram_table<std::uint32_t> tensor(7, rows, cols);
    const std::string message = message_of<unsupported>([&] {
        cuda::integral_histogram_in_parts({host_image()}, bins, {tensor}, stream, {.algorithm = "cw-tis"}, {.bins = 3});
    });
    EXPECT_TRUE(contains_text(message, "bins 0 to 2 of 7")) << message;
}

TEST_F(gpu_histogram_plan, names_what_does_not_fit_the_plan) {
    const cuda::stream stream;
    const on_device<std::uint8_t> image(pixels, rows, cols, stream);
    const cuda::histogram_table<std::uint32_t> tensor(7, rows, cols, stream), eight(8, rows, cols, stream);
    const cuda::histogram_plan plan({image.view()}, bins, {tensor});
    cuda::workspace workspace(plan.workspace_bytes(), stream);
    const auto complaint = [&](const const_any_view& i, const any_histogram_view& h, cuda::workspace& w) {
        return message_of<invalid_argument>([&] { plan.run_async({i}, {h}, w, stream); });
    };
    const image_view<std::uint8_t> v = image.view();
    const any_histogram_view t = tensor;

    std::string message = complaint(v, eight, workspace);
    EXPECT_TRUE(contains_text(message, "histograms: bins is 8, but the plan was made for 7")) << message;
    message = complaint(image_view<std::uint8_t>(v.data(), rows - 1, cols, v.row_stride()), t, workspace);
    EXPECT_TRUE(contains_text(message, "image: rows is 69, but the plan was made for 70")) << message;
    cuda::workspace small(plan.workspace_bytes() - 1, stream);
    message = complaint(v, t, small);
    EXPECT_TRUE(contains_text(message, "workspace: has")) << message;
    const image_view<const std::uint8_t> on_host(pixels.data(), rows, cols, v.row_stride());
    std::vector<std::uint8_t> padded(static_cast<std::size_t>(rows * v.row_stride()));
    message = complaint(image_view<std::uint8_t>(padded.data(), rows, cols, v.row_stride()), t, workspace);
    EXPECT_TRUE(contains_text(message, "image: is host memory")) << message;
    message = complaint(v, {t.entries, table_layout::padded}, workspace);
    EXPECT_TRUE(contains_text(message, "histograms: layout is padded, but the plan was made for inclusive")) << message;
    message = message_of<invalid_argument>([&] { plan.run_async({v, v}, {t}, workspace, stream); });
    EXPECT_TRUE(contains_text(message, "weights: given, but the plan was made without")) << message;
}

TEST_F(gpu_histogram_plan, threads_are_checked_and_have_no_effect) {
    const cuda::stream stream;
    const on_device<std::uint8_t> image(pixels, rows, cols, stream);
    const cuda::histogram_table<std::uint32_t> tensor(7, rows, cols, stream);
    const std::string complaint = "threads: is -1, must be 0 (automatic) or more";
    cuda::workspace workspace;
    EXPECT_EQ(
        message_of<invalid_argument>([&] { cuda::histogram_plan({image.view()}, bins, {tensor}, {.threads = -1}); }),
        complaint);
    EXPECT_EQ(message_of<invalid_argument>([&] {
                  cuda::integral_histogram_async({image.view()}, bins, {tensor}, workspace, stream, {.threads = -1});
              }),
              complaint);
    EXPECT_EQ(message_of<invalid_argument>(
                  [&] { cuda::integral_histogram({image.view()}, bins, {tensor}, stream, {.threads = -1}); }),
              complaint);
    cuda::integral_histogram({image.view()}, bins, {tensor}, stream, {.threads = 3});
    const auto expected = integral_histogram<std::uint32_t>(host_image(), bins);
    EXPECT_TRUE(same_entries<std::uint32_t>(fetch(tensor, stream).view(), expected.view()));
}

TEST_F(gpu_histogram_plan, refuses_what_no_record_computes) {
    const histogram_shapes what{{dtype::u8, 1, rows, cols, 1, cols, rows * cols},
                                cuda::device_histogram_shape(dtype::u32, 7, rows, cols)};
    EXPECT_THROW(cuda::histogram_plan(what, binning::uniform(8, 0, 256)), invalid_argument);
    EXPECT_THROW(cuda::histogram_plan(what, bins, {.algorithm = "sequential"}), unsupported);
    EXPECT_THROW(cuda::histogram_plan(what, bins, {.algorithm = "nothing"}), unsupported);
    EXPECT_THROW(cuda::histogram_plan(what, bins, {.algorithm = "wf-tis", .parameters = "tile=5"}), invalid_argument);
    const std::string message = message_of<unsupported>(
        [&] { cuda::histogram_plan(what, bins, {.algorithm = "wf-tis", .parameters = "tile=16,threads=512"}); });
    EXPECT_TRUE(contains_text(message, "has no work for 512 threads")) << message;
}

}  // namespace
}  // namespace boxsum
