#include "example_record.hpp"

namespace boxsum::bench {
namespace {

table_row row(const std::string& what, const std::string& types, std::int64_t size, const std::string& algorithm,
              const std::string& parameters, double us) {
    table_row r;
    r.what = what;
    r.backend = algorithm == "serial-cpu" || algorithm == "opencv-cpu" ? "cpu" : "cuda";
    r.types = types;
    r.rows = r.cols = size;
    r.algorithm = algorithm;
    r.parameters = parameters;
    r.us = us;
    r.low_us = us * 0.98;
    r.high_us = us * 1.03;
    r.rounds = 11;
    r.launched = "stream";
    r.check = "equal";
    return r;
}

pass_row pass(const std::string& types, std::int64_t size, const std::string& algorithm, int number, double us) {
    pass_row p;
    p.types = types;
    p.rows = p.cols = size;
    p.algorithm = algorithm;
    p.pass = number;
    p.kernel = "kernel_" + std::to_string(number) + "<float, float>";
    p.us = us;
    p.registers = 40 + 2 * number;
    p.static_shared_bytes = 2304;
    p.dynamic_shared_bytes = 0;
    p.local_bytes = 8 * (number - 1);
    p.grid = "(32, 1, 1)";
    p.block = "(256, 1, 1)";
    return p;
}

}  // namespace

bench_record example_record() {
    bench_record record;
    record.origin = {
        std::string(40, 'a'), false, "0.0.0", "cuda", "no GPU (made-up numbers <for tests>)", "000.00", "13.0", "none"};
    record.date = "2026-01-02T03:04:05Z";
    record.settings = "made up";
    struct kind {
        const char* name;
        double over_copy, fixed_us;
        bool tiles;
    };
    const kind kinds[] = {{"fast", 1.15, 3, false},        {"1r1w-skss-lb", 1.3, 4, true},
                          {"2r1w", 1.6, 6, true},          {"1r1w-skss", 1.9, 12, true},
                          {"1r1w", 1.5, 60, true},         {"1r1w-hybrid", 1.5, 40, true},
                          {"2r2w-optimal", 2.1, 8, false}, {"2r2w", 9, 70, false},
                          {"brlt-scanrow", 2.3, 9, false}, {"harris-transpose", 4.4, 12, false}};
    for (const char* types : {"32f32f", "8u32s"})
        for (std::int64_t size = 64; size <= 16384; size *= 2) {
            const double copy = 2 + static_cast<double>(size * size) * 8 / 4.2e6;
            record.tables.push_back(row("copy", types, size, "duplication", "", copy));
            for (const kind& k : kinds)
                for (const int w : k.tiles ? std::vector<int>{32, 64, 128} : std::vector<int>{0}) {
                    const double width = w == 0 ? 1 : w == 32 ? 1.3 : w == 64 ? 1 : size < 2048 ? 1.2 : 0.97;
                    record.tables.push_back(row("table", types, size, k.name,
                                                w == 0 ? "" : "W=" + std::to_string(w) + ",threads=256",
                                                k.fixed_us + copy * k.over_copy * width));
                    record.tables.back().launches = k.name[0] - '0';
                    record.tables.back().measured_launches = 2;
                    record.tables.back().measured_memsets = 1;
                    record.tables.back().threads = size * size / 8;
                    record.tables.back().reads = 1.03;
                    record.tables.back().writes = 1.03;
                }
            for (const char* scan : {"kogge-stone", "lf"})
                record.tables.push_back(row("table", types, size, "scanrow-brlt",
                                            std::string("scan=") + scan + ",threads=1024",
                                            10 + copy * (scan[0] == 'l' ? 2.55 : 2.5)));
            record.tables.push_back(row("table", types, size, "npp", "", 20 + copy * 20));
            record.tables.push_back(row("table", types, size, "opencv-cpu", "", 15 + copy * 40));
            record.tables.push_back(row("table", types, size, "serial-cpu", "", 10 + copy * 120));
            for (const char* b : {"32", "64", "128"})
                record.tables.push_back(
                    row("table", types, size, "ha-han", std::string("b=") + b, 9 + copy * (2 + 10.0 / std::stod(b))));
        }
    table_row absent = row("table", "32f32f", 1024, "opencv-cuda", "", 0);
    absent.us = absent.low_us = absent.high_us = {};
    absent.check.clear();
    absent.note = "OpenCV's CUDA modules were not found when this was built";
    record.tables.push_back(absent);
    for (const std::int64_t size : {1024, 2048, 4096}) {
        const double copy = 2 + static_cast<double>(size * size) * 8 / 4.2e6;
        record.passes.push_back(pass("32f32f", size, "scanrow-column", 1, 1.3 * copy));
        record.passes.push_back(pass("32f32f", size, "scanrow-column", 2, 1.1 * copy));
        record.passes.push_back(pass("32f32f", size, "brlt-scanrow", 1, 1.15 * copy));
        record.passes.push_back(pass("32f32f", size, "brlt-scanrow", 2, 1.15 * copy));
        record.passes.push_back(pass("32f32f", size, "scanrow-brlt", 1, 1.25 * copy));
        record.passes.push_back(pass("32f32f", size, "scanrow-brlt", 2, 1.25 * copy));
    }
    for (const std::int64_t size : {128, 800})
        for (const char* name : {"scanrow-brlt", "brlt-scanrow"}) {
            record.passes.push_back(pass("32u32u", size, name, 1, 5.0 + static_cast<double>(size) / 100));
            record.passes.push_back(pass("32u32u", size, name, 2, 4.0 + static_cast<double>(size) / 100));
            record.tables.push_back(row("box-blur", "8u32u", size, name, "", 9.0 + static_cast<double>(size) / 50));
        }
    record.micro = {{"shared memory latency", 29.0, 29.0, 29.0, "clocks", ""},
                    {"shuffle latency", 24.0, 24.0, 24.0, "clocks", ""},
                    {"addition latency", 4.0, 4.0, 4.0, "clocks", ""},
                    {"AND latency", 4.0, 4.0, 4.0, "clocks", ""},
                    {"shared memory bandwidth", 127.0, 126.0, 128.0, "bytes a clock and multiprocessor", ""}};
    return record;
}

}  // namespace boxsum::bench
