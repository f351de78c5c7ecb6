#pragma once

#include "errors.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace boxsum::cli {

/// Walks over the text part of PGM, PPM and PFM files: numbers separated by space and by comments that run from '#' to
/// the end of the line.
class netpbm_scanner {
  public:
    explicit netpbm_scanner(std::span<const std::byte> bytes)
        : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), bytes_(bytes) {}

    /// The character after 'P'.
    char kind() {
        at_ = 2;
        return text_.size() < 2 ? '\0' : text_[1];
    }

    /// The next characters that are not space.
    std::string_view word(std::string_view what) {
        skip_space_and_comments();
        const std::size_t start = at_;
        while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '#') ++at_;
        if (start == at_) throw input_error("it ends before " + std::string(what) + ": it is truncated");
        return text_.substr(start, at_ - start);
    }

    /// A decimal number of at least 0.
    std::int64_t integer(std::string_view what) {
        const std::string_view digits = word(what);
        std::int64_t value = 0;
        for (const char c : digits)
            if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, c - '0', &value))
                throw input_error(std::string(what) + " is '" + std::string(digits.substr(0, 32)) + "', not a number");
        return value;
    }

    /// The next digit, 0 or 1; PBM needs no space between them.
    bool digit() {
        skip_space_and_comments();
        if (at_ >= text_.size()) throw input_error("it ends before a sample: it is truncated");
        const char c = text_[at_++];
        if (c != '0' && c != '1') throw input_error(std::string("a sample is '") + c + "', neither 0 nor 1");
        return c == '1';
    }

    /// The single space between header and binary samples.
    void one_space() {
        if (at_ >= text_.size()) throw input_error("it ends after its header: it is truncated");
        if (!is_space(text_[at_])) throw input_error("its header does not end in a space");
        ++at_;
    }

    std::span<const std::byte> rest() const { return bytes_.subspan(at_); }

  private:
    static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void skip_space_and_comments() {
        while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '#')) {
            if (text_[at_] == '#') {
                const std::size_t end = text_.find('\n', at_);
                at_ = end == std::string_view::npos ? text_.size() : end;
            } else {
                ++at_;
            }
        }
    }

    std::string_view text_;
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
};

}  // namespace boxsum::cli
