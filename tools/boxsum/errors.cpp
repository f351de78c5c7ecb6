#include "errors.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

namespace boxsum::cli {
namespace {

void print_line(std::string_view before, std::string_view kind, std::string_view message) noexcept try {
    std::string line = "boxsum: " + std::string(kind) + ": " + std::string(message);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    line.insert(0, before).push_back('\n');
    // One write, so that lines of several processes do not mix. Nothing can be done about a closed standard error.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
} catch (...) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, "boxsum: error: out of memory\n", 29);
}

}  // namespace

failure describe(std::exception_ptr exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const usage_error& e) {
        return {exit_code::usage, e.what()};
    } catch (const input_error& e) {
        return {exit_code::bad_input, e.what()};
    } catch (const invalid_argument& e) {  // the options were checked before: what is left does not fit the input
        return {exit_code::bad_input, e.what()};
    } catch (const unsupported& e) {
        return {exit_code::unsupported, e.what()};
    } catch (const out_of_memory& e) {
        return {exit_code::out_of_memory, e.what()};
    } catch (const std::bad_alloc&) {
        return {exit_code::out_of_memory, "out of memory"};
    } catch (const std::length_error&) {  // a container asked for more than the address space
        return {exit_code::out_of_memory, "out of memory"};
    } catch (const std::system_error& e) {  // a thread that cannot be started
        if (e.code() == std::errc::resource_unavailable_try_again)
            return {exit_code::out_of_memory, std::string("cannot start a thread: ") + e.what()};
        return {exit_code::failure, e.what()};
    } catch (const std::exception& e) {
        return {exit_code::failure, e.what()};
    } catch (...) {
        return {exit_code::failure, "unknown failure"};
    }
}

void print_error(std::string_view message) noexcept {
    print_line("", "error", message);
}
void print_note(std::string_view message) noexcept {
    // Progress may be shown at any moment, so its line is erased in the same write.
    print_line(::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "", "note", message);
}

void fail_reading(const std::string& message, int code) {
    if (code == ENOMEM) throw out_of_memory(message + ": " + errno_text(code));
    throw input_error(message + ": " + errno_text(code));
}

std::string errno_text(int code) {
    return std::generic_category().message(code);
}

}  // namespace boxsum::cli
