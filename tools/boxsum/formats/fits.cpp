#include "errors.hpp"
#include "formats/readers.hpp"

#include <fitsio.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>

namespace boxsum::cli::formats {
namespace {

/// cfitsio keeps its open files and messages in tables of the process.
std::mutex& library() {
    static std::mutex mutex;
    return mutex;
}

void check(int status) {
    if (status == 0) return;
    std::array<char, FLEN_STATUS> text{};
    fits_get_errstatus(status, text.data());
    fits_clear_errmsg();
    if (status == MEMORY_ALLOCATION) throw std::bad_alloc();
    throw input_error(std::string("cfitsio: ") + text.data());
}

/// A FITS file in memory. It is only read, though the library asks for a pointer to what it may write.
class fits_file {
  public:
    explicit fits_file(std::span<const std::byte> bytes)
        : memory_(const_cast<std::byte*>(bytes.data())), size_(bytes.size()) {
        int status = 0;
        fits_open_memfile(&file_, "image.fits", READONLY, &memory_, &size_, 0, nullptr, &status);
        check(status);
    }
    fits_file(const fits_file&) = delete;
    fits_file& operator=(const fits_file&) = delete;
    ~fits_file() {
        int status = 0;
        fits_close_file(file_, &status);
        fits_clear_errmsg();
    }
    fitsfile* get() const { return file_; }

    /// Goes to the image of a number, from 1; how many images there are up to there.
    int go_to_image(int wanted) const {
        int status = 0, units = 0, found = 0;
        fits_get_num_hdus(file_, &units, &status);
        check(status);
        for (int unit = 1; unit <= units && found < wanted; ++unit) {
            int kind = 0, dimensions = 0;
            fits_movabs_hdu(file_, unit, &kind, &status);
            check(status);
            if (kind != IMAGE_HDU && fits_is_compressed_image(file_, &status) == 0) continue;
            fits_get_img_dim(file_, &dimensions, &status);
            check(status);
            if (dimensions >= 2) ++found;
        }
        return found;
    }

  private:
    void* memory_;
    std::size_t size_;
    fitsfile* file_ = nullptr;
};

struct element_type {
    dtype type;
    int cfitsio;
};

/// Throws unless the file has the bytes that the header of the image promises; the library takes missing ones for
/// zeros. What fills up the last block may be missing.
void check_complete(fitsfile* file, const encoded_bytes& bytes) {
    int status = 0, bits = 0;
    LONGLONG head = 0, start = 0, end = 0;
    fits_get_hduaddrll(file, &head, &start, &end, &status);
    fits_get_img_type(file, &bits, &status);
    check(status);
    constexpr LONGLONG block = 2880;
    const auto size = static_cast<LONGLONG>(bytes.bytes.size());
    if (size >= end) return;
    int dimensions = 0;
    std::array<LONGLONG, 3> extents{1, 1, 1};
    fits_get_img_dim(file, &dimensions, &status);
    fits_get_img_sizell(file, static_cast<int>(extents.size()), extents.data(), &status);
    const bool compressed = fits_is_compressed_image(file, &status) != 0;
    check(status);
    if (dimensions == 2) extents[2] = 1;
    const double needed = static_cast<double>(extents[0]) * static_cast<double>(extents[1]) *
                          static_cast<double>(extents[2]) * std::abs(bits) / 8;
    if (compressed || size <= end - block || static_cast<double>(size - start) < needed)
        throw input_error("its image ends at byte " + std::to_string(end) + ", but the file has " +
                          std::to_string(size) + ": it is truncated");
}

/// The type of the numbers as BSCALE and BZERO say.
element_type type_of(fitsfile* file) {
    int status = 0, kind = 0;
    fits_get_img_equivtype(file, &kind, &status);
    check(status);
    switch (kind) {
        case BYTE_IMG:
            return {dtype::u8, TBYTE};
        case SBYTE_IMG:
        case SHORT_IMG:
            return {dtype::s16, TSHORT};
        case USHORT_IMG:
            return {dtype::u16, TUSHORT};
        case LONG_IMG:
            return {dtype::s32, TINT};
        case ULONG_IMG:
            return {dtype::u32, TUINT};
        case LONGLONG_IMG:
            return {dtype::s64, TLONGLONG};
        case ULONGLONG_IMG:
            return {dtype::u64, TULONGLONG};
        case FLOAT_IMG:
            return {dtype::f32, TFLOAT};
        default:
            return {dtype::f64, TDOUBLE};
    }
}

/// Of integers the value that means no data, as GDAL's tag says it. Of floats it is NaN.
std::shared_ptr<const image_metadata> metadata_of(fitsfile* file, dtype type) {
    LONGLONG blank = 0;
    double zero = 0;
    int status = 0;
    if (is_floating(type) || fits_read_key(file, TLONGLONG, "BLANK", &blank, nullptr, &status) != 0) {
        fits_clear_errmsg();
        return {};
    }
    if (fits_read_key(file, TDOUBLE, "BZERO", &zero, nullptr, &status) != 0) fits_clear_errmsg();
    auto metadata = std::make_shared<image_metadata>();
    metadata->geo.push_back(
        {.number = geo_tags::gdal_nodata, .text = std::to_string(blank + static_cast<LONGLONG>(zero))});
    return metadata;
}

struct fits_shape {
    std::int64_t rows, cols, planes;
};

fits_shape extents_of(fitsfile* file) {
    constexpr int most = 9;
    std::array<LONGLONG, most> extents{};
    int status = 0, dimensions = 0;
    fits_get_img_dim(file, &dimensions, &status);
    fits_get_img_sizell(file, most, extents.data(), &status);
    check(status);
    for (int i = 3; i < dimensions; ++i)
        if (i >= most || extents[static_cast<std::size_t>(i)] != 1)
            throw input_error("its array has " + std::to_string(dimensions) +
                              " dimensions; columns, rows and, with --band, planes are read");
    return {extents[1], extents[0], dimensions > 2 ? extents[2] : 1};
}

void read_plane(fitsfile* file, const element_type& element, std::int64_t number, std::int64_t count, void* to) {
    float nan32 = std::numeric_limits<float>::quiet_NaN();
    double nan64 = std::numeric_limits<double>::quiet_NaN();
    void* const blank = element.type == dtype::f32   ? static_cast<void*>(&nan32)
                        : element.type == dtype::f64 ? static_cast<void*>(&nan64)
                                                     : nullptr;
    int status = 0, any = 0;
    fits_read_img(file, element.cfitsio, number * count + 1, count, blank, to, &any, &status);
    check(status);
}

}  // namespace

const char* fits_version() {
    static const std::string text = std::to_string(CFITSIO_MAJOR) + "." + std::to_string(CFITSIO_MINOR);
    return text.c_str();
}

int fits_images(const encoded_bytes& file) {
    const std::lock_guard lock(library());
    return fits_file(file.bytes).go_to_image(std::numeric_limits<int>::max());
}

image read_fits(const encoded_bytes& file, const read_options& options) {
    const std::lock_guard lock(library());
    const fits_file fits(file.bytes);
    const int page = options.page.value_or(1);
    const int found = fits.go_to_image(page);
    if (found < page) throw input_error("it has no image " + std::to_string(page) + ", but " + std::to_string(found));
    check_complete(fits.get(), file);
    const element_type element = type_of(fits.get());
    const fits_shape extents = extents_of(fits.get());
    if (options.band > extents.planes) throw input_error("it has no band " + std::to_string(options.band));
    const bool one = options.band > 0;
    const view_shape shape = packed_shape(element.type, extents.rows, extents.cols, one ? 1 : extents.planes);
    int status = 0;
    const bool compressed = fits_is_compressed_image(fits.get(), &status) != 0;
    constexpr double best_ratio = 1e6;  // of tiles of one value
    check_plausible_size(shape, static_cast<std::uint64_t>(shape.plane_stride), file.bytes.size(),
                         compressed ? best_ratio : 2);  // 2: bytes with a sign become 16s

    const writable_image pixels = allocate_image(shape);
    const std::int64_t count = shape.rows * shape.cols;
    if (shape.channels == 1) {
        read_plane(fits.get(), element, one ? options.band - 1 : 0, count, pixels.view.data);
    } else {
        const writable_image plane = allocate_image(packed_shape(element.type, extents.rows, extents.cols, 1));
        const std::size_t bytes = size_of(element.type);
        for (std::int64_t k = 0; k < shape.channels; ++k) {
            read_plane(fits.get(), element, k, count, plane.view.data);
            const std::byte* from = plane.row(0);
            std::byte* to = pixels.row(0) + static_cast<std::size_t>(k) * bytes;
            for (std::int64_t i = 0; i < count;
                 ++i, from += bytes, to += bytes * static_cast<std::size_t>(shape.channels))
                std::memcpy(to, from, bytes);
        }
    }
    image result = pixels;
    result.metadata = metadata_of(fits.get(), element.type);
    return result;
}

}  // namespace boxsum::cli::formats
