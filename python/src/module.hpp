#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

/// What the files of the module share beside arrays. Every function takes its arguments in the order of the Python
/// function of the same name and checks them; names, defaults and documentation are in the Python files.
namespace boxsum::python {

namespace nb = nanobind;

void bind_tables(nb::module_& module);
void bind_blobs(nb::module_& module);
void bind_boxes(nb::module_& module);
void bind_windows(nb::module_& module);
void bind_filters(nb::module_& module);
void bind_histograms(nb::module_& module);
void bind_pipelines(nb::module_& module);
void bind_depths(nb::module_& module);
void bind_information(nb::module_& module);

/// Adds a function whose arguments are all taken by position, any object and None among them.
template <typename Result, typename... Arguments>
void define(nb::module_& module, const char* name, Result (*function)(Arguments...)) {
    [[maybe_unused]] const auto any = [](auto) { return nb::arg().none(); };
    module.def(name, function, any(static_cast<std::decay_t<Arguments>*>(nullptr))...);
}

/// Exceptions of the library become those of boxsum.errors.
void translate_exceptions();

/// A message of the library with the package's names of arguments and types: "8u32u" is "uint8 -> uint32".
std::string in_python_words(std::string_view message);

/// `threads=`: 0 is set_num_threads()' number.
int threads_argument(nb::handle threads);

/// The value of a word in a list of them; throws invalid_argument naming the argument and the words that there are.
[[noreturn]] void refuse_word(std::string_view name, std::string_view given, std::string_view allowed);

}  // namespace boxsum::python
