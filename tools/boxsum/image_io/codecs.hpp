#pragma once

#include "image_io/image.hpp"
#include "image_io/output_file.hpp"
#include "image_io/row_sink.hpp"

#include <functional>
#include <span>

/// One reader and one writer per file format. Readers take the whole file's bytes and throw input_error without the
/// file's name (read_image() adds it); they check the header's claims against the number of bytes before allocating,
/// and treat a truncated file as an error. Writers take packed or strided views, throw `unsupported` for element types
/// that the format lacks and io_error when writing fails; they do not commit.
namespace boxsum::cli {

/// 8 and 16 bits; grey, grey + alpha, RGB, RGBA. Palettes and 1, 2 and 4 bits are expanded to 8 bits, a transparent
/// colour to an alpha channel. Written fast: one filter, libdeflate's lowest level unless another is asked for.
image read_png(const encoded_bytes& file);
void write_png(output_file& out, const image& source, const write_options& options);

/// 8 bits, grey or RGB; CMYK is converted without a profile. Up to a quality of 95 colours are written at half the
/// resolution.
image read_jpeg(const encoded_bytes& file);
void write_jpeg(output_file& out, const image& source, int quality);

/// 8 bits, RGB or RGBA; lossless for a quality of 100.
image read_webp(const encoded_bytes& file);
void write_webp(output_file& out, const image& source, int quality);

/// TIFF and BigTIFF: 8- to 64-bit integers, 16- to 64-bit floats, strips and tiles, contiguous and separate planes,
/// both byte orders. One page, counted from 1. 8-bit signed samples become 16s; 1, 2 and 4 bits become 8, from
/// 0 to 255; palettes become RGB; CMYK is converted without a profile; "min is white" is inverted, but for
/// transparency. Any number of channels where one of them is asked for.
image read_tiff(const encoded_bytes& file, const read_options& options = {});
/// Strips; BigTIFF when the file may exceed 4 GiB. Compression uses the predictor of the type.
void write_tiff(output_file& out, const image& source, const write_options& options = {});
row_sink tiff_rows(output_file& out, const image& about, const write_options& options);
/// As many images, each a page of one file; BigTIFF when such pages as the first may exceed 4 GiB.
void write_tiff_pages(output_file& out, int count, const std::function<image(int page)>& page,
                      const write_options& options);
int tiff_pages(const encoded_bytes& file);

/// PBM, PGM and PPM, ASCII and binary, 8 and 16 bits. PBM's white and black are 255 and 0. Values are kept as stored,
/// whatever the maximal value is; it is kept beside them, and written again unless a pixel exceeds it.
image read_pnm(const encoded_bytes& file);
void write_pnm(output_file& out, const image& source, const write_options& options = {});
row_sink pnm_rows(output_file& out, const image& about);

/// PFM: 32f, grey or RGB. The magnitude of the scale is ignored, as elsewhere.
image read_pfm(const encoded_bytes& file);
void write_pfm(output_file& out, const const_any_view& pixels);

/// BMP without compression, by stb_image: 1 to 32 bits a pixel (24 with the header of OS/2). Palettes of greys become
/// grey, others RGB; opacity is kept where some pixel is not opaque.
image read_bmp(const encoded_bytes& file);

/// OpenEXR's first part, in strips or tiles: R, G, B or Y, each with A where it is there, or one channel of any name.
/// Half floats stay such; with opacity colours become 32f, divided by it.
image read_exr(const encoded_bytes& file, const read_options& options = {});

/// FITS, by cfitsio: images of two dimensions, or of three with up to 4 planes or one of them asked for, plain and in
/// compressed tiles; the page is the number of the image. Row 0 is the first of the file, as in NumPy (displays of
/// astronomers have it at the bottom). BSCALE and BZERO are applied; BLANK becomes nodata, of floats NaN.
image read_fits(const encoded_bytes& file, const read_options& options = {});
int fits_images(const encoded_bytes& file);

/// NumPy's format, versions 1 to 3: rows x cols or rows x cols x channels in either memory order and byte order. bool
/// becomes 8u, int8 becomes 16s. Arrays in C order and the machine's byte order are not copied: the view is of the
/// file's own bytes. Any number of channels where one of them is asked for.
image read_npy(const encoded_bytes& file, const read_options& options = {});
void write_npy(output_file& out, const const_any_view& pixels);
row_sink npy_rows(output_file& out, const image& about);
/// What stands before an array of these extents, whose elements follow in C order.
void write_npy_header(output_file& out, dtype type, std::span<const std::int64_t> extents);

}  // namespace boxsum::cli
