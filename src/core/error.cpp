#include <boxsum/error.hpp>

namespace boxsum {

// Here, so that the classes have their type information in the library and nowhere else.

const char* invalid_argument::what() const noexcept {
    return std::invalid_argument::what();
}

const char* unsupported::what() const noexcept {
    return std::domain_error::what();
}

const char* out_of_memory::what() const noexcept {
    return text_.what();
}

const char* cuda_error::what() const noexcept {
    return std::runtime_error::what();
}

}  // namespace boxsum
