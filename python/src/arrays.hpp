#pragma once

#include <boxsum/cuda/stream.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Arrays of Python as boxsum's views, and results as arrays: the only place that knows NumPy's C interface.
namespace boxsum::python {

namespace nb = nanobind;

/// Element types of arrays that the package takes. `boolean` has the memory of u8 (0 and 1); s8 is no boxsum::dtype.
enum class element : std::uint8_t { boolean, u8, s8, u16, s16, u32, s32, u64, s64, f16, f32, f64, other };

element element_of(dtype type) noexcept;

/// The type that the library reads this memory as; nothing for s8 and `other`.
std::optional<dtype> dtype_of_element(element type) noexcept;

/// NumPy's word: "uint8", "float32".
std::string_view name_of(element type) noexcept;

/// What a `dtype=` argument means; `fallback` for None. Throws unsupported for a type that is no element type.
element element_argument(nb::handle dtype, element fallback, std::string_view name = "dtype");

/// The type of a dtype of NumPy's, or of that name; `other` where there is none.
element element_of_kind(nb::handle kind);

/// Loads NumPy's C interface. Once, when the module is imported.
void import_numpy();

constexpr int max_axes = 16;

struct exchange;

/// Where in the memory of GPUs an array lies, and behind whose work its own goes.
struct device_place {
    int number;
    cuda::stream_ref stream;
};

/// Memory of an array as it is: extents in elements, strides in bytes.
struct strided {
    nb::object owner;  ///< keeps the memory
    std::byte* data = nullptr;
    element type = element::other;
    std::string_view name;  ///< of the argument, for messages
    int axes = 0;
    bool writable = false;
    bool behaved = true;  ///< aligned, and of this machine's byte order
    bool empty = false;   ///< has no elements
    std::array<std::int64_t, max_axes> extent{};
    std::array<std::int64_t, max_axes> stride{};
    nb::object wrap;  ///< makes an array of the caller's library of NumPy's; null where that is NumPy, or
                      ///< `exchanged_by` is set
    const exchange* exchanged_by = nullptr;  ///< of the owner, where that handed over its memory itself
    std::optional<device_place> device;      ///< not set for host memory

    /// The owner as an array of NumPy's.
    nb::object as_numpy() const;

    /// A result as an array of the owner's library: one of NumPy's, or, of an owner on a device, one of whoever read
    /// it.
    nb::object in_its_library(const nb::object& result) const;
};

/// The array of an argument. NumPy's arrays are taken as they are; others go through boxsum._devices or _arrays.
strided open_array(nb::handle array, std::string_view name);

/// "4 x 5 x 3"
std::string text_of_extents(const strided& array);

/// Extents of an array.
using extents = std::vector<std::int64_t>;

/// Which axes of an array are what: the last two are rows and columns, all before a batch; `channel_axis` is neither.
struct axis_roles {
    int axes = 0;
    int batch = 0;                      ///< axes before the rows in `order`
    bool interleaved = false;           ///< channels follow the columns in `order`
    bool planar = false;                ///< channels are the last axis of the batch
    bool swapped = false;               ///< in Fortran order: rows and columns have exchanged their roles
    std::array<int, max_axes> order{};  ///< axes of the array as batch..., rows, columns[, channels]

    int rows() const noexcept { return order[static_cast<std::size_t>(batch)]; }
    int cols() const noexcept { return order[static_cast<std::size_t>(batch) + 1]; }
};

/// What a function can make of an image.
struct role_rules {
    bool may_swap = true;     ///< in Fortran order rows and columns may exchange their roles
    bool interleave = false;  ///< channels follow the columns, in a copy where they do not
};

/// An image of the caller's as a view: of its own memory where the library can read that, of a packed copy otherwise.
struct image_argument {
    strided array;
    axis_roles roles;
    const_any_view view;  ///< not set where the array is empty
    bool empty = false;

    /// `channel_axis`: None or an axis.
    image_argument(nb::handle image, std::string_view name, nb::handle channel_axis, const role_rules& rules = {});

    /// Views the memory, copying it where it must be, as elements of this type, which hold all values of the array's.
    void read_as(element type);

    /// Has a plane for each of those of `image`, whose channels may be some, or one for all; before read_as(). Throws
    /// where its batch is another.
    void match_planes(const image_argument& image);
};

/// Another array of the same roles as an image (a radius map, weights): viewed in the image's order.
struct companion_argument {
    strided array;
    const_any_view view;

    /// Its axes are the last of the image's without channels: rows and columns, or all of the batch, too.
    companion_argument(nb::handle companion, std::string_view name, const image_argument& image);
};

/// What is asked of a result beside the image's roles.
struct result_shape {
    element type = element::u8;
    std::int64_t rows = 0;  ///< in the view's sense: where roles are swapped, these are the array's columns
    std::int64_t cols = 0;
    std::int64_t row_alignment = 1;  ///< rows start on multiples of so many bytes
    std::int64_t ahead = 0;          ///< bytes of a row before what lies there: of a padded table its zeros
};

/// An array to be written: allocated from the pool, or the caller's `out`, which is never copied.
struct result_argument {
    nb::object array;
    any_view view;  ///< not set where the array is empty
    std::byte* data = nullptr;

    /// `out`: None, or an array of exactly this type and shape.
    result_argument(nb::handle out, std::string_view name, const image_argument& image, const result_shape& shape);

    /// What the caller gets: its own `out`, or an array of its library.
    nb::object finish(const image_argument& image) const;

  private:
    bool given_ = false;
};

/// A packed array in row-major order of the given extents, or `out`, which must have them and be packed.
struct packed_result {
    nb::object array;
    std::byte* data = nullptr;

    /// Beside `argument` where that lies on a device.
    packed_result(nb::handle out, std::string_view name, const extents& shape, element type, const strided& argument);

    /// Throws invalid_argument where the caller's `out` overlaps what is read while it is written.
    void require_apart(const strided& read) const;
    nb::object finish(const strided& argument) const;

  private:
    std::string_view name_;
    bool given_ = false;
    std::int64_t bytes_ = 0;  ///< of the caller's `out`
};

/// Any array or nested list as packed numbers: 64-bit integers, or doubles.
struct number_argument {
    nb::object array;
    const void* data = nullptr;
    bool floating = false;
    extents shape;

    number_argument(nb::handle numbers, std::string_view name);
    std::int64_t count() const noexcept;
};

/// Packed elements of exactly one type, converted where `numbers` has others.
nb::object packed_array(nb::handle numbers, element type, const void** data, std::int64_t* count);

/// How many arrays had to be copied so far.
std::uint64_t copies() noexcept;
/// One more, by the Python files.
void count_copy() noexcept;

/// The text of a str; throws unsupported (a TypeError) naming the argument for anything else.
std::string_view text_argument(nb::handle text, std::string_view name);

/// An int (or what has __index__); throws unsupported naming the argument for anything else.
std::int64_t integer_argument(nb::handle number, std::string_view name);

/// How many items a sequence has; -1 for what is none, and for a str.
std::int64_t length_of(nb::handle sequence);

/// A real number.
double real_argument(nb::handle number, std::string_view name);

}  // namespace boxsum::python
