#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/filters.hpp>

/// The filters of filters.hpp on a GPU: four reads of a summed area table per window (Crow 1984), so the cost per pixel
/// does not depend on the window's size. The table never leaves the device.
///
/// - Image and results lie all in device memory (of the current device) or all in host memory; the pointers say which.
///   Host images travel in strips: while one is computed, the next is uploaded and the one before downloaded. That
///   overlaps only for page-locked memory (pinned_buffer), and only for windows that reach no further than a strip is
///   high; larger ones, windows that repeat the image, and Wolf's threshold take each plane as one strip.
/// - Integer images: the same results, bit for bit, as on the CPU, of parts of images too.
/// - Floating images go through a 64f table: every mean carries an absolute error of up to
///   gamma_(rows+cols) * (4 / n) * (sum of |x| over the image), variances the square's, clipped at zero; and a pixel
///   that is not finite spoils every window that reaches below or to the right of it. The bits for a part of an image
///   are those of the part's table. Where that matters, filter on the CPU.
/// - Device memory, allocated in the stream's order: the table(s) of 4 or 8 bytes per pixel and channel each (of a
///   strip, for host images), of squares too but for means and Bradley's threshold; for host images also image, radii
///   and results; for 16s images a copy.
/// - `threads` is not read. Every function waits for its results.
/// Throws as the CPU's filters do, and: invalid_argument for a mixture of host and device memory or memory of another
/// device, out_of_memory, unsupported without a device.
namespace boxsum::cuda {

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                const filter_options& options = {});

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, stream_ref stream,
                      const filter_options& options = {});

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                        const threshold_rule& rule = {}, const filter_options& options = {});

/// Floating images: the error of mean and deviation is divided by the deviation, or by epsilon where that is larger, so
/// nearly constant windows want an epsilon above the noise.
void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                    const contrast_rule& rule = {}, const filter_options& options = {});

/// `radius` lies where the image does. Reading a map's largest radius makes the call wait once more.
void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                         const filter_options& options = {});

}  // namespace boxsum::cuda
