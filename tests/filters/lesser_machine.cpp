// The filters' tests as on a machine with fewer instruction sets: BOXSUM_TEST_INSTRUCTIONS is `avx2` or `plain`.
#include "cpu/filters/row_kernels.hpp"
#include "cpu/instruction_set.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace boxsum {
namespace {

class lesser_machine : public testing::Environment {
  public:
    void SetUp() override {
        const char* const text = std::getenv("BOXSUM_TEST_INSTRUCTIONS");
        if (text == nullptr) return;
        const std::string_view name = text;
        cpu::allow_features(name == "avx2" ? unsigned{cpu::has_avx2} : 0u);
        const filters::row_kernels* expected = &filters::baseline::rows;
#if defined(__x86_64__)
        if ((cpu::machine_features() & cpu::has_avx2) != 0) expected = &filters::avx2::rows;
#endif
        // That the tests test what they say. GoogleTest would skip them after a failure here.
        if ((name != "avx2" && name != "plain") || &filters::rows_of_this_machine() != expected) {
            std::fprintf(stderr, "no kernels of %s alone\n", text);
            std::exit(EXIT_FAILURE);
        }
    }
};

const auto* const registered = testing::AddGlobalTestEnvironment(new lesser_machine);

}  // namespace
}  // namespace boxsum
