#include "arrays.hpp"
#include "module.hpp"

#include <boxsum/error.hpp>
#include <boxsum/histogram_tasks.hpp>

#include <cctype>

namespace boxsum::python {
namespace {

/// The classes of boxsum.errors; they live as long as the interpreter.
struct error_classes {
    PyObject* invalid_argument;
    PyObject* unsupported;
    PyObject* out_of_memory;
    PyObject* cuda_error;
};

error_classes* classes = nullptr;

void raise(PyObject* type, const char* message) {
    PyErr_SetString(type, in_python_words(message).c_str());
}

/// What the library calls an argument, and what its callers here do.
struct renamed {
    std::string_view from, to;
};
constexpr renamed names[] = {{"border_value: ", "cval: "},
                             {"window: ", "size: "},
                             {"sums: ", "out: "},
                             {"result: overlaps", "out: overlaps"},
                             {"count: overlaps result", "count: overlaps out"},
                             {"squares: overlaps sums", "out[1]: overlaps out[0]"},
                             {"deviation: ", "std: "},
                             {"variance: ", "var: "},
                             {"grid: ", "windows: "},
                             {"range: is [", "range: is ["},  // of bins
                             {"range: ", "r: "},
                             {"min_weight: ", "min_count: "},
                             {"histograms: overlap ", "out: overlaps "},
                             {"histograms: ", "values: "},
                             {"parameters: ", "algorithm: "},
                             {"means: ", "out: "},
                             {"visibility: ", "out: "},
                             {"determinant: ", "out: "},
                             {"radii: ", "out: "},
                             {"moments.sums: ", "table: "},
                             {"moments.squares: ", "squares: "},
                             {"variances: ", "out: "},
                             {"region: ", "within: "}};

/// "8u", "16s", "64f" at `at`; how many characters, and the type's name here.
std::size_t type_word(std::string_view text, std::size_t at, std::string_view& name) {
    for (const std::size_t length : {std::size_t{2}, std::size_t{3}}) {
        if (at + length > text.size()) continue;
        if (const auto type = dtype_from_name(text.substr(at, length))) {
            name = name_of(element_of(*type));
            return length;
        }
    }
    return 0;
}

bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string in_python_words(std::string_view message) {
    std::string result;
    for (const renamed& one : names) {
        if (message.substr(0, one.from.size()) != one.from) continue;
        result = one.to;
        message.remove_prefix(one.from.size());
        break;
    }
    for (std::size_t i = 0; i < message.size();) {
        const bool starts_word = i == 0 || !in_word(message[i - 1]);
        std::string types;
        std::size_t end = i;
        std::string_view name;
        while (starts_word) {
            const std::size_t length = type_word(message, end, name);
            if (length == 0) break;
            types.append(types.empty() ? "" : " -> ").append(name);
            end += length;
        }
        if (end > i && (end == message.size() || !in_word(message[end]))) {
            result += types;
            i = end;
        } else {
            result += message[i++];
        }
    }
    return result;
}

void translate_exceptions() {
    const nb::module_ errors = nb::module_::import_("boxsum.errors");
    const auto kept = [&](const char* name) { return nb::object(errors.attr(name)).release().ptr(); };
    static error_classes loaded{kept("InvalidArgument"), kept("Unsupported"), kept("OutOfMemory"), kept("CudaError")};
    classes = &loaded;
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const boxsum::invalid_argument& e) {
            raise(classes->invalid_argument, e.what());
        } catch (const boxsum::unsupported& e) {
            raise(classes->unsupported, e.what());
        } catch (const boxsum::out_of_memory& e) {
            raise(classes->out_of_memory, e.what());
        } catch (const boxsum::workers_failed& e) {
            raise(classes->cuda_error, e.what());
        } catch (const boxsum::cuda_error& e) {
            const nb::object error = nb::handle(classes->cuda_error)(nb::str(e.what()), nb::int_(e.code()));
            PyErr_SetObject(classes->cuda_error, error.ptr());
        }
    });
}

void refuse_word(std::string_view name, std::string_view given, std::string_view allowed) {
    throw invalid_argument(
        std::string(name).append(": is '").append(given).append("', must be one of ").append(allowed));
}

}  // namespace boxsum::python
