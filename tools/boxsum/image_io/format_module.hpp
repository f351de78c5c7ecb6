#pragma once

#include "image_io/image.hpp"

namespace boxsum::cli {

/// What the module of rare formats offers. It is loaded when the first file of such a format is read: its libraries
/// bring tens of others with them, and loading these takes longer than most commands do.
struct format_module {
    image (*read_exr)(const encoded_bytes& file, const read_options& options);   ///< null: not built
    image (*read_fits)(const encoded_bytes& file, const read_options& options);  ///< null: not built
    int (*fits_images)(const encoded_bytes& file);                               ///< null: not built
    const char* exr_version;
    const char* fits_version;
};

/// The name of the function that gives it, without arguments.
inline constexpr const char* format_module_entry = "boxsum_format_module";

/// The module beside the program, or where it is installed; null where there is none.
const format_module* loaded_format_module();

}  // namespace boxsum::cli
