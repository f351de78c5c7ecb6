#pragma once

#include "arrays.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/box.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/cuda/workspace.hpp>

#include <memory>
#include <optional>
#include <string_view>

/// Arrays in the memory of a GPU. What only their library can do is asked of boxsum._devices.
namespace boxsum::python {

struct kept_workspace;

/// An array that `exchange` does not describe as one on a device, or nothing for arrays in host memory.
std::optional<strided> open_device_array(nb::handle array, std::string_view name);

/// Throws unsupported, with the words that say how to change it, in a build without CUDA.
void require_cuda(std::string_view name);

/// Throws invalid_argument unless both arrays lie on one device, or both in host memory.
void require_same_place(const strided& array, const strided& image, std::string_view image_name = "image");

/// A new array beside another one on its device, with these strides in bytes; `packed` says that they are a packed
/// one's.
strided new_device_array(const strided& beside, element type, int axes, const std::int64_t* extent,
                         const std::int64_t* stride, bool packed);

/// A packed copy on the device whose axes are in the order of the roles, as an array of its own.
strided packed_device_copy(const strided& from, const axis_roles& roles, element type);

/// A copy of an array of NumPy's on the device of another array, of its library.
nb::object on_device_of(const strided& beside, const nb::object& host);

/// Throws unsupported for an array on a device; `what` is what only the CPU does.
void refuse_device(const strided& array, std::string_view what);

/// Gives the memory of workspaces that no call is using back to the libraries that it is of.
void drop_workspaces();

/// Makes the device of an array the thread's while it lives.
class device_turn {
  public:
    explicit device_turn(const strided& array);
    device_turn(const device_turn&) = delete;
    device_turn& operator=(const device_turn&) = delete;
    ~device_turn();

  private:
    int before_;
    bool changed_;
};

/// A call's turn on the device of an array: its workspace, which is that of the device and of the stream, in memory of
/// the array's library. While the stream is being captured the workspace is the call's own, so that every graph has
/// one.
///
///     device_call call(in.array);                      // with the interpreter's lock
///     nb::gil_scoped_release released;
///     call.run([&](cuda::workspace& workspace, cuda::stream_ref stream) { ... });
class device_call {
  public:
    explicit device_call(const strided& array);

    template <typename F>
    void run(F&& f) {
        const device_turn turn(array_);
        const lease memory(*this);
        f(*memory.workspace, array_.device->stream);
    }

  private:
    /// The workspace, with other threads kept out of it from the first launch of a call to its last.
    struct lease {
        explicit lease(const device_call& call);
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        ~lease();

        cuda::workspace own;
        cuda::workspace* workspace = nullptr;
        std::shared_ptr<kept_workspace> kept;
    };

    const strided& array_;
    bool is_tensor_, captured_;
};

/// What a function does with an image that has pixels: `on_host()`, or `on_device(workspace, stream)`; without the
/// interpreter's lock.
template <typename Host, typename Device>
void compute(const image_argument& image, Host&& on_host, Device&& on_device) {
    if (image.empty) return;
    if (!image.array.device) {
        nb::gil_scoped_release released;
        on_host();
        return;
    }
    device_call call(image.array);
    nb::gil_scoped_release released;
    call.run(on_device);
}

/// Boxes (..., 4) on the device of a table, packed, rows first in the table's order: 64-bit integers (row, column,
/// rows, columns) or, unless they must be `whole`, 64-bit floats (top, left, bottom, right). Those that the host has
/// are looked at by `check`, which is given their number and the box.
struct device_box_list {
    strided array;
    std::int64_t count = 0;
    extents leading;

    template <typename Check>
    device_box_list(nb::handle boxes, std::string_view format, const strided& table, bool swapped, bool whole,
                    Check&& check)
        : device_box_list(boxes, format, table, swapped, whole) {
        if (!on_host_.is_valid()) return;
        const number_argument numbers(on_host_, "boxes");
        for (std::int64_t i = 0; i < count; ++i)
            if (fractional())
                check(i, static_cast<const fractional_box*>(numbers.data)[i]);
            else
                check(i, static_cast<const box*>(numbers.data)[i]);
    }

    bool fractional() const noexcept { return array.type == element::f64; }

    cuda::device_boxes boxes() const noexcept {
        if (fractional()) return {nullptr, count, reinterpret_cast<const fractional_box*>(array.data)};
        return {reinterpret_cast<const box*>(array.data), count};
    }

  private:
    device_box_list(nb::handle boxes, std::string_view format, const strided& table, bool swapped, bool whole);
    nb::object on_host_;  ///< the same in the table's order; null where they came on the device
};

}  // namespace boxsum::python
