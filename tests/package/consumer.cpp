// What a user's first program looks like. Exits with 1 if the library does not work as linked.
#include <boxsum/sat.hpp>
#include <boxsum/version.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    const std::vector<std::uint8_t> pixels(64 * 48, 3);
    const auto table = boxsum::sat<std::uint32_t>(boxsum::image_view<const std::uint8_t>{pixels.data(), 48, 64});
    const std::uint32_t sum = boxsum::box_sum(table, {.row = 5, .col = 7, .rows = 10, .cols = 20});
    std::printf("boxsum %s: %u\n", boxsum::version(), sum);
    return sum == 3 * 10 * 20 ? 0 : 1;
}
