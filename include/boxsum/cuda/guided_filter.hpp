#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>
#include <boxsum/export.hpp>
#include <boxsum/guided_filter.hpp>

#include <cstddef>
#include <memory>

/// guided_filter.hpp on a GPU.
///
/// - Without a guide, and with one of 1 to 4 channels. Images, guides and results of 8u, 16u, 32f and 64f in any
///   combination that the CPU takes, of any strides: what is not plain is copied in the workspace. Image and guide of
///   one type are fastest, and of a guide of several channels integers: moments of floats take additions only there.
/// - Every border and window that the CPU takes, of images of up to 2^28 rows and as many columns. Sums of windows of
///   more than some 380 columns (190 with a guide on devices of compute capability 8.6, 8.9 and 12.0, whose blocks have
///   less shared memory), and of those that reach several times beyond the image, go through memory, which takes
///   several times as long.
/// - Where image, guide or result is of 64f, all is in double, as on the CPU; moments are sums that keep what they are
///   rounded by, as those of local_statistics() on devices.
/// - Else a and b are rounded to 24 bits and to multiples of powers of two; their means are in double. A result is then
///   off by at most
///
///       (2^-25 A + 2^-26 u / sqrt(epsilon)) |guide| + 2^-25 B + 2^-24 u
///
///   and by what its type is rounded by: u the least of sqrt(epsilon) and a tenth of the range of 8u and 16u images, 64
///   for those of 32f; A and B the largest |a| and |b| in the window; |guide| the sum of its channels' magnitudes. So a
///   result of integers may differ by one from the CPU's.
/// - Moments of integers are exact, and so are the sums of their fits, for windows of at most 65536 pixels and an
///   epsilon of at least 5 for 8u and 400000 for 16u: then a strip of an image, with all that its windows reach, has
///   the bits of the whole.
/// - Moments of 32f with a grey guide or none may slide, which adds at most 2^-21 (P + A G): P and G the largest
///   magnitudes of image and guide in the neighbourhood, some hundred rows and columns; as P counts at most 1024 times
///   the smallest magnitude there that is not 0. Neighbourhoods for which more would have to be said, as where a value
///   is NaN, infinite or huge, or a guide's above some 10^3 sqrt(epsilon), take additions only, which are slower. So
///   such a value acts as on the CPU.
/// - Mask, weights, NaN, nodata and counts as on the CPU. Where pixels may not count, moments without weights, of an
///   image by itself or by a grey guide of its type, slide as above, of which a neighbourhood's epsilon is times the
///   share of pixels that count in its emptiest window; others are sums of pixels by weights, which keep what they are
///   rounded by and take additions only. Counts without weights are exact. What does not count acts on nothing,
///   whatever it holds. Moments of a guide of several channels are then made again for every channel of the image,
///   since each may count elsewhere.
/// - Device memory (a plan's: its workspace): 8 bytes per pixel and channel of a plane, 16 in double; for windows of
///   more than 64 rows some 3 more, up to 14 where an image is small. With a guide of 2 to 4 channels as many, and the
///   image (where it has several channels) and the guide once more; for each of the guide's channels 4 bytes more, 8 in
///   double; and for some 8 million pixels, or 256 rows, of moments 64, 104 and 152 bytes. Sums that go through memory
///   up to 256 MiB, or 128 bytes for each pixel of a row and of the reach (where pixels may not count 160). Where
///   pixels may not count 2 bytes per pixel and channel more, 5 with weights, and by a guide of several channels 8, 12
///   in double. Planes follow each other in the same
///   memory. For host images also all that is given, and the results.
/// - `threads` has no effect. Results have the same bits from run to run.
/// Throws as guided_filter() does, and: invalid_argument for a mixture of host and device memory or memory of another
/// device, unsupported without a device.
namespace boxsum BOXSUM_EXPORT {
namespace cuda {

/// For calls of one shape, epsilon and options. The memory of the views is not touched when it is made, and may be
/// null; a guide with rows is given. Immutable: any number of threads and streams may run one, each with its own
/// workspace.
///
///     boxsum::cuda::guided_filter_plan plan({.image = d_noisy, .guide = d_photo}, {d_smooth}, {.epsilon = 40},
///                                           {.window = 31});
///     boxsum::cuda::workspace workspace(plan.workspace_bytes(), stream);
///     plan.run_async({.image = d_noisy, .guide = d_photo}, {d_smooth}, workspace, stream);   // as often as wanted
class guided_filter_plan {
  public:
    guided_filter_plan(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule = {},
                       const filter_options& options = {});

    std::size_t workspace_bytes() const noexcept;
    /// Bytes of the workspace that are copies without gaps, of views whose strides kernels do not take; 0: none.
    std::size_t packed_bytes() const noexcept;
    int device() const noexcept;

    /// Neither allocates nor synchronises, and can be captured into a graph. Throws invalid_argument, naming argument
    /// and values, for shapes of another plan, host memory, overlapping memory, and a workspace as
    /// sat_plan::run_async() refuses it.
    void run_async(const guided_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                   stream_ref stream) const;

  private:
    struct state;
    std::shared_ptr<const state> state_;
};

/// Enqueues on the workspace's device (that of `stream`, while it has none); the workspace grows as needed.
void guided_filter_async(const guided_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                         stream_ref stream, const guided_rule& rule = {}, const filter_options& options = {});

/// The same on the device of `stream`, and waits; for host memory, too, of which all goes to the device at once.
void guided_filter(const guided_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                   const guided_rule& rule = {}, const filter_options& options = {});

}  // namespace cuda
}  // namespace boxsum
