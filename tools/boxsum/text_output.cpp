#include "text_output.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>

namespace boxsum::cli {

exit_code print_output(std::string_view text) {
    while (!text.empty()) {
        const ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno == EPIPE) throw closed_pipe("cannot write 'standard output': " + errno_text(errno));
        if (done < 0) throw io_error("cannot write 'standard output': " + errno_text(errno));
        text.remove_prefix(static_cast<std::size_t>(done));
    }
    return exit_code::done;
}

exit_code print_json(const nlohmann::ordered_json& value) {
    return print_output(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            text.append(i == 0 ? 0 : 2, ' ').append(widths[i] - row[i].size(), ' ').append(row[i]);
        text.push_back('\n');
    }
    return text;
}

std::string text_of(double value) {
    if (std::isnan(value)) return "nan";  // whose sign says nothing
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string text_of(const view_shape& s) {
    return std::to_string(s.rows) + " x " + std::to_string(s.cols) +
           (s.channels == 1 ? "" : " x " + std::to_string(s.channels)) + " of " + std::string(name_of(s.type));
}

nlohmann::ordered_json json_of(const view_shape& s) {
    return {{"rows", s.rows}, {"cols", s.cols}, {"channels", s.channels}, {"type", name_of(s.type)}};
}

}  // namespace boxsum::cli
