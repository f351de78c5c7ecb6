#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>

#include <cstddef>
#include <memory>
#include <utility>

/// The filters of filters.hpp on a GPU, with every option for windows of every size. Most windows need no table: sums
/// slide down the columns, run along the row and leave as results, so nothing is written but those. Windows that reach
/// several times beyond the image, are some 1500 columns wide (64f, and variances of floating or weighted images, 750;
/// down to half of that on devices of compute capability 8.6, 8.9 and 12.0, whose blocks have less shared memory) or
/// hold millions of pixels (8u: 2^23, with variances 2^18; 16 bits: 2^30; images that are sampled: 8u 2^22, 16 bits
/// 2^18) take longer. Their sums go through memory, or, of integers that all count, mostly come from four reads of a
/// summed area table that never leaves the device (Crow 1984), as windows of radius maps do. Where a plan's
/// `largest_radius` is up to 31, or what a call that waits finds, in images of 8u without weights, and of 16u and 16s
/// all of whose pixels count, rounded half up, without counts, each block of a launch has a table of its own, and none
/// is in memory.
///
/// Every filter has three forms: a plan, for calls of one shape, whose run_async() neither allocates nor synchronises
/// and can be captured into a CUDA graph; `f_async`, which makes such a plan, or takes the one of an equal call among
/// the last ones, and grows the workspace; and `f`, which waits. Only the last one takes host memory.
///
/// - Inputs and results lie all in device memory or all in host memory; the pointers say which. Calls run on the device
///   of `stream` (of the workspace, where there is one), plans on the one that was current when they were made.
/// - Strides: any. What is not plain (pixels side by side, rows and planes in the order of addresses) goes through a
///   copy in the workspace, of which filter_plan::packed_bytes() tells; of host images through one in host memory.
/// - Host images travel in strips of some 16 MiB, at least as high as windows reach: while one is computed, the next is
///   uploaded and the one before downloaded, which overlaps only for page-locked memory (pinned_buffer). Three strips
///   lie on the device, so that an image may exceed it. A plane is one strip for windows that reach over all rows or
///   repeat the image, and for Wolf's threshold; with `wrap` a whole plane of the image lies on the device, beside
///   three strips of results. The strips have streams of their own: `stream` is not used then, and work that was
///   enqueued on it is not waited for.
/// - Images of 8u, 16u, 16s, 32f and 64f; 32u, 32s and 16f are unsupported. So are, but by radius maps, images of more
///   than 2^28 rows or columns that are floating or not all of whose pixels count; of others as large sums and counts,
///   and, by large windows, parts, rounding down, `mirror`, `wrap` and some thresholds.
/// - Integer images without weights: the same results, bit for bit, as on the CPU, of parts of images too.
/// - Floating images and weights, without a table: sums in double, exact or by additions only, within the bounds of
///   filters.hpp for means and counts. Means of 32f, and with weights those of 8 and 16 bits, are two to four times as
///   fast where sums are exact, as they are of integers and of fractions of a scale as long as windows are not too
///   large, and weights are finite; the results are the same. Variances come from sums and sums of squares that keep
///   what they are rounded by, and are 0 where they are below 2^-104 (w + v)^2 of the mean square, w and v the window's
///   rows and columns: never negative, and 0 where a window is constant. Squares must not overflow or underflow (64f:
///   magnitudes of 2^-480 to 2^480, or 0). Parts have the bits of the whole, whichever memory it lies in.
/// - Radius maps: floating images, and products with weights, go through 64f tables. Every mean carries an absolute
///   error of up to gamma_(rows+cols) * (4 / n) * (sum of |x| over the image), and that for every time that a window
///   repeats the image; the bits for a part of an image are those of the part's table. A pixel that is not finite acts
///   on the windows that contain it and on no other; images that have one take longer.
/// - Device memory (a plan's: its workspace; else allocated in the stream's order): without a table none for windows of
///   integers of up to 64 rows, all of which count, nor for radii up to 31 as above, and at most 2 bytes per pixel and
///   channel for others (4 with variances of 16 bits, 6 of samples and floating images), of the windows' reach beyond
///   the image, too. Sums that go through memory take up to 256 MiB, or 96 bytes for each pixel of a row and of the
///   reach where that is more; tables 4 or 8 bytes per pixel and channel each (of a strip, for host images), also of
///   squares but for means and Bradley's threshold, and for 16s images a copy; beside radii of floating images all of
///   whose pixels count 8 bytes more (16 for windows of 2^32 pixels), and where pixels may not count a copy more (8
///   bytes with weights) and 5 bytes (15 of floating images), with weights another 16. For host images also three
///   strips of image, radii, mask, weights and results. Planes follow each other in the same memory.
/// - `threads` has no effect.
/// Throws as the CPU's filters do, and: invalid_argument for a mixture of host and device memory or memory of another
/// device, out_of_memory, unsupported without a device.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// What plans of filters share. A plan is made for the device that is current and for the shapes and the place of the
/// views that it is given, whose memory is not touched (their data may be null; of window_outputs those with rows are
/// wanted, by calls without a plan those with data). Immutable: any number of threads and streams may run one, each
/// with its own workspace.
///
///     boxsum::cuda::box_filter_plan plan({d_image}, {d_blurred}, {.window = 31});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({d_image}, {d_blurred}, workspace, stream);   // as often as wanted
///
/// run_async() throws invalid_argument, naming argument and values: a shape or place of another plan, a host pointer,
/// overlapping memory, a workspace as sat_plan::run_async() refuses it. It leaves the workspace fit for plans of every
/// operation: of what it leaves there it zeroes what those have wanted clean, in a graph all. Errors of the kernels
/// surface at the next checked call.
class filter_plan {
  public:
    std::size_t workspace_bytes() const noexcept;
    /// Bytes of the workspace that are copies without gaps, of views whose strides kernels do not take; 0: none.
    std::size_t packed_bytes() const noexcept;
    int device() const noexcept;

  protected:
    struct state;
    explicit filter_plan(std::shared_ptr<const state> made) noexcept : state_(std::move(made)) {}
    std::shared_ptr<const state> state_;
};

class box_filter_plan : public filter_plan {
  public:
    box_filter_plan(const filter_inputs& inputs, const filter_outputs& outputs, const filter_options& options = {});
    void run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;
};

class local_statistics_plan : public filter_plan {
  public:
    local_statistics_plan(const filter_inputs& inputs, const window_outputs& outputs,
                          const filter_options& options = {});
    void run_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;
};

/// Wolf's extremes are found on the device.
class adaptive_threshold_plan : public filter_plan {
  public:
    adaptive_threshold_plan(const filter_inputs& inputs, const filter_outputs& outputs, const threshold_rule& rule = {},
                            const filter_options& options = {});
    void run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;
};

class local_contrast_plan : public filter_plan {
  public:
    local_contrast_plan(const filter_inputs& inputs, const filter_outputs& outputs, const contrast_rule& rule = {},
                        const filter_options& options = {});
    void run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;
};

/// The map is not looked at before the kernel reads it: a negative radius counts as 0, one above `largest_radius` as
/// that. Without largest_radius the plan is for what the map's type holds, up to 4194303 (with `shrink` up to the
/// image's size), which makes tables of 64 bits for maps of 16u, 32u and 32s. Give it where it is known: up to 31 there
/// is no table.
class variable_box_filter_plan : public filter_plan {
  public:
    variable_box_filter_plan(const variable_inputs& inputs, const filter_outputs& outputs,
                             const filter_options& options = {});
    void run_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;
};

void box_filter_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                      stream_ref stream, const filter_options& options = {});
void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                const filter_options& options = {});

void local_statistics_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                            stream_ref stream, const filter_options& options = {});
void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, stream_ref stream,
                      const filter_options& options = {});

void adaptive_threshold_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                              stream_ref stream, const threshold_rule& rule = {}, const filter_options& options = {});
void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                        const threshold_rule& rule = {}, const filter_options& options = {});

void local_contrast_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                          stream_ref stream, const contrast_rule& rule = {}, const filter_options& options = {});
void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                    const contrast_rule& rule = {}, const filter_options& options = {});

/// `radius` lies where the image does. The form that waits reads the map's largest radius, checks it, and waits once
/// more for that; the other does as its plan does.
void variable_box_filter_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                               stream_ref stream, const filter_options& options = {});
void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                         const filter_options& options = {});

}  // namespace cuda
}  // namespace boxsum
