// boxsum-bench: `boxsum bench` runs it.

#include "sat/options.hpp"

int main(int argc, char** argv) {
    return boxsum::bench::run_bench(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
