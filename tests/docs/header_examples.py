#!/usr/bin/env python3
"""Examples in the comments of public headers compile: blocks of lines that begin with `///     `.

    header_examples.py OUT.cpp      writes the examples of the table below as functions of one source file
    header_examples.py --check      every block is in the table, and every entry of the table is a block

An entry is known by its header and by how its first line begins. PARAMETERS is what the example takes for granted; None is
for what is no code of its own, with the reason.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = ROOT / "include" / "boxsum"
BLOCK = re.compile(r"(?:^[ ]*///     .*\n)+", re.M)
DEVICE = "boxsum::image_view<const std::uint8_t> d_image, {}, boxsum::cuda::stream_ref stream"

EXAMPLES = {
    ("view.hpp", "boxsum::image_view<const std::uint8_t> image"):
        "const std::uint8_t* pixels, std::int64_t rows, std::int64_t cols, std::int64_t row_stride_bytes",
    ("view.hpp", "boxsum::image_view<const float> mirrored"):
        "const float* last_of_row_0, const std::uint8_t* rgb, std::int64_t rows, std::int64_t cols",
    ("table_view.hpp", "boxsum::table_view<const std::uint32_t> sums"):
        "const std::uint32_t* entries, std::int64_t rows, std::int64_t cols",
    ("table_view.hpp", "above  S(R - 1"): None,  # a formula
    ("sat.hpp", "boxsum::sat({image}"):
        "boxsum::const_any_view image, boxsum::any_view entries, boxsum::any_table_view table, "
        "boxsum::any_table_view squares",
    ("sat.hpp", "boxsum::sat({.image = dem"):
        "boxsum::const_any_view dem, boxsum::any_table_view sums, boxsum::any_table_view counts, const boxsum::box& box",
    ("histogram_table.hpp", "boxsum::histogram_view<const std::uint32_t> h"):
        "const std::uint32_t* entries, std::int64_t bins, std::int64_t rows, std::int64_t cols",
    ("integral_histogram.hpp", "integral_histogram({image}, bins"):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<const float> weights, "
        "const boxsum::binning& bins, boxsum::histogram_view<std::uint32_t> histograms, boxsum::histogram_view<float> sums",
    ("integral_histogram.hpp", "auto sums ="):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<const float> weights",
    ("integral_histogram.hpp", "auto h ="): "boxsum::image_view<const std::uint8_t> image",
    ("convolve.hpp", "const double sharpen[]"):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<float> sharp",
    ("cuda/convolve.hpp", "boxsum::cuda::convolve_plan plan"):
        DEVICE.format("const double* weights, boxsum::image_view<float> d_result"),
    ("cuda/non_local_means.hpp", "boxsum::cuda::non_local_means_plan plan"):
        "boxsum::image_view<const std::uint8_t> d_noisy, boxsum::image_view<std::uint8_t> d_clean, "
        "boxsum::cuda::stream_ref stream",
    ("filters.hpp", "boxsum::box_filter({image}, {blurred}"):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<std::uint8_t> blurred, "
        "boxsum::image_view<const std::uint8_t> page, boxsum::image_view<std::uint8_t> ink",
    ("filters.hpp", "boxsum::box_filter({.image = rows_90_to_209"):
        "boxsum::const_any_view rows_90_to_209, boxsum::any_view rows_100_to_199",
    ("filters.hpp", "count = sum of w"): None,  # a formula
    ("row_stream.hpp", "boxsum::row_stream rows("):
        "struct line_camera& camera, boxsum::const_any_view lines, boxsum::any_view (&results_of)(std::int64_t rows), "
        "const boxsum::filter_options& options",
    ("shadow.hpp", "p = 1 where t"): None,  # a formula
    ("shadow.hpp", "auto moments ="):
        "boxsum::image_view<const double> map, boxsum::const_any_view receiver, boxsum::const_any_view rectangle, "
        "boxsum::any_view visibility",
    ("blobs.hpp", "dxx = "): None,  # a formula
    ("blobs.hpp", "for (const boxsum::blob& b"):
        "boxsum::const_any_view sky, void (&draw)(const boxsum::blob& b)",
    ("guided_filter.hpp", "a_k = "): None,  # a formula
    ("guided_filter.hpp", "boxsum::guided_filter("):
        "boxsum::const_any_view noisy, boxsum::any_view smooth, boxsum::const_any_view mask, boxsum::const_any_view photo, "
        "boxsum::any_view matte",
    ("non_local_means.hpp", "result(p) = "): None,  # a formula
    ("non_local_means.hpp", "n(p, q) = "): None,  # a formula
    ("non_local_means.hpp", "boxsum::non_local_means("):
        "boxsum::const_any_view noisy, boxsum::any_view clean",
    ("variable_blur.hpp", "boxsum::variable_blur("):
        "boxsum::const_any_view photo, boxsum::const_any_view radii, boxsum::any_view blurred",
    ("variable_blur.hpp", "boxsum::circles_of_confusion("):
        "boxsum::const_any_view depth, boxsum::any_view radii, boxsum::const_any_view photo, boxsum::any_view blurred",
    ("window_queries.hpp", "const auto table = boxsum::sat"):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<float> means",
    ("window.hpp", "boxsum::box_filter({image}"):
        "boxsum::image_view<const std::uint8_t> image, boxsum::image_view<std::uint8_t> result",
    ("cuda/filters.hpp", "boxsum::cuda::box_filter_plan plan"):
        DEVICE.format("boxsum::image_view<std::uint8_t> d_blurred"),
    ("cuda/row_stream.hpp", "boxsum::cuda::row_stream rows("):
        "struct line_camera& camera, boxsum::const_any_view lines, boxsum::any_view results, "
        "void (&write)(boxsum::any_view), const boxsum::filter_options& options, boxsum::cuda::stream_ref stream",
    ("cuda/guided_filter.hpp", "boxsum::cuda::guided_filter_plan plan"):
        "boxsum::const_any_view d_noisy, boxsum::const_any_view d_photo, boxsum::any_view d_smooth, "
        "boxsum::cuda::stream_ref stream",
    ("cuda/guided_filter.hpp", "  (2^-25 A"): None,  # a formula
    ("histogram_pipeline.hpp", "histogram_pipeline pipeline("):
        "const boxsum::frame_request& request, boxsum::frame_source read, void (&use)(const boxsum::frame_result&)",
    ("histogram_tasks.hpp", "histogram_tasks tasks;"):
        "boxsum::const_any_view image, const boxsum::binning& bins, boxsum::histogram_table<std::uint32_t>& histograms",
    ("cuda/sat.hpp", "boxsum::cuda::sat_plan plan"): DEVICE.format("boxsum::table_view<std::uint32_t> d_table"),
    ("cuda/sat.hpp", "const std::vector<double> means ="):
        "boxsum::const_any_view d_image, boxsum::any_view d_table, boxsum::cuda::stream_ref stream",
    ("cuda/blobs.hpp", "boxsum::cuda::box_hessian_plan plan"):
        "boxsum::const_any_view d_image, boxsum::any_view d_determinant, boxsum::cuda::stream_ref stream",
    ("cuda/histogram.hpp", "boxsum::cuda::histogram_table<std::uint32_t> histograms("):
        "std::int64_t frame_rows, std::int64_t frame_cols, boxsum::cuda::stream_ref stream",
    ("cuda/histogram.hpp", "boxsum::cuda::histogram_plan plan"):
        DEVICE.format("const boxsum::binning& bins, boxsum::histogram_view<std::uint32_t> d_histograms"),
    ("cuda/histogram_queries.hpp", "boxsum::cuda::box_histograms_async("):
        "boxsum::const_any_histogram_view d_histograms, const boxsum::box* d_boxes, std::uint32_t* d_counts, "
        "std::int64_t count, std::int64_t bins, boxsum::cuda::stream_ref stream",
    ("cuda/memory.hpp", "boxsum::cuda::allocator from_rmm"): "void* resource",
    ("cuda/table.hpp", "boxsum::cuda::image<std::uint8_t> d_image("):
        "boxsum::image_view<const std::uint8_t> image, std::int64_t rows, std::int64_t cols, boxsum::cuda::stream_ref stream",
    ("cuda/table.hpp", "boxsum::cuda::table<std::uint32_t> d_table("):
        "std::int64_t image_rows, std::int64_t image_cols, boxsum::cuda::stream_ref stream",
    ("cuda/workspace.hpp", "boxsum::cuda::workspace workspace("):
        "const boxsum::cuda::sat_plan& plan, boxsum::sat_inputs inputs, boxsum::sat_outputs outputs, "
        "boxsum::cuda::stream_ref stream",
    ("memory.hpp", "boxsum::host_allocator from_pmr"): "void* resource",
    ("cuda/box.hpp", "boxsum::cuda::box_sums_async("):
        "boxsum::const_any_table_view d_table, const boxsum::box* d_boxes, std::uint32_t* d_sums, std::int64_t count, "
        "const boxsum::fractional_box* d_edges, double* d_integrals, boxsum::cuda::stream_ref stream",
    ("cuda/shadow.hpp", "boxsum::cuda::variance_shadows_async("):
        "boxsum::moment_views d_moments, boxsum::const_any_view d_receiver, boxsum::const_any_view d_rectangle, "
        "boxsum::any_view d_visibility, boxsum::cuda::stream_ref stream",
    ("cuda/window_queries.hpp", "boxsum::cuda::window_means_async("):
        "boxsum::const_any_table_view d_table, boxsum::any_view d_means, boxsum::cuda::stream_ref stream",
    ("cuda/variable_blur.hpp", "boxsum::cuda::variable_blur_plan plan"):
        "boxsum::const_any_view d_image, boxsum::const_any_view d_radii, boxsum::any_view d_blurred, "
        "boxsum::cuda::stream_ref stream",
    ("cuda/box.cuh", "__global__ void means_around("): None,  # a kernel and its launch: examples/boxes_in_kernels.cu
    ("cuda/box.cuh", "means_around<<<"): None,
}
# Other libraries as far as examples use them. The pragma, because clang lets a later -Wall undo -Wno-unused-variable.
PRELUDE = """#pragma GCC diagnostic ignored "-Wunused-variable"
struct CUstream_st;
namespace rmm::mr {
struct device_memory_resource {
    void* allocate(std::size_t bytes, CUstream_st* stream);
    void deallocate(void* data, std::size_t bytes, CUstream_st* stream) noexcept;
};
}  // namespace rmm::mr
struct line_camera {
    bool read(boxsum::const_any_view rows);
};
using namespace boxsum;
"""


def blocks():
    """[(header, line number, code)]"""
    for path in sorted(HEADERS.rglob("*.h*")) + sorted(HEADERS.rglob("*.cuh")):
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            code = "".join(re.sub(r"^[ ]*///     ", "", line) + "\n" for line in match[0].splitlines())
            yield str(path.relative_to(HEADERS)), text.count("\n", 0, match.start()) + 1, code


def entry_of(header, code):
    return next((key for key in EXAMPLES if key[0] == header and code.startswith(key[1])), None)


def main():
    found = [(header, line, code, entry_of(header, code)) for header, line, code in blocks()]
    if sys.argv[1:] == ["--check"]:
        problems = [f"include/boxsum/{header}:{line}: an example that tests/docs/header_examples.py does not know:\n{code}"
                    for header, line, code, entry in found if entry is None]
        used = {entry for *_, entry in found}
        problems += [f"include/boxsum/{header} has no example that begins with {start!r}" for header, start in EXAMPLES
                     if (header, start) not in used]
        print("\n".join(problems) or f"{len(found)} examples are known")
        sys.exit(1 if problems else 0)
    headers = sorted({header for header, _, _, entry in found if entry and EXAMPLES[entry] is not None})
    text = "// Written by tests/docs/header_examples.py.\n" + "".join(f"#include <boxsum/{header}>\n" for header in headers)
    text += "#include <cstddef>\n#include <cstdint>\n#include <memory_resource>\n" + PRELUDE
    for number, (header, line, code, entry) in enumerate(found):
        if entry and EXAMPLES[entry] is not None:
            text += f"\nvoid example_{number}({EXAMPLES[entry]});\nvoid example_{number}({EXAMPLES[entry]}) {{\n"
            text += f'#line {line} "{HEADERS / header}"\n{code}}}\n'
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
