#include "competitors/device_kernels.hpp"
#include "competitors/opencv_cuda.hpp"
#include "measure/json_line.hpp"
#include "sat_runners.hpp"
#include "sat_sections.hpp"

namespace boxsum::bench {
namespace {

void peer_line(const std::string& name, type_pair types, std::int64_t n, double us, double reference,
               const std::string& verdict) {
    json_line()
        .text("section", "peers")
        .text("peer", name)
        .text("types", name_of(types))
        .number("n", static_cast<double>(n))
        .number("us", us)
        .number("x", us / reference)
        .text("check", verdict)
        .print();
}

}  // namespace

void peers_section(cuda::stream_ref stream) {
    for (const type_pair types : {type_pair{dtype::f32, dtype::f32}, {dtype::u8, dtype::u32}})
        for (const std::int64_t n : {1024, 4096, 8192, 16384}) {
            // NPP's table is padded; the others leave its last row and column alone.
            const buffer_sets sets(packed(types.input, n, n), packed(types.table, n + 1, n + 1), {}, stream);
            const buffer_sets inclusive(packed(types.input, n, n), packed(types.table, n, n), {}, stream);
            const planned_table ours(inclusive, table_layout::inclusive, "auto", stream);
            std::vector<runner> runners = references(inclusive);
            const std::size_t first = runners.size();
            runners.push_back(ours.as_runner());
            runners.push_back({"cub-two-pass", [&](int set, cuda::stream_ref s) {
                                   cub_two_pass(types.input, sets.image(set).data, sets.table(set).data, n, s);
                               }});
            if (npp_available() && types.input == dtype::u8)
                runners.push_back({"npp nppiIntegral_8u32s", [&](int set, cuda::stream_ref s) {
                                       npp_integral(dtype::s32, sets.image(set).data, sets.table(set).data, n, s);
                                   }});
            if (opencv_cuda_available() && types.input == dtype::u8)
                runners.push_back({"opencv cuda cv::cuda::integral", [&](int set, cuda::stream_ref s) {
                                       opencv_cuda_integral(sets.image(set).data, sets.table(set).data, n, s);
                                   }});
            const std::vector<double> us = times_of(runners, 8, false, stream);
            std::vector<double> reference_us(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(first));
            const double reference = best_reference(types, runners, reference_us, 0).us;
            for (std::size_t i = first; i < us.size(); ++i) {
                runners[i].launch(0, stream);
                const bool padded = runners[i].name.starts_with("npp") || runners[i].name.starts_with("opencv");
                const any_view table = i == first ? inclusive.table(0)
                                       : padded   ? sets.table(0)
                                                  : any_view{sets.table(0).data, packed(types.table, n, n)};
                peer_line(runners[i].name, types, n, us[i], reference,
                          verdict_on(i == first ? inclusive.image(0) : sets.image(0), table,
                                     padded ? table_layout::padded : table_layout::inclusive, stream));
            }
        }
    if (!npp_available()) json_line().text("section", "peers").text("peer", "npp").text("note", "not found").print();
    if (!opencv_cuda_available())
        json_line().text("section", "peers").text("peer", "opencv cuda").text("note", opencv_cuda_absent).print();
}

}  // namespace boxsum::bench
