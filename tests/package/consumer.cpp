// What a user's first program looks like. Exits with 1 if the library does not work as linked.
#include <boxsum/boxsum.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace {

/// Whether what the library throws is caught here as `Base`: the two must agree on what the class is.
template <typename Base>
bool catches() {
    try {
        boxsum::sat<std::uint32_t>(boxsum::image_view<const std::uint8_t>{nullptr, 48, 64});
    } catch (const Base& e) {
        return e.what() != nullptr;
    } catch (...) {
    }
    return false;
}

}  // namespace

int main() {
    const std::vector<std::uint8_t> pixels(64 * 48, 3);
    const auto table = boxsum::sat<std::uint32_t>(boxsum::image_view<const std::uint8_t>{pixels.data(), 48, 64});
    const std::uint32_t sum = boxsum::box_sum(table, {.row = 5, .col = 7, .rows = 10, .cols = 20});
    std::printf("boxsum %s: %u\n", boxsum::version(), sum);
    const bool caught = catches<boxsum::invalid_argument>() && catches<boxsum::error>() &&
                        catches<std::invalid_argument>() && catches<std::exception>();
    return sum == 3 * 10 * 20 && caught ? 0 : 1;
}
