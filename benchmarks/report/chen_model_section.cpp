// Chen et al. 2018, section V: latencies measured and printed, and what the model makes of them.

#include "model/chen_model.hpp"
#include "papers/printed.hpp"
#include "report/axis.hpp"
#include "report/query.hpp"
#include "report/sections.hpp"

namespace boxsum::bench {
namespace {

std::optional<double> measured(const bench_record& record, const std::string& name) {
    for (const micro_row& m : record.micro)
        if (m.name == name) return m.value;
    return {};
}

chen::gpu printed_gpu(const std::string& name) {
    const auto& section_5 = printed("chen-2018")["section_5"];
    const auto& g = section_5["gpus"][name];
    const auto& throughput = section_5["throughput_per_clock"];
    return {name,
            g["shared_latency"],
            g["shuffle_latency"],
            g["add_latency"],
            g["and_latency"],
            throughput["shuffle"],
            throughput["add"],
            throughput["and"]};
}

/// This machine, where all that the model needs was measured.
std::optional<chen::gpu> measured_gpu(const bench_record& record) {
    const auto shared = measured(record, "shared memory latency"), shuffle = measured(record, "shuffle latency"),
               add = measured(record, "addition latency"), conjunction = measured(record, "AND latency");
    if (!shared || !shuffle || !add || !conjunction) return {};
    chen::gpu g = printed_gpu("V100");  // throughputs: of the programming manual, the same since
    g.name = record.origin.device;
    g.shared_latency = *shared;
    g.shuffle_latency = *shuffle;
    g.add_latency = *add;
    g.and_latency = *conjunction;
    if (const auto bytes = measured(record, "shared memory bandwidth")) g.shared_bytes_per_clock = *bytes;
    return g;
}

table micro_table(const bench_record& record, const std::vector<chen::gpu>& gpus) {
    table t{"Micro-benchmarks (section V.A)", {"what", "unit", "this machine"}, {}, {}, 2};
    for (const chen::gpu& g : gpus) t.head.push_back(g.name + ", printed");
    struct line {
        const char *name, *unit;
        double chen::gpu::*value;
    };
    for (const line& l : {line{"shared memory latency", "clocks", &chen::gpu::shared_latency},
                          line{"shuffle latency", "clocks", &chen::gpu::shuffle_latency},
                          line{"addition latency", "clocks", &chen::gpu::add_latency},
                          line{"AND latency", "clocks", &chen::gpu::and_latency}}) {
        std::vector<cell> cells{{l.name}, {l.unit}, number_cell(measured(record, l.name))};
        for (const chen::gpu& g : gpus) cells.push_back({short_number(g.*l.value)});
        t.rows.push_back(std::move(cells));
    }
    for (const micro_row& m : record.micro) {
        bool shown = false;
        for (const auto& row : t.rows) shown = shown || row[0].text == m.name;
        if (shown) continue;
        t.rows.push_back({{m.name}, {m.unit}, number_cell(m.value), {"-", emphasis::muted}, {"-", emphasis::muted}});
    }
    if (record.micro.empty()) t.note = "Not measured in this record (the micro-benchmarks need a GPU).";
    return t;
}

table counts_table() {
    const chen::counts n = chen::counts_for();
    const auto& paper = printed("chen-2018")["section_5"]["printed"];
    table t{
        "Counts for one warp and one 32 x 32 matrix (section V.B)", {"symbol", "our evaluation", "printed"}, {}, {}, 1};
    const auto line = [&](const char* symbol, std::int64_t value) {
        t.rows.push_back({{symbol}, {std::to_string(value)}, {paper[symbol].dump()}});
    };
    line("N_trans_store_smem", n.trans_store_smem);
    line("N_trans_load_smem", n.trans_load_smem);
    line("N_trans_stage", n.trans_stage);
    line("N_scan_row_stage", n.scan_row_stage);
    line("N_scan_row_sfl", n.scan_row_sfl);
    line("N_Kogge-Stone_add", n.kogge_stone_add);
    line("N_LF_add", n.lf_add);
    line("N_LF_and", n.lf_and);
    line("N_scan_col_stage", n.scan_col_stage);
    line("N_scan_col_add", n.scan_col_add);
    return t;
}

}  // namespace

section chen_model_section(const bench_record& record) {
    section s{"chen-model", "Chen et al. 2018, section V: micro-benchmarks and model", {}};
    std::vector<chen::gpu> gpus{printed_gpu("P100"), printed_gpu("V100")};
    s.blocks.push_back(micro_table(record, gpus));
    s.blocks.push_back(counts_table());
    if (const auto own = measured_gpu(record)) gpus.insert(gpus.begin(), *own);

    const chen::counts n = chen::counts_for();
    table latencies{"Equations 3 to 5, clocks (the paper prints 2304, 6240 and 186, with P100's latencies)",
                    {"GPU", "L_transpose (3)", "L_scan_row (4)", "L_scan_col (5)"},
                    {},
                    {},
                    1};
    table times{
        "Equations 10 to 13 for one matrix of 4-byte elements, clocks of a multiprocessor",
        {"time"},
        {{{"T_trans (10)"}},
         {{"T_scan_col_add (11)"}},
         {{"T_shuffle (12), as printed"}},
         {{"T_shuffle, lanes counted"}},
         {{"T_Kogge-Stone_add (13)"}},
         {{"T_LF_add"}},
         {{"T_LF_and"}}},
        "Throughputs as printed (shuffle 32, addition and AND 64 operations a clock); shared memory 32 banks of "
        "4 bytes a clock, or as measured.",
        1};
    table verdicts{"Inequalities 6, 14 and 15",
                   {"GPU", "equation", "statement", "left", "right", "holds"},
                   {},
                   "The comparison alone; how much is \"much\" the paper leaves open.",
                   3};
    for (const chen::gpu& g : gpus) {
        const chen::latencies l = chen::latencies_of(n, g);
        latencies.rows.push_back(
            {{g.name}, {short_number(l.transpose)}, {short_number(l.scan_row)}, {short_number(l.scan_col)}});
        const chen::times t = chen::times_of(n, g, 4);
        times.head.push_back(g.name);
        const double values[] = {t.trans,           t.scan_col_add, t.shuffle, t.shuffle_lanes,
                                 t.kogge_stone_add, t.lf_add,       t.lf_and};
        for (std::size_t i = 0; i < times.rows.size(); ++i) times.rows[i].push_back({short_number(values[i])});
        for (const chen::verdict& v : chen::verdicts_of(n, g, 4))
            verdicts.rows.push_back({{g.name},
                                     {v.name},
                                     {v.formula},
                                     {short_number(v.left)},
                                     {short_number(v.right)},
                                     {v.holds ? "yes" : "no"}});
    }
    s.blocks.push_back(std::move(latencies));
    s.blocks.push_back(std::move(times));
    s.blocks.push_back(std::move(verdicts));

    table warps{
        "Equations 7 to 9: warps in flight, for the paper's blocks (4-byte elements, 32 x 33 buffers)",
        {"GPU", "block", "registers a thread", "shared a block", "N_wpb (7)", "N_active_warps (8)", "GB/s a warp (9)"},
        {},
        "Registers a thread are assumed (32 for the matrix and 32 more; the paper prints none); register file 256 "
        "KB, shared memory 64 KB (P100) and 96 KB (V100) a multiprocessor as in Table I; S = 8 buffers of 32 x 33 "
        "(section IV); at most 32 blocks a multiprocessor (the manual's).",
        1};
    for (const auto& [name, shared_kb] : {std::pair{"P100", 64}, std::pair{"V100", 96}}) {
        const auto& g = printed("chen-2018")["section_5"]["gpus"][name];
        const chen::occupancy o{g["multiprocessors"], 65536, 64, shared_kb * 1024, 8 * 32 * 33 * 4, 1024};
        const std::int64_t active = chen::active_warps(o);
        warps.rows.push_back({{name},
                              {"1024"},
                              {"64"},
                              {std::to_string(o.shared_block)},
                              {std::to_string(chen::warps_per_block(o.block_size))},
                              {std::to_string(active)},
                              {short_number(chen::bandwidth_of_warp(g["shared_gb_per_s"], active))}});
    }
    s.blocks.push_back(std::move(warps));

    s.blocks.push_back(paragraph{"Where the paper's text does not agree with itself:"});
    for (const std::string& text : chen::disagreements()) s.blocks.push_back(paragraph{text});
    return s;
}

}  // namespace boxsum::bench
