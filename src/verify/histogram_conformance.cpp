#include "verify/histogram_conformance.hpp"

#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

namespace boxsum {
namespace {

constexpr std::byte poison{0xa5};
constexpr std::int64_t guard = 256;  // poisoned bytes before and after a block; a multiple of 64

std::uint64_t mix(std::uint64_t x) {  // SplitMix64 (Steele, Lea, Flood 2014)
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

template <typename T>
std::string value_text(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return text_of(static_cast<double>(value));
    else
        return std::to_string(value);
}

// ---- What a case consists of ---------------------------------------------------------------------------------------

struct range {
    double lo, hi;
};

/// Ranges whose ends lie inside the type, and whose bins are no whole number of values wide.
range range_for(dtype input) {
    switch (input) {
        case dtype::u8:
            return {10, 246.5};
        case dtype::u16:
            return {100, 60001};
        case dtype::s32:
            return {-70000, 100003};
        default:
            return {-1, 1.1};
    }
}

binning binning_of(const histogram_case& c) {
    if (c.rule == bin_rule::indices) return binning::indices(c.bins, c.outside);
    if (c.rule == bin_rule::uniform) {
        const range r = range_for(c.input);
        return binning::uniform(c.bins, r.lo, r.hi, c.outside);
    }
    std::vector<std::uint16_t> table(c.input == dtype::u8 ? 256 : 65536);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const std::uint64_t bits = mix(c.seed * 77 + i);
        table[i] = bits % 11 == 0 ? binning::no_bin
                                  : static_cast<std::uint16_t>((bits >> 8) % static_cast<std::uint64_t>(c.bins));
    }
    return binning::lookup(c.bins, table);
}

std::int64_t stride_of(std::int64_t cols, std::int64_t gap, std::int64_t element) {
    return gap < 0 ? (cols * element + 63) / 64 * 64 : (cols + gap) * element;
}

view_shape image_shape(const histogram_case& c, dtype type) {
    view_shape s{type, c.planes, c.rows, c.cols, 1, 0, 0};
    const auto element = static_cast<std::int64_t>(size_of(type));
    s.row_stride = stride_of(s.cols, c.image_gap, element);
    s.plane_stride = s.rows * s.row_stride + std::max<std::int64_t>(c.image_gap, 0) * element;
    return s;
}

tensor_shape shape_of_tensor(const histogram_case& c) {
    tensor_shape s{c.tensor,
                   c.planes,
                   c.bins,
                   table_form(c.layout).table_extent(c.rows),
                   table_form(c.layout).table_extent(c.cols),
                   0,
                   0,
                   0};
    const auto element = static_cast<std::int64_t>(size_of(c.tensor));
    const std::int64_t gap = std::max<std::int64_t>(c.tensor_gap, 0) * element;
    s.row_stride = stride_of(s.cols, c.tensor_gap, element);
    s.bin_stride = s.rows * s.row_stride + gap;
    s.plane_stride = s.bins * s.bin_stride + gap;
    return s;
}

std::optional<view_shape> weights_shape(const histogram_case& c) {
    return c.tensor == dtype::f32 ? std::optional<view_shape>(image_shape(c, dtype::f32)) : std::nullopt;
}

/// Poisoned bytes whose first element lies `offset` elements behind a 64-byte boundary.
struct block {
    block(std::int64_t bytes, std::int64_t offset_bytes)
        : memory(static_cast<std::size_t>(bytes + offset_bytes + 2 * guard + 64), poison) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
        first = guard + offset_bytes + static_cast<std::int64_t>((64 - address % 64) % 64);
    }
    std::byte* data() { return memory.data() + first; }

    std::vector<std::byte> memory;
    std::int64_t first = 0;
};

template <typename Pixel>
Pixel near(double value, std::uint64_t bits) {  // the value, or one step of the type beside it
    if constexpr (std::is_floating_point_v<Pixel>) {
        const auto v = static_cast<Pixel>(value);
        constexpr Pixel inf = std::numeric_limits<Pixel>::infinity();
        return bits % 3 == 0 ? v : std::nextafter(v, bits % 3 == 1 ? inf : -inf);
    } else {
        const double step = static_cast<double>(bits % 3) - 1;
        return static_cast<Pixel>(std::clamp(std::ceil(value) + step,
                                             static_cast<double>(std::numeric_limits<Pixel>::min()),
                                             static_cast<double>(std::numeric_limits<Pixel>::max())));
    }
}

template <typename Pixel>
Pixel outside_value(const range& r, std::uint64_t bits) {
    using limits = std::numeric_limits<Pixel>;
    if constexpr (std::is_floating_point_v<Pixel>) {
        const std::array<Pixel, 7> values{
            limits::quiet_NaN(), limits::infinity(),       -limits::infinity(),         limits::max(),
            limits::lowest(),    static_cast<Pixel>(r.hi), static_cast<Pixel>(r.lo - 1)};
        return values[bits % values.size()];
    } else {
        return bits % 4 == 0   ? limits::min()
               : bits % 4 == 1 ? limits::max()
                               : near<Pixel>(bits % 4 == 2 ? r.lo : r.hi, bits >> 8);
    }
}

template <typename Pixel>
Pixel pixel_value(const histogram_case& c, std::uint64_t index, std::uint64_t bits) {
    const auto bins = static_cast<std::uint64_t>(c.bins);
    const range r = c.rule == bin_rule::indices ? range{0, static_cast<double>(c.bins)} : range_for(c.input);
    const double width = (r.hi - r.lo) / static_cast<double>(c.bins);
    const auto middle_of = [&](std::uint64_t bin) {
        const double v = r.lo + (static_cast<double>(bin) + 0.5) * width;
        if constexpr (std::is_floating_point_v<Pixel>)
            return static_cast<Pixel>(v);
        else
            return static_cast<Pixel>(std::min(std::floor(v), static_cast<double>(std::numeric_limits<Pixel>::max())));
    };
    switch (c.contents) {
        case histogram_pattern::one_bin:
            return middle_of(c.seed % bins);
        case histogram_pattern::each_bin:
            return middle_of(index % bins);
        case histogram_pattern::edges:
            return near<Pixel>(r.lo + static_cast<double>(bits % (bins + 1)) * width, bits >> 20);
        case histogram_pattern::outside:
            if (bits % 2 == 0) return outside_value<Pixel>(r, bits >> 8);
            break;
        case histogram_pattern::random:
            break;
    }
    const double v = r.lo + (std::ldexp(static_cast<double>(bits >> 12), -52) * 1.1 - 0.05) * (r.hi - r.lo);
    if constexpr (std::is_floating_point_v<Pixel>)
        return static_cast<Pixel>(v);
    else
        return static_cast<Pixel>(std::clamp(std::floor(v), static_cast<double>(std::numeric_limits<Pixel>::min()),
                                             static_cast<double>(std::numeric_limits<Pixel>::max())));
}

void fill_image(const histogram_case& c, void* data, const view_shape& s) {
    visit_one_of(histogram_pixels{}, s.type, [&]<typename Pixel>() {
        const image_view<Pixel> view(static_cast<Pixel*>(data), s.rows, s.cols, s.row_stride, 1, s.planes,
                                     s.plane_stride);
        std::uint64_t index = 0;
        for (std::int64_t plane = 0; plane < s.planes; ++plane)
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t col = 0; col < s.cols; ++col, ++index)
                    view(r, col, 0, plane) = pixel_value<Pixel>(c, index, mix(c.seed * 1000003 + index));
    });
}

void fill_weights(const histogram_case& c, void* data, const view_shape& s) {
    const image_view<float> view(static_cast<float*>(data), s.rows, s.cols, s.row_stride, 1, s.planes, s.plane_stride);
    std::uint64_t index = 0;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t col = 0; col < s.cols; ++col, ++index) {
                const std::uint64_t bits = mix(c.seed * 31 + 5 + index);
                float w = std::ldexp(static_cast<float>(bits >> 40), -23) - 1.0f;
                if (c.contents == histogram_pattern::outside && bits % 211 == 0) {
                    constexpr float inf = std::numeric_limits<float>::infinity();
                    w = bits % 3 == 0 ? inf : bits % 3 == 1 ? -inf : std::numeric_limits<float>::quiet_NaN();
                }
                view(r, col, 0, plane) = w;
            }
}

// ---- The check -----------------------------------------------------------------------------------------------------

/// A direct count of one bin, row after row, and its comparison with the table. Entries that are right become poison
/// again, so that afterwards every byte of the block must be poison.
class bin_check {
  public:
    bin_check(const problem& p, std::int64_t depth) : p_(p) {
        bins_.resize(static_cast<std::size_t>(p.image.planes * p.image.rows * p.image.cols));
        const double unit = std::ldexp(static_cast<double>(depth), -24);
        gamma_ = unit < 1 ? unit / (1 - unit) : std::numeric_limits<double>::infinity();
    }

    template <typename Pixel>
    void read_image(const binning& bins, const void* data) {
        const auto image = typed_view<Pixel>(data, p_.image);
        auto out = bins_.begin();
        for (std::int64_t plane = 0; plane < p_.image.planes; ++plane)
            for (std::int64_t r = 0; r < p_.image.rows; ++r)
                for (std::int64_t c = 0; c < p_.image.cols; ++c, ++out)
                    *out = static_cast<std::int16_t>(bins.bin_of(static_cast<double>(image(r, c, 0, plane))));
    }

    template <typename Entry>
    std::optional<std::string> run(const buffers& memory, std::int64_t bin, std::int64_t plane) {
        if constexpr (std::is_floating_point_v<Entry>)
            if (p_.histogram->weights) {
                const auto weights = typed_view<float>(memory.weights, *p_.histogram->weights);
                return compare<Entry, weight_total>(memory, bin, plane, [&](std::int64_t r, std::int64_t c) {
                    const float w = weights(r, c, 0, plane);
                    return weight_total{w, std::abs(w)};
                });
            }
        return compare<Entry, pixel_total>(memory, bin, plane, [](auto...) { return pixel_total{1}; });
    }

  private:
    struct weight_total {
        long double sum = 0, magnitude = 0;

        void add(const weight_total& other) {
            sum += other.sum;
            magnitude += other.magnitude;
        }
    };

    /// Without weights the sum is a number, which takes a fraction of the time of two long doubles.
    struct pixel_total {
        std::uint64_t sum = 0;

        void add(const pixel_total& other) { sum += other.sum; }
    };

    template <typename Entry, typename Total, typename Pixel>
    std::optional<std::string> compare(const buffers& memory, std::int64_t bin, std::int64_t plane,
                                       Pixel&& total_of_pixel) const {
        const auto table = table_of_bin<Entry>(p_, memory.table, bin, plane);
        const std::int64_t shift = first_pixel_offset(p_), rows = p_.image.rows, cols = p_.image.cols;
        std::vector<Total> columns(static_cast<std::size_t>(cols));
        for (std::int64_t r = 0; r < table.rows(); ++r) {
            Entry* const entries = table.row(r);
            const std::int16_t* const bins = r < shift ? nullptr : bins_.data() + (plane * rows + r - shift) * cols;
            Total row;
            for (std::int64_t col = 0; col < table.cols(); ++col) {
                Total expected;
                if (r >= shift && col >= shift) {
                    if (bins[col - shift] == bin) row.add(total_of_pixel(r - shift, col - shift));
                    Total& column = columns[static_cast<std::size_t>(col - shift)];
                    column.add(row);
                    expected = column;
                }
                if (!agrees(entries[col], expected))
                    return "bin " + std::to_string(bin) + ", plane " + std::to_string(plane) + ", row " +
                           std::to_string(r) + ", col " + std::to_string(col) + " is " + value_text(entries[col]) +
                           ", expected " +
                           (std::is_floating_point_v<Entry> ? text_of(static_cast<double>(expected.sum))
                                                            : value_text(static_cast<Entry>(expected.sum)));
                std::memset(entries + col, static_cast<int>(poison), sizeof(Entry));
            }
        }
        return {};
    }

    template <typename Entry>
    bool agrees(Entry entry, const pixel_total& expected) const {
        if constexpr (std::is_integral_v<Entry>)
            return entry == static_cast<Entry>(expected.sum);
        else
            return agrees(entry,
                          weight_total{static_cast<long double>(expected.sum), static_cast<long double>(expected.sum)});
    }

    template <typename Entry>
    bool agrees(Entry entry, const weight_total& expected) const {
        if (std::isnan(expected.sum)) return std::isnan(entry);
        if (std::isinf(expected.sum)) return static_cast<long double>(entry) == expected.sum;
        return std::abs(static_cast<long double>(entry) - expected.sum) <= gamma_ * expected.magnitude;
    }

    const problem& p_;
    std::vector<std::int16_t> bins_;  ///< of all pixels
    double gamma_ = 0;
};

std::optional<std::string> check_tensor_contents(const problem& p, const binning& bins, const buffers& memory,
                                                 std::int64_t depth) {
    bin_check check(p, depth);
    std::optional<std::string> wrong;
    visit_one_of(histogram_pixels{}, p.image.type,
                 [&]<typename Pixel>() { check.read_image<Pixel>(bins, memory.image); });
    visit_one_of(histogram_entries{}, p.table.type, [&]<typename Entry>() {
        for (std::int64_t plane = 0; plane < p.image.planes && !wrong; ++plane)
            for (std::int64_t bin = 0; bin < bins.bins() && !wrong; ++bin) wrong = check.run<Entry>(memory, bin, plane);
    });
    return wrong;
}

constexpr std::array pattern_names{"random", "edges", "one-bin", "each-bin", "outside"};

std::string place(std::int64_t gap, std::int64_t offset) {
    return (gap < 0 ? std::string("aligned rows") : "gap " + std::to_string(gap)) + " offset " + std::to_string(offset);
}

std::string_view text_of(store_policy store) {
    return store == store_policy::automatic ? "automatic" : store == store_policy::cached ? "cached" : "streaming";
}

std::string_view text_of(bin_rule rule) {
    return rule == bin_rule::uniform ? "uniform" : rule == bin_rule::lookup ? "lookup" : "indices";
}

}  // namespace

std::string_view name_of(histogram_pattern p) noexcept {
    return pattern_names[static_cast<std::size_t>(p)];
}

std::string describe(const histogram_case& c) {
    return name_of(type_pair{c.input, c.tensor}) + " " + std::string(name_of(c.layout)) + " " +
           std::to_string(c.planes) + " x " + std::to_string(c.bins) + " bins x " + std::to_string(c.rows) + " x " +
           std::to_string(c.cols) + ", " + std::string(text_of(c.rule)) +
           (c.outside == out_of_range::clamped ? " clamped" : "") + ", image " + place(c.image_gap, c.image_offset) +
           ", tensor " + place(c.tensor_gap, c.tensor_offset) + ", " + std::string(name_of(c.contents)) + " seed " +
           std::to_string(c.seed) + ", threads " + std::to_string(c.threads) + ", stores " +
           std::string(text_of(c.store));
}

problem problem_of(const histogram_case& c) {
    return make_histogram_problem({image_shape(c, c.input), {shape_of_tensor(c), c.layout}, weights_shape(c)},
                                  binning_of(c));
}

void run_histogram_on_host(const algorithm_record& record, const problem& p, const buffers& memory,
                           const execution& how) {
    record.enqueue(p, memory, how);
}

std::optional<std::string> check_histogram_record(const algorithm_record& record, const histogram_case& c,
                                                  const parameter_values& parameters, const histogram_runner& run) {
    const problem p = problem_of(c);
    const binning bins = binning_of(c);
    const auto element = static_cast<std::int64_t>(size_of(c.input));
    const auto entry = static_cast<std::int64_t>(size_of(c.tensor));
    const tensor_shape shape = shape_of_tensor(c);
    block image(p.image.planes * p.image.plane_stride, c.image_offset * element);
    block weights(p.histogram->weights ? p.image.planes * p.histogram->weights->plane_stride : 0, c.image_offset * 4);
    block tensor(shape.planes * shape.plane_stride, c.tensor_offset * entry);
    fill_image(c, image.data(), p.image);
    if (p.histogram->weights) fill_weights(c, weights.data(), *p.histogram->weights);

    buffers memory;
    memory.image = image.data();
    memory.table = tensor.data();
    memory.weights = p.histogram->weights ? weights.data() : nullptr;
    memory.lookup = bins.rule() == bin_rule::lookup ? bins.table().data() : nullptr;
    execution how;
    how.parameters = parameters;
    how.threads = c.threads;
    how.store = c.store;
    const std::vector<std::byte> image_before = image.memory, weights_before = weights.memory;
    run(record, p, memory, how);

    std::optional<std::string> wrong = check_tensor_contents(p, bins, memory, record.addition_depth(p, parameters));
    // Standard libraries compare vectors of std::byte a byte at a time.
    if (!wrong && std::memcmp(image.memory.data(), image_before.data(), image_before.size()) != 0)
        wrong = "image: was changed";
    if (!wrong && weights.memory != weights_before) wrong = "weights: were changed";
    if (!wrong) {
        const auto written =
            std::find_if(tensor.memory.begin(), tensor.memory.end(), [](std::byte b) { return b != poison; });
        if (written != tensor.memory.end())
            wrong = "tensor: byte " + std::to_string(written - tensor.memory.begin() - tensor.first) +
                    " from its first element was written, but belongs to no element";
    }
    if (wrong) *wrong = std::string(record.info.name) + ", " + describe(c) + ": " + *wrong;
    return wrong;
}

namespace {

struct extents {
    std::int64_t rows, cols;
};
constexpr std::array<extents, 19> full_shapes{{{1, 1},
                                               {1, 2},
                                               {2, 1},
                                               {1, 257},
                                               {257, 1},
                                               {3, 5},
                                               {7, 33},
                                               {31, 31},
                                               {32, 32},
                                               {33, 65},
                                               {63, 127},
                                               {64, 128},
                                               {5, 64},
                                               {6, 63},
                                               {65, 129},
                                               {129, 255},
                                               {1, 4099},
                                               {300, 217},
                                               {521, 700}}};
constexpr std::array<extents, 6> quick_shapes{{{1, 1}, {1, 257}, {33, 65}, {64, 128}, {129, 255}, {300, 217}}};

constexpr std::array<std::int64_t, 11> bin_counts{16, 1, 32, 5, 255, 2, 256, 64, 257, 1024, 7};

struct memory_layout {
    std::int64_t image_gap, tensor_gap, image_offset, tensor_offset;
};
constexpr std::array<memory_layout, 5> memory_layouts{
    {{-1, -1, 0, 0}, {0, 0, 0, 0}, {3, 1, 1, 3}, {0, -1, 3, 0}, {16, 5, 0, 16}}};

/// Entries of a case's tensor, at most: the check of the rest costs more than it finds.
constexpr std::int64_t most_entries = 400'000;

bool has_rule(dtype input, bin_rule rule) {
    if (rule == bin_rule::lookup) return input == dtype::u8 || input == dtype::u16;
    return rule == bin_rule::uniform || input != dtype::f32;
}

}  // namespace

std::vector<histogram_case> histogram_cases(dtype input, dtype tensor, effort e) {
    const std::span<const extents> shapes = e == effort::full ? std::span<const extents>(full_shapes) : quick_shapes;
    constexpr std::array rules{bin_rule::uniform, bin_rule::lookup, bin_rule::indices};
    constexpr std::array stores{store_policy::automatic, store_policy::streaming, store_policy::cached};
    constexpr std::array team_sizes{1, 2, 1, 1, 3, 1, 0};
    std::vector<histogram_case> cases;
    std::size_t turn = 0;  // rotates the other axes
    for (const table_layout layout : {table_layout::inclusive, table_layout::padded})
        for (const extents& shape : shapes)
            for (int i = 0; i < (e == effort::full ? 4 : 2); ++i, ++turn) {
                histogram_case c;
                c.input = input;
                c.tensor = tensor;
                c.layout = layout;
                c.rows = shape.rows;
                c.cols = shape.cols;
                if (tensor == dtype::u16 && c.rows * c.cols > 65535) continue;
                c.rule = rules[turn % rules.size()];
                if (!has_rule(input, c.rule)) c.rule = bin_rule::uniform;
                c.outside = (turn / 2) % 2 == 0 ? out_of_range::ignored : out_of_range::clamped;
                c.bins = bin_counts[(turn + turn / 11) % bin_counts.size()];
                c.planes = turn % 4 == 3 ? 3 : 1;
                while (c.bins > 1 && c.planes * c.bins * c.rows * c.cols > most_entries) c.bins = (c.bins + 1) / 2;
                const memory_layout& m = memory_layouts[(turn + turn / 5) % memory_layouts.size()];
                c.image_gap = m.image_gap;
                c.tensor_gap = m.tensor_gap;
                c.image_offset = m.image_offset;
                c.tensor_offset = m.tensor_offset;
                c.contents = static_cast<histogram_pattern>((turn + turn / 7) % pattern_names.size());
                c.seed = turn + 1;
                c.threads = team_sizes[turn % team_sizes.size()];
                c.store = stores[(turn + turn / 3) % stores.size()];
                cases.push_back(c);
            }
    return cases;
}

}  // namespace boxsum
