// Writes the page and the record of the example, for the test in a browser: write_example_page FILE.html FILE.json

#include "example_record.hpp"
#include "report/sections.hpp"

#include <cstdio>

int main(int argc, char** argv) {
    using namespace boxsum::bench;
    if (argc != 3) {
        std::fprintf(stderr, "usage: write_example_page FILE.html FILE.json\n");
        return 2;
    }
    const bench_record record = example_record();
    write_file(argv[1], html_of(report_of(record)));
    write_file(argv[2], json_of(record));
}
