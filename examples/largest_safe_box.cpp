// Up to which area a box sum is certain to be exact, for every type pair of integers: the table of docs/concepts.md.

#include <boxsum/box.hpp>
#include <boxsum/types.hpp>

#include <cmath>
#include <cstdio>
#include <string>

namespace {

void print_row(const std::string& types, const char* what, std::int64_t pixels) {
    if (pixels < 1) return;  // floating images: see the error bound instead
    const auto side = static_cast<long long>(std::sqrt(static_cast<long double>(pixels)));
    std::printf("| %s | %s | %lld | %lld x %lld |\n", types.c_str(), what, static_cast<long long>(pixels), side, side);
}

}  // namespace

int main() {
    std::printf("| types | of | pixels | as a square |\n|---|---|--:|--:|\n");
    for (const boxsum::type_pair types : boxsum::type_pairs())
        print_row(boxsum::name_of(types), "values", boxsum::largest_safe_box(types.input, types.table));
    for (const boxsum::squares_triple types : boxsum::squares_triples())
        print_row(boxsum::name_of(types), "squares", boxsum::largest_safe_box_of_squares(types.input, types.squares));
}
