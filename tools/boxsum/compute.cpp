#include "compute.hpp"

#include "device.hpp"
#include "errors.hpp"
#include "image_io/input_file.hpp"
#include "image_io/memory_limit.hpp"
#include "machine_info.hpp"
#include "option_types.hpp"
#include "pixels.hpp"
#include "text_output.hpp"

#include <boxsum/algorithms.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace boxsum::cli {
namespace {

writable_image allocate_table(const view_shape& image, dtype type, const table_form& form) {
    constexpr std::int64_t line = 64;
    view_shape s = packed_shape(type, form.table_extent(image.rows), form.table_extent(image.cols), image.channels);
    s.row_stride = (s.row_stride + line - 1) / line * line;
    if (__builtin_mul_overflow(s.rows, s.row_stride, &s.plane_stride))
        throw input_error("the table of " + std::to_string(s.rows) + " x " + std::to_string(s.cols) +
                          " overflows 64 bits");
    return allocate_image(s);
}

template <typename From, typename To, typename Convert>
image converted(const image& source, Convert convert) {
    const view_shape& s = source.view.shape;
    const writable_image wide = allocate_image(packed_shape(dtype_of<To>, s.rows, s.cols, s.channels));
    for (std::int64_t r = 0; r < s.rows; ++r) {
        const auto* from =
            reinterpret_cast<const From*>(static_cast<const std::byte*>(source.view.data) + r * s.row_stride);
        auto* to = reinterpret_cast<To*>(wide.row(r));
        for (std::int64_t i = 0; i < s.cols * s.channels; ++i) to[i] = convert(from[i]);
    }
    return wide;
}

}  // namespace

void add_compute_options(CLI::App& command, compute_options& options) {
    add_device_options(command, options.device, options.threads);
    command.add_option("--algorithm", options.algorithm, "a name of 'boxsum algorithms', or auto")
        ->capture_default_str();
    command.add_option("--param", options.parameters, "name=value, a parameter of the algorithm; may be repeated")
        ->allow_extra_args(false);
    add_parsed(command, "--store", options.store,
               one_of<store_policy>({{"automatic", store_policy::automatic},
                                     {"cached", store_policy::cached},
                                     {"streaming", store_policy::streaming}}),
               "is none of automatic, cached, streaming",
               "how the CPU writes the table: automatic, cached or streaming")
        ->default_str("automatic");
}

std::string joined_parameters(operation what, const std::string& algorithm_name,
                              const std::vector<std::string>& parameters) {
    if (parameters.empty()) return {};
    if (algorithm_name == "auto") throw usage_error("--param: needs --algorithm, whose parameter it sets");
    const algorithm_info* algorithm = find_algorithm(what, algorithm_name);
    std::string joined;
    for (const std::string& text : parameters) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || text.find(',') != std::string::npos)
            throw usage_error("--param: '" + text + "' is not name=value");
        if (algorithm != nullptr) {  // an unknown algorithm is reported by the library
            const auto known = std::find_if(algorithm->parameters.begin(), algorithm->parameters.end(),
                                            [&](const parameter& p) { return p.name == text.substr(0, equals); });
            if (known == algorithm->parameters.end())
                throw usage_error("--param: algorithm '" + algorithm_name + "' has no parameter '" +
                                  text.substr(0, equals) + "' (see 'boxsum algorithms --params')");
            if (std::find(known->values.begin(), known->values.end(), text.substr(equals + 1)) == known->values.end())
                throw usage_error("--param: parameter '" + std::string(known->name) + "' cannot be '" +
                                  text.substr(equals + 1) + "' (see 'boxsum algorithms --params')");
        }
        joined.append(joined.empty() ? "" : ",").append(text);
    }
    return joined;
}

dtype widest_table_type(dtype image) noexcept {
    return is_floating(image) ? dtype::f64 : is_signed(image) ? dtype::s64 : dtype::u64;
}

std::optional<dtype> widest_squares_type(dtype image, dtype table) noexcept {
    std::optional<dtype> best;
    const auto rank = [](dtype t) { return t == dtype::u64 ? 3 : t == dtype::f64 ? 2 : 1; };
    for (const squares_triple& t : squares_triples())
        if (t.input == image && t.table == table && (!best || rank(t.squares) > rank(*best))) best = t.squares;
    return best;
}

image narrowed(const image& source, std::size_t bits, std::initializer_list<dtype> types,
               std::span<const double> others) {
    const view_shape& s = source.view.shape;
    if (is_floating(s.type) || 8 * size_of(s.type) < bits) return source;
    return visit_type(s.type, [&]<typename T>(std::type_identity<T>) -> image {
        if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
            T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
            for (std::int64_t r = 0; r < s.rows; ++r) {
                const T* const row = row_as<T>(source.view, r);
                const auto [low, high] = std::minmax_element(row, row + s.cols * s.channels);
                least = std::min(least, *low);
                most = std::max(most, *high);
            }
            for (const double other : others) {
                constexpr double least_of_all = std::numeric_limits<T>::min();
                const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
                if (!(other >= least_of_all && other < beyond) || other != std::floor(other)) continue;
                least = std::min(least, static_cast<T>(other));
                most = std::max(most, static_cast<T>(other));
            }
            for (const dtype type : types) {
                const bool fits = visit_type(type, [&]<typename N>(std::type_identity<N>) {
                    if constexpr (std::is_integral_v<N>)
                        return std::in_range<N>(least) && std::in_range<N>(most);
                    else  // a double holds them exactly
                        return std::in_range<std::int64_t>(most) && std::abs(static_cast<double>(least)) <= 0x1p53 &&
                               std::abs(static_cast<double>(most)) <= 0x1p53;
                });
                if (!fits) continue;
                image result = source;
                const writable_image copy = allocate_image(packed_shape(type, s.rows, s.cols, s.channels));
                for (std::int64_t r = 0; r < s.rows; ++r) {
                    const T* const from = row_as<T>(source.view, r);
                    visit_type(type, [&]<typename N>(std::type_identity<N>) {
                        if constexpr (!std::is_same_v<N, float16>)
                            std::transform(from, from + s.cols * s.channels, row_as<N>(copy.view, r),
                                           [](T value) { return static_cast<N>(value); });
                    });
                }
                result.view = copy.view;
                result.owner = copy.owner;
                return result;
            }
        }
        return source;
    });
}

image widened(const image& source) {
    const auto plain = [](auto x) { return static_cast<double>(x); };
    switch (source.view.shape.type) {
        case dtype::f16:
            return converted<float16, float>(source, [](float16 x) { return to_float(x); });
        case dtype::s16:
            return converted<std::int16_t, double>(source, plain);
        case dtype::s32:
            return converted<std::int32_t, double>(source, plain);
        case dtype::u32:
            return converted<std::uint32_t, double>(source, plain);
        default:
            return source;
    }
}

computed_tables compute_tables(const image& source, table_form form, dtype table, std::optional<dtype> squares,
                               const compute_options& options) {
    const bool widen = source.view.shape.type == dtype::f16 && (table != dtype::f32 || squares);
    const image input = widen ? widened(source) : source;

    const view_shape& s = input.view.shape;
    const auto entries = static_cast<std::uint64_t>((s.rows + 1) * s.channels) * static_cast<std::uint64_t>(s.cols + 1);
    check_memory(entries * (size_of(table) + (squares ? size_of(*squares) : 0)), squares ? "two tables" : "the table");

    computed_tables result;
    result.sums = allocate_table(input.view.shape, table, form);
    if (squares) result.squares = allocate_table(input.view.shape, *squares, form);

    table_job job{{input.view}, {{result.sums.view, form}}, {}};
    if (squares) job.outputs.squares = {result.squares->view, form};
    job.options.algorithm = options.algorithm;
    job.options.parameters = joined_parameters(operation::sat, options.algorithm, options.parameters);
    job.options.threads = bounded_threads(options.threads);
    job.options.store = options.store;

    const auto start = std::chrono::steady_clock::now();
    result.device = compute_on(options.device, job);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace boxsum::cli
