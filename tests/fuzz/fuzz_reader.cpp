#include "fuzz_support.hpp"
#include "image_io/codecs.hpp"

/// Any bytes are an image or an input_error (or a file of a kind that is not read); nothing else may happen.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    boxsum::cli::tolerate_refusal([&] {
        const boxsum::cli::encoded_bytes file{std::as_bytes(std::span(data, size)), nullptr};
        boxsum::cli::touch(boxsum::cli::BOXSUM_READER(file));
    });
    return 0;
}
