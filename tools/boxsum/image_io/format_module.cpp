#include "image_io/format_module.hpp"

#include "errors.hpp"
#include "image_io/codecs.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string>

namespace boxsum::cli {
namespace {

const format_module* load() {
#if defined(BOXSUM_FORMAT_MODULE)
    std::array<char, PATH_MAX> program{};
    if (::readlink("/proc/self/exe", program.data(), program.size() - 1) <= 0) return nullptr;
    const std::string path = program.data();
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const char* place : {BOXSUM_FORMAT_MODULE, BOXSUM_FORMAT_MODULE_INSTALLED}) {
        void* const module = ::dlopen((folder + place).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (module == nullptr) continue;
        using entry = const format_module* (*)();
        if (const auto get = reinterpret_cast<entry>(::dlsym(module, format_module_entry))) return get();
    }
#endif
    return nullptr;
}

[[noreturn]] void refuse(const std::string& what, const std::string& library) {
    throw input_error("it is " + what +
                      ", which this installation does not read: it lacks boxsum's module of formats with " + library);
}

}  // namespace

const format_module* loaded_format_module() {
    static const format_module* const module = load();
    return module;
}

image read_exr(const encoded_bytes& file, const read_options& options) {
    const format_module* const module = loaded_format_module();
    if (module == nullptr || module->read_exr == nullptr) refuse("an OpenEXR file", "OpenEXR");
    return module->read_exr(file, options);
}

image read_fits(const encoded_bytes& file, const read_options& options) {
    const format_module* const module = loaded_format_module();
    if (module == nullptr || module->read_fits == nullptr) refuse("a FITS file", "cfitsio");
    return module->read_fits(file, options);
}

int fits_images(const encoded_bytes& file) {
    const format_module* const module = loaded_format_module();
    return module == nullptr || module->fits_images == nullptr ? 1 : module->fits_images(file);
}

}  // namespace boxsum::cli
