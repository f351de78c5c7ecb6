// Writes the page and the record of an example, for the test in a browser:
// write_example_page sat|hist FILE.html FILE.json

#include "example_histograms.hpp"
#include "example_record.hpp"
#include "report/histogram_sections.hpp"
#include "report/sections.hpp"

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
    using namespace boxsum::bench;
    const std::string kind = argc > 1 ? argv[1] : "";
    if (argc != 4 || (kind != "sat" && kind != "hist")) {
        std::fprintf(stderr, "usage: write_example_page sat|hist FILE.html FILE.json\n");
        return 2;
    }
    const bench_record record = kind == "sat" ? example_record() : example_histograms();
    write_file(argv[2], html_of(kind == "sat" ? report_of(record) : histogram_report_of(record)));
    write_file(argv[3], json_of(record));
}
