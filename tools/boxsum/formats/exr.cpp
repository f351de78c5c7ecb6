#include "errors.hpp"
#include "formats/readers.hpp"
#include "pixels.hpp"

#include <OpenEXR/ImfChannelList.h>
#include <OpenEXR/ImfFrameBuffer.h>
#include <OpenEXR/ImfHeader.h>
#include <OpenEXR/ImfIO.h>
#include <OpenEXR/ImfInputFile.h>
#include <OpenEXR/OpenEXRConfig.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace boxsum::cli::formats {
namespace {

/// A file's bytes for OpenEXR, which reads through streams.
class memory_stream final : public Imf::IStream {
  public:
    explicit memory_stream(std::span<const std::byte> bytes) : Imf::IStream("the file"), bytes_(bytes) {}

    bool read(char to[], int count) override {
        const auto wanted = static_cast<std::uint64_t>(count);
        if (at_ > bytes_.size() || wanted > bytes_.size() - at_) throw input_error("it is truncated");
        std::memcpy(to, bytes_.data() + at_, wanted);
        at_ += wanted;
        return at_ < bytes_.size();
    }
    std::uint64_t tellg() override { return at_; }
    void seekg(std::uint64_t position) override { at_ = position; }

  private:
    std::span<const std::byte> bytes_;
    std::uint64_t at_ = 0;
};

struct exr_channels {
    std::vector<std::string> names;  // in the image's order
    bool alpha = false;
    std::string note = {};
};

/// Red, green and blue, or brightness, each with opacity where there is one; else a single channel, or the one that is
/// asked for, counted in the file's (alphabetical) order.
exr_channels chosen_channels(const Imf::ChannelList& list, int band) {
    std::vector<std::string> all;
    for (auto c = list.begin(); c != list.end(); ++c) all.emplace_back(c.name());
    if (band > 0) {
        if (band > static_cast<int>(all.size())) throw input_error("it has no band " + std::to_string(band));
        return {{all[static_cast<std::size_t>(band) - 1]}};
    }
    const auto has = [&](const char* name) { return std::find(all.begin(), all.end(), name) != all.end(); };
    exr_channels chosen;
    if (has("R") && has("G") && has("B"))
        chosen.names = {"R", "G", "B"};
    else if (has("Y"))
        chosen.names = {"Y"};
    else if (all.size() == 1)
        return {all};
    else {
        std::string text;
        for (const std::string& name : all) text += (text.empty() ? "" : ", ") + name;
        throw input_error("its channels are " + text + ", neither R, G, B nor Y: choose one with --band, from 1");
    }
    chosen.alpha = has("A");
    if (chosen.alpha) chosen.names.emplace_back("A");
    if (all.size() > chosen.names.size())
        chosen.note = "it has " + std::to_string(all.size()) + " channels; " + chosen.names.front() +
                      (chosen.names.size() > 1 ? " to " + chosen.names.back() : "") + " are read (--band)";
    return chosen;
}

/// The type that holds all of the channels.
Imf::PixelType common_type(const Imf::ChannelList& list, const exr_channels& chosen) {
    std::vector<Imf::PixelType> types;
    for (const std::string& name : chosen.names) {
        const Imf::Channel& c = list[name];
        if (c.xSampling != 1 || c.ySampling != 1) throw input_error("its channel '" + name + "' is subsampled");
        types.push_back(c.type);
    }
    const bool same = std::all_of(types.begin(), types.end(), [&](Imf::PixelType t) { return t == types.front(); });
    return same && !chosen.alpha ? types.front() : Imf::FLOAT;  // opacity is divided by
}

/// OpenEXR's colours are multiplied by their opacity; ours are not.
void divide_by_alpha(const writable_image& pixels) {
    const view_shape& s = pixels.view.shape;
    for (std::int64_t r = 0; r < s.rows; ++r) {
        float* p = row_as<float>(pixels.view, r);
        for (std::int64_t c = 0; c < s.cols; ++c, p += s.channels)
            if (const float alpha = p[s.channels - 1]; alpha > 0)
                for (std::int64_t k = 0; k + 1 < s.channels; ++k) p[k] /= alpha;
    }
}

image decode(const encoded_bytes& file, const read_options& options) {
    memory_stream stream(file.bytes);
    Imf::InputFile input(stream, 0);
    const Imf::Header& header = input.header();
    const Imath::Box2i window = header.dataWindow();
    const exr_channels chosen = chosen_channels(header.channels(), options.band);
    const Imf::PixelType type = common_type(header.channels(), chosen);
    const view_shape shape =
        packed_shape(type == Imf::HALF    ? dtype::f16
                     : type == Imf::FLOAT ? dtype::f32
                                          : dtype::u32,
                     std::int64_t{window.max.y} - window.min.y + 1, std::int64_t{window.max.x} - window.min.x + 1,
                     static_cast<std::int64_t>(chosen.names.size()));
    constexpr double best_ratio = 1e6;  // wavelets and run lengths of one colour
    check_plausible_size(shape, static_cast<std::uint64_t>(shape.plane_stride), file.bytes.size(), best_ratio);
    const writable_image pixels = allocate_image(shape);
    const std::size_t element = size_of(shape.type), pixel = element * chosen.names.size();
    Imf::FrameBuffer frame;
    for (std::size_t k = 0; k < chosen.names.size(); ++k)
        frame.insert(chosen.names[k], Imf::Slice::Make(type, static_cast<std::byte*>(pixels.view.data) + k * element,
                                                       window, pixel, static_cast<std::size_t>(shape.row_stride)));
    input.setFrameBuffer(frame);
    input.readPixels(window.min.y, window.max.y);
    if (chosen.alpha) divide_by_alpha(pixels);
    image result = pixels;
    result.alpha = chosen.alpha;
    result.note = chosen.note;
    return result;
}

}  // namespace

const char* exr_version() {
    return OPENEXR_VERSION_STRING;
}

image read_exr(const encoded_bytes& file, const read_options& options) {
    constexpr int most = 1 << 20;  // rows and columns: tables of them are allocated by what the header says
    [[maybe_unused]] static const bool limited = [] {
        Imf::Header::setMaxImageSize(most, most);
        Imf::Header::setMaxTileSize(most, most);
        return true;
    }();
    try {
        return decode(file, options);
    } catch (const error&) {
        throw;
    } catch (const io_error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& e) {  // OpenEXR's
        throw input_error(std::string("OpenEXR: ") + e.what());
    }
}

}  // namespace boxsum::cli::formats
