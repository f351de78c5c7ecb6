#pragma once

#include "arrays.hpp"

/// Memory of other libraries' arrays by DLPack's table of functions, which some have on their array's type
/// (`__dlpack_c_exchange_api__`): a tenth of the time of an object that describes it.
namespace boxsum::python {

/// That table, of DLPack's major version 1.
struct exchange;

/// The table of the array's library, or null. Subclasses have none here: their memory may not be what it seems.
const exchange* exchange_of(nb::handle array);

/// Describes the memory of an array, on the host or on a GPU, in `result`, or returns false where it cannot be read as
/// it is; then the library's own words say why.
bool open_exchanged(const exchange& library, nb::handle array, std::string_view name, strided& result);

/// The same of an array that wants no gradient and has its own sign, and lies on a device where that is known.
bool open_plain(const exchange& library, nb::handle array, std::string_view name,
                const std::optional<device_place>& place, strided& result);

/// An array of a library on the memory of one of NumPy's, which lives as long; uint64 becomes int64, of the same bits,
/// because PyTorch computes with that.
nb::object exported(const exchange& library, const strided& numpy);

}  // namespace boxsum::python
