#include "image_io/tiff_handle.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace boxsum::cli {

/// libtiff's view of a tiff_handle. Exceptions must not unwind through libtiff: they are kept for later.
struct tiff_callbacks {
    static tiff_handle& self(thandle_t handle) { return *static_cast<tiff_handle*>(handle); }

    static tmsize_t read(thandle_t handle, void* destination, tmsize_t size) {
        tiff_handle& h = self(handle);
        const auto wanted = static_cast<std::size_t>(size);
        std::size_t got = 0;
        if (h.out_ != nullptr) {
            try {
                got = h.out_->read_at(h.position_, {static_cast<std::byte*>(destination), wanted});
            } catch (...) {
                h.thrown_ = std::current_exception();
                return -1;
            }
        } else if (h.position_ < h.bytes_.size()) {
            got = std::min(wanted, h.bytes_.size() - static_cast<std::size_t>(h.position_));
            std::memcpy(destination, h.bytes_.data() + h.position_, got);
        }
        h.position_ += got;
        return static_cast<tmsize_t>(got);
    }

    static tmsize_t write(thandle_t handle, void* source, tmsize_t size) {
        tiff_handle& h = self(handle);
        if (h.out_ == nullptr) return -1;
        try {
            h.out_->write_at(h.position_, {static_cast<const std::byte*>(source), static_cast<std::size_t>(size)});
        } catch (...) {
            h.thrown_ = std::current_exception();
            return -1;
        }
        h.position_ += static_cast<std::uint64_t>(size);
        return size;
    }

    static toff_t seek(thandle_t handle, toff_t offset, int whence) {
        tiff_handle& h = self(handle);
        if (whence == SEEK_SET) h.position_ = offset;
        if (whence == SEEK_CUR) h.position_ += offset;
        if (whence == SEEK_END) h.position_ = size(handle) + offset;
        return h.position_;
    }

    static toff_t size(thandle_t handle) {
        tiff_handle& h = self(handle);
        if (h.out_ == nullptr) return h.bytes_.size();
        try {
            return h.out_->size();
        } catch (...) {
            h.thrown_ = std::current_exception();
            return 0;
        }
    }

    static int close(thandle_t) { return 0; }

    static int map(thandle_t handle, void** base, toff_t* size) {
        const tiff_handle& h = self(handle);
        if (h.out_ != nullptr) return 0;
        *base = const_cast<std::byte*>(h.bytes_.data());  // libtiff reads maps only
        *size = h.bytes_.size();
        return 1;
    }

    static void unmap(thandle_t, void*, toff_t) {}

    __attribute__((format(printf, 1, 0))) static std::string text_of(const char* format, va_list arguments) {
        char text[512];
        std::vsnprintf(text, sizeof(text), format, arguments);
        return text;
    }

    /// Whether a message comes from decoding JPEG data, where libtiff goes on with invented pixels. "JPEGLib" and
    /// "LibJpeg" hand on what libjpeg says (of the new and of the old kind of JPEG in TIFF); "JPEGPreDecode" says that
    /// a strip or tile holds a smaller image than it should, whose other pixels it then leaves as they were. libjpeg
    /// hands on only the first warning of each strip, so even one that jpeg.cpp lets pass may hide others: all count.
    /// What good files are warned about comes under other names, but for a last strip that is too high.
    static bool tells_damage(const char* module, const std::string& text) {
        const std::string_view name = module == nullptr ? "" : module;
        return name == "JPEGLib" || name == "LibJpeg" || (name == "JPEGPreDecode" && text.starts_with("Improper"));
    }

    __attribute__((format(printf, 4, 0))) static int error(TIFF*, void* user, const char* module, const char* format,
                                                           va_list arguments) {
        auto& h = *static_cast<tiff_handle*>(user);
        const std::string text = text_of(format, arguments);
        if (h.message_.empty()) h.message_ = text;
        if (h.damage_.empty() && tells_damage(module, text)) h.damage_ = text;
        return 1;
    }

    __attribute__((format(printf, 4, 0))) static int warning(TIFF*, void* user, const char* module, const char* format,
                                                             va_list arguments) {
        auto& h = *static_cast<tiff_handle*>(user);
        const std::string text = text_of(format, arguments);
        if (h.damage_.empty() && tells_damage(module, text)) h.damage_ = text;
        return 1;
    }
};

tiff_handle::tiff_handle(std::span<const std::byte> bytes) : bytes_(bytes) {
    open("r", bytes.size());
    if (tiff_ == nullptr) fail_reading();
}

tiff_handle::tiff_handle(output_file& out, bool big) : out_(&out) {
    out.make_seekable();
    open(big ? "w8" : "w", 0);
    if (tiff_ == nullptr) fail_writing();
}

void tiff_handle::open(const char* mode, std::uint64_t file_bytes) {
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                   &TIFFOpenOptionsFree);
    if (options == nullptr) throw out_of_memory("libtiff cannot allocate its state");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), tiff_callbacks::error, this);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), tiff_callbacks::warning, this);
    // What libtiff allocates by itself are tag values and codec states: no more than the file could fill, and a bit.
    if (out_ == nullptr)
        TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(),
                                            static_cast<tmsize_t>(file_bytes * 16 + (std::uint64_t{1} << 26)));
    tiff_ = TIFFClientOpenExt("", mode, this, tiff_callbacks::read, tiff_callbacks::write, tiff_callbacks::seek,
                              tiff_callbacks::close, tiff_callbacks::size, tiff_callbacks::map, tiff_callbacks::unmap,
                              options.get());
}

tiff_handle::~tiff_handle() {
    if (tiff_ == nullptr) return;
    // A handle that was not closed after writing is given up: its directory goes nowhere.
    TIFFCleanup(tiff_);
}

void tiff_handle::end_page() {
    if (TIFFWriteDirectory(tiff_) != 1 || thrown_ || !message_.empty()) fail_writing();
}

void tiff_handle::close_written() {
    const bool flushed = TIFFFlush(tiff_) == 1;
    TIFFCleanup(std::exchange(tiff_, nullptr));
    if (!flushed || thrown_ || !message_.empty()) fail_writing();
}

void tiff_handle::check_undamaged() const {
    if (!damage_.empty()) throw input_error(damage_);
}

void tiff_handle::fail_reading() const {
    throw input_error(message_.empty() ? "libtiff cannot decode it" : message_);
}

void tiff_handle::fail_writing() const {
    if (thrown_) std::rethrow_exception(thrown_);
    throw io_error("cannot write '" + output_name(out_->path()) +
                   "': " + (message_.empty() ? "libtiff failed" : message_));
}

}  // namespace boxsum::cli
