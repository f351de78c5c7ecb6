// boxsum-bench: `boxsum bench` runs it.

#include "program/run_bench.hpp"

int main(int argc, char** argv) {
    return boxsum::bench::run_bench(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
