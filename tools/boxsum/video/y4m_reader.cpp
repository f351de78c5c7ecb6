#include "video/y4m_reader.hpp"

#include "errors.hpp"
#include "image_io/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace boxsum::cli {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::int64_t largest_extent = 1 << 20;

/// Memory is taken as bytes arrive: the stream's header may lie about its frames.
constexpr std::size_t step_bytes = std::size_t{1} << 24;

std::int64_t extent(const std::string& name, std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > largest_extent)
        throw input_error("'" + name + "': the stream's header says '" + std::string(word) + "', which is no extent");
    return value;
}

/// Rows and columns of the chroma planes for the `C` word of a header.
std::pair<std::int64_t, std::int64_t> chroma_extents(const std::string& name, std::string_view word, std::int64_t rows,
                                                     std::int64_t cols) {
    const std::string_view format = word.substr(1);
    if (format == "420" || format == "420jpeg" || format == "420mpeg2" || format == "420paldv")
        return {(rows + 1) / 2, (cols + 1) / 2};
    if (format == "422") return {rows, (cols + 1) / 2};
    if (format == "411") return {rows, (cols + 3) / 4};
    if (format == "444") return {rows, cols};
    if (format == "mono") return {0, 0};
    throw input_error("'" + name + "': samples of format '" + std::string(format) +
                      "' are not read; 8-bit 420, 422, 411, 444 and mono are");
}

}  // namespace

y4m_reader::y4m_reader(const std::string& path) : name_(input_name(path)) {
    file_ = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    if (file_ == nullptr) throw input_error("cannot open '" + path + "': " + errno_text(errno));
    owned_ = file_ != stdin;
    try {
        parse_header(read_line("the stream's header"));
    } catch (...) {
        if (owned_) std::fclose(file_);
        throw;
    }
}

y4m_reader::y4m_reader(std::FILE* stream, std::string name) : name_(std::move(name)), file_(stream) {
    parse_header(read_line("the stream's header"));
}

y4m_reader::~y4m_reader() {
    if (owned_) std::fclose(file_);
}

std::size_t y4m_reader::read_some(void* data, std::size_t bytes) {
    const std::size_t got = std::fread(data, 1, bytes, file_);
    if (std::ferror(file_) != 0) throw input_error("cannot read '" + name_ + "': " + errno_text(errno));
    return got;
}

/// Up to a line feed, which is not kept; an empty string at the end of the stream.
std::string y4m_reader::read_line(const std::string& what) {
    std::string line;
    for (char c = 0; read_some(&c, 1) == 1; line.push_back(c)) {
        if (c == '\n') return line;
        if (line.size() == longest_line) throw input_error("'" + name_ + "': " + what + " is no line of YUV4MPEG2");
    }
    if (!line.empty()) throw input_error("'" + name_ + "': the stream ends within " + what);
    return line;
}

void y4m_reader::parse_header(const std::string& header) {
    std::istringstream words(header);
    std::string word;
    if (!(words >> word) || word != "YUV4MPEG2")
        throw input_error("'" + name_ +
                          "' is no YUV4MPEG2 stream; of a video ffmpeg makes one: ffmpeg -i VIDEO -f yuv4mpegpipe -");
    std::string chroma = "C420";
    while (words >> word) {
        if (word[0] == 'H') rows_ = extent(name_, word);
        if (word[0] == 'W') cols_ = extent(name_, word);
        if (word[0] == 'C') chroma = word;
    }
    if (rows_ == 0 || cols_ == 0) throw input_error("'" + name_ + "': the stream's header lacks a width or a height");
    std::tie(chroma_rows_, chroma_cols_) = chroma_extents(name_, chroma, rows_, cols_);
    chroma_bytes_ = static_cast<std::size_t>(2 * chroma_rows_ * chroma_cols_);
}

bool y4m_reader::next() {
    const std::string frame = "frame " + std::to_string(frames_);
    const std::string line = read_line("the header of " + frame);
    if (line.empty() && std::feof(file_) != 0) return false;
    if (line != "FRAME" && line.rfind("FRAME ", 0) != 0)
        throw input_error("'" + name_ + "': " + frame + " does not start with FRAME");
    const std::size_t bytes = static_cast<std::size_t>(rows_ * cols_) + chroma_bytes_;
    for (std::size_t got = 0; got < bytes;) {
        const std::size_t end = std::min(bytes, std::max(samples_.size(), got + step_bytes));
        if (samples_.size() < end) samples_.resize(end);
        got += read_some(samples_.data() + got, end - got);
        if (got != end)
            throw input_error("'" + name_ + "': the stream ends within " + frame + ", after " + std::to_string(got) +
                              " of " + std::to_string(bytes) + " bytes");
    }
    ++frames_;
    return true;
}

image_view<const std::uint8_t> y4m_reader::luma() const {
    return {samples_.data(), rows_, cols_};
}

void y4m_reader::copy_colours(const image_view<std::uint8_t>& rgb) const {
    const std::uint8_t* const blue_plane = samples_.data() + rows_ * cols_;
    const std::uint8_t* const red_plane = blue_plane + chroma_rows_ * chroma_cols_;
    const auto byte = [](int value) { return static_cast<std::uint8_t>(std::clamp(value >> 8, 0, 255)); };
    for (std::int64_t r = 0; r < rows_; ++r) {
        const std::uint8_t* const luma = samples_.data() + r * cols_;
        std::uint8_t* to = rgb.row(r);
        if (!coloured()) {
            for (std::int64_t c = 0; c < cols_; ++c, to += 3) std::fill_n(to, 3, luma[c]);
            continue;
        }
        const std::int64_t chroma_row = r * chroma_rows_ / rows_ * chroma_cols_;
        for (std::int64_t c = 0; c < cols_; ++c, to += 3) {
            const std::int64_t at = chroma_row + c * chroma_cols_ / cols_;
            // In 256ths: 1.164 of the luma above black, 1.596, -0.391, -0.813 and 2.018 of the colour differences.
            const int light = 298 * (luma[c] - 16) + 128, blue = blue_plane[at] - 128, red = red_plane[at] - 128;
            to[0] = byte(light + 409 * red);
            to[1] = byte(light - 100 * blue - 208 * red);
            to[2] = byte(light + 516 * blue);
        }
    }
}

}  // namespace boxsum::cli
