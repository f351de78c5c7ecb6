// Must not compile, and say why in a sentence.
#include <boxsum/boxsum.hpp>

#if defined(TABLE)
boxsum::table<long long> table(2, 2);  // int64_t is long here
#else
boxsum::const_any_view view(const char* pixels) {
    return boxsum::image_view<const char>(pixels, 2, 2);
}
#endif
