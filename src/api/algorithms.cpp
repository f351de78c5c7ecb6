#include "api/registry.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/error.hpp>

#include <string>
#include <vector>

namespace boxsum {
namespace {

std::vector<const algorithm_info*> infos_of(operation what) {
    std::vector<const algorithm_info*> infos;
    for (const algorithm_record* record : registry(what)) infos.push_back(&record->info);
    return infos;
}

view_shape packed_table(const view_shape& image, dtype type, const table_form& form) {
    return packed_shape(type, image.planes, form.table_extent(image.rows), form.table_extent(image.cols),
                        image.channels);
}

}  // namespace

std::string_view name_of(operation what) noexcept {
    return what == operation::sat ? "sat" : what == operation::histogram ? "histogram" : "convolve";
}

std::span<const algorithm_info* const> algorithms(operation what) {
    static const std::vector<const algorithm_info*> sat = infos_of(operation::sat);
    static const std::vector<const algorithm_info*> histogram = infos_of(operation::histogram);
    static const std::vector<const algorithm_info*> convolve = infos_of(operation::convolve);
    return what == operation::sat ? sat : what == operation::histogram ? histogram : convolve;
}

const algorithm_info* find_algorithm(operation what, std::string_view name) noexcept {
    const algorithm_record* record = find_record(what, name);
    return record == nullptr ? nullptr : &record->info;
}

support supports(const algorithm_info& algorithm, const view_shape& image, dtype sums, table_form form,
                 std::optional<dtype> squares, std::string_view parameters) {
    if (algorithm.what != operation::sat) return {false, "it does not make tables"};
    const algorithm_record* record = find_record(algorithm.what, algorithm.name);
    if (record == nullptr) return {false, "it is not registered"};
    checked_reach("image", image, access::read);
    try {
        const problem p =
            make_problem(image, packed_table(image, sums, form),
                         squares ? std::optional<view_shape>(packed_table(image, *squares, form)) : std::nullopt, form);
        return check_support(*record, p, parse_parameters(*record, parameters));
    } catch (const unsupported& e) {  // a type pair outside the closed list is an answer here, not a mistake
        return {false, e.what()};
    }
}

}  // namespace boxsum
