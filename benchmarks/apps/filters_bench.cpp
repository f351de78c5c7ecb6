// Times the filters, and the windows of tables that exist, against a copy of the same bytes and against OpenCV's (where
// built with it). Candidates take turns in one process; medians of the rounds; random pixels; reused buffers. Ratios of
// one run compare, times of two do not.

#include <boxsum/blobs.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/guided_filter.hpp>
#include <boxsum/non_local_means.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/table.hpp>
#include <boxsum/window_queries.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#if defined(BOXSUM_BENCH_OPENCV)
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace {

using boxsum::border_mode;

struct candidate {
    std::string name;
    std::function<void()> work;
    std::vector<double> times = {};

    double median() {
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }
};

struct group {
    std::string title;
    std::vector<candidate> candidates;
};

template <typename T>
class image {
  public:
    image(std::int64_t size, std::int64_t channels)
        : memory_(boxsum::memory_pool::shared().acquire(static_cast<std::size_t>(size * size * channels) * sizeof(T))),
          view_(static_cast<T*>(memory_.data()), size, size, 0, channels) {
        std::mt19937_64 random(7);
        T* p = view_.data();
        for (std::int64_t i = 0; i < size * size * channels; ++i)
            p[i] = std::is_integral_v<T> ? static_cast<T>(random() >> 24)
                                         : static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
    }
    const boxsum::image_view<T>& view() const { return view_; }
    std::size_t bytes() const { return memory_.size(); }

  private:
    boxsum::host_buffer memory_;
    boxsum::image_view<T> view_;
};

/// Reads `from` and writes `to` once, the larger of the two as many times as it has to for its bytes.
void copy_bytes(const void* from, std::size_t from_bytes, void* to, std::size_t to_bytes, int threads) {
    // As many bytes read and written as the filter reads and writes at least; a copy moves both in equal parts.
    const std::size_t bytes = std::min(from_bytes, to_bytes);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
        const std::size_t begin = bytes * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads);
        const std::size_t end = bytes * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(threads);
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
    }
}

#if defined(BOXSUM_BENCH_OPENCV)
template <typename T>
cv::Mat mat_of(const boxsum::image_view<T>& v) {
    using plain = std::remove_const_t<T>;
    return {static_cast<int>(v.rows()), static_cast<int>(v.cols()),
            CV_MAKETYPE(cv::DataType<plain>::depth, static_cast<int>(v.channels())), const_cast<plain*>(v.data()),
            static_cast<std::size_t>(v.row_stride())};
}
#endif

template <typename T>
group box_filters(const std::string& type, std::int64_t size, std::int64_t channels, int threads) {
    const auto in = std::make_shared<image<T>>(size, channels), out = std::make_shared<image<T>>(size, channels);
    group g{"box mean " + type + " x " + std::to_string(channels), {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    for (const border_mode border : {border_mode::shrink, border_mode::reflect})
        for (const std::int64_t r : {1, 3, 15, 100, 300})
            g.candidates.push_back({"boxsum r=" + std::to_string(r) + " " + std::string(name_of(border)), [=] {
                                        boxsum::box_filter(
                                            {in->view()}, {out->view()},
                                            {.window = boxsum::window_radius(r), .border = border, .threads = threads});
                                    }});
#if defined(BOXSUM_BENCH_OPENCV)
    for (const int r : {1, 3, 15, 100, 300})
        g.candidates.push_back(
            {"cv::blur r=" + std::to_string(r) + " reflect", [=] {
                 cv::Mat to = mat_of(out->view());
                 cv::blur(mat_of(in->view()), to, {2 * r + 1, 2 * r + 1}, {-1, -1}, cv::BORDER_REFLECT);
             }});
#endif
    return g;
}

template <typename T>
group statistics(const std::string& type, std::int64_t size, std::int64_t channels, int threads) {
    const auto in = std::make_shared<image<T>>(size, channels);
    const auto mean = std::make_shared<image<float>>(size, channels),
               deviation = std::make_shared<image<float>>(size, channels);
    const auto mask = std::make_shared<image<std::uint8_t>>(size, channels);
    group g{"statistics " + type + " x " + std::to_string(channels), {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), mean->view().data(), in->bytes(), threads); }});
    for (const std::int64_t r : {3, 15, 100, 300})
        g.candidates.push_back({"mean, deviation r=" + std::to_string(r), [=] {
                                    boxsum::local_statistics({in->view()},
                                                             {.mean = mean->view(), .deviation = deviation->view()},
                                                             {.window = boxsum::window_radius(r), .threads = threads});
                                }});
    for (const auto method :
         {boxsum::threshold_method::bradley, boxsum::threshold_method::sauvola, boxsum::threshold_method::niblack,
          boxsum::threshold_method::nick, boxsum::threshold_method::wolf})
        for (const std::int64_t r : {3, 15, 100, 300})
            g.candidates.push_back({std::string(name_of(method)) + " r=" + std::to_string(r), [=] {
                                        boxsum::adaptive_threshold(
                                            {in->view()}, {mask->view()}, {.method = method},
                                            {.window = boxsum::window_radius(r), .threads = threads});
                                    }});
    for (const std::int64_t r : {3, 15, 100, 300})
        g.candidates.push_back({"local contrast r=" + std::to_string(r), [=] {
                                    boxsum::local_contrast({in->view()}, {mean->view()}, {},
                                                           {.window = boxsum::window_radius(r), .threads = threads});
                                }});
#if defined(BOXSUM_BENCH_OPENCV)
    for (const int r : {3, 15, 100, 300})
        g.candidates.push_back({"cv::boxFilter + cv::sqrBoxFilter 32f r=" + std::to_string(r), [=] {
                                    cv::Mat m = mat_of(mean->view()), s = mat_of(deviation->view());
                                    cv::boxFilter(mat_of(in->view()), m, CV_32F, {2 * r + 1, 2 * r + 1});
                                    cv::sqrBoxFilter(mat_of(in->view()), s, CV_32F, {2 * r + 1, 2 * r + 1});
                                }});
#endif
    return g;
}

/// Where pixels may not count; each over a copy of what the filter without mask reads and writes.
template <typename T>
group sampled(const std::string& type, std::int64_t size, int threads) {
    const auto in = std::make_shared<image<T>>(size, 1), out = std::make_shared<image<T>>(size, 1);
    const auto mask = std::make_shared<image<std::uint8_t>>(size, 1);
    const auto weights = std::make_shared<image<float>>(size, 1), count = std::make_shared<image<float>>(size, 1);
    const boxsum::filter_options options{.window = 31, .threads = threads};
    group g{type + " r=15, box mean unless said, of pixels that may not count", {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    g.candidates.push_back({"all count", [=] { boxsum::box_filter({in->view()}, {out->view()}, options); }});
    g.candidates.push_back(
        {"mask, with counts", [=] {
             boxsum::box_filter({.image = in->view(), .mask = mask->view()}, {out->view(), count->view()}, options);
         }});
    const auto mean = std::make_shared<image<float>>(size, 1), deviation = std::make_shared<image<float>>(size, 1);
    const auto verdict = std::make_shared<image<std::uint8_t>>(size, 1);
    for (const bool masked : {false, true}) {
        const std::string which = masked ? "mask, " : "all count, ";
        const auto inputs = [=] {
            return boxsum::filter_inputs{
                .image = in->view(), .mask = masked ? boxsum::const_any_view(mask->view()) : boxsum::const_any_view()};
        };
        g.candidates.push_back({which + "mean and deviation", [=] {
                                    boxsum::local_statistics(
                                        inputs(), {.mean = mean->view(), .deviation = deviation->view()}, options);
                                }});
        g.candidates.push_back(
            {which + "sauvola", [=] { boxsum::adaptive_threshold(inputs(), {verdict->view()}, {}, options); }});
    }
    g.candidates.push_back(
        {"weights",
         [=] { boxsum::box_filter({.image = in->view(), .weights = weights->view()}, {out->view()}, options); }});
    return g;
}

group variable(std::int64_t size, int threads) {
    const auto in = std::make_shared<image<std::uint8_t>>(size, 1),
               out = std::make_shared<image<std::uint8_t>>(size, 1);
    const auto radius = std::make_shared<image<std::uint8_t>>(size, 1);
    group g{"variable box mean 8u", {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    g.candidates.push_back(
        {"radius 0..255, random", [=] {
             boxsum::variable_box_filter({in->view(), radius->view()}, {out->view()}, {.threads = threads});
         }});
    return g;
}

#if defined(BOXSUM_BENCH_OPENCV)
/// A grey guide, by OpenCV's box filters as its ximgproc composes them, in single precision.
void guided_by_opencv(const cv::Mat& image, const cv::Mat& guide, cv::Mat& result, int r, double epsilon) {
    const auto mean = [&](const cv::Mat& x) {
        cv::Mat m;
        cv::boxFilter(x, m, CV_32F, {2 * r + 1, 2 * r + 1}, {-1, -1}, true, cv::BORDER_REFLECT);
        return m;
    };
    cv::Mat p, i;
    image.convertTo(p, CV_32F);
    guide.convertTo(i, CV_32F);
    const cv::Mat mean_i = mean(i), mean_p = mean(p);
    const cv::Mat variance = mean(i.mul(i)) - mean_i.mul(mean_i), covariance = mean(i.mul(p)) - mean_i.mul(mean_p);
    cv::Mat a;
    cv::divide(covariance, variance + epsilon, a);
    const cv::Mat b = mean_p - a.mul(mean_i), q = mean(a).mul(i) + mean(b);
    q.convertTo(result, result.type());
}
#endif

template <typename T>
group guided(const std::string& type, std::int64_t size, int threads) {
    const auto in = std::make_shared<image<T>>(size, 1), out = std::make_shared<image<T>>(size, 1),
               grey = std::make_shared<image<T>>(size, 1), colours = std::make_shared<image<T>>(size, 3);
    group g{"guided filter " + type, {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    for (const std::int64_t r : {8, 40}) {
        const std::string radius = " r=" + std::to_string(r);
        const boxsum::filter_options options{
            .window = boxsum::window_radius(r), .border = border_mode::reflect, .threads = threads};
        g.candidates.push_back(
            {"by itself" + radius, [=] { boxsum::guided_filter({in->view()}, {out->view()}, {}, options); }});
        g.candidates.push_back({"grey guide" + radius, [=] {
                                    boxsum::guided_filter({in->view(), grey->view()}, {out->view()}, {}, options);
                                }});
        g.candidates.push_back({"colour guide" + radius, [=] {
                                    boxsum::guided_filter({in->view(), colours->view()}, {out->view()}, {}, options);
                                }});
#if defined(BOXSUM_BENCH_OPENCV)
        g.candidates.push_back({"cv::boxFilter, grey guide" + radius, [=] {
                                    cv::Mat to = mat_of(out->view());
                                    guided_by_opencv(mat_of(in->view()), mat_of(grey->view()), to, static_cast<int>(r),
                                                     std::is_integral_v<T> ? 650.25 : 0.01);
                                }});
#endif
    }
    return g;
}

/// Search windows of 21 x 21, patches of 7 x 7. OpenCV's is in another module than the tests need.
template <typename T>
group denoised(const std::string& type, std::int64_t size, int threads) {
    const auto in = std::make_shared<image<T>>(size, 1), out = std::make_shared<image<T>>(size, 1),
               colours = std::make_shared<image<T>>(size, 3), clean = std::make_shared<image<T>>(size, 3);
    const boxsum::filter_options options{.window = 21, .border = border_mode::mirror, .threads = threads};
    group g{"non-local means " + type, {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    g.candidates.push_back({"grey", [=] { boxsum::non_local_means({in->view()}, {out->view()}, {}, options); }});
    g.candidates.push_back(
        {"colour", [=] { boxsum::non_local_means({colours->view()}, {clean->view()}, {}, options); }});
    return g;
}

group blobs(std::int64_t size, int threads) {
    const auto in = std::make_shared<image<std::uint8_t>>(size, 1);
    const auto out = std::make_shared<image<double>>(size, 1);
    group g{"box Hessians and blobs 8u", {}};
    g.candidates.push_back(
        {"copy", [=] { copy_bytes(in->view().data(), in->bytes(), out->view().data(), out->bytes(), threads); }});
    g.candidates.push_back({"box Hessian, sigma 8", [=] {
                                boxsum::box_hessian({in->view()}, {out->view()}, {.sigma = 8, .threads = threads});
                            }});
    g.candidates.push_back(
        {"blobs of 10 scales, 1 to 30", [=] { boxsum::find_blobs({in->view()}, {.threads = threads}); }});
    return g;
}

/// Windows around all pixels of tables that exist, beside four reads a window by hand (of those within the image).
group windows_of_tables(std::int64_t size, int threads) {
    struct tables {
        boxsum::table<std::uint32_t> sums;
        boxsum::table<std::uint64_t> squares;
    };
    const auto in = std::make_shared<image<std::uint8_t>>(size, 1);
    const auto t = std::make_shared<tables>(tables{{size, size}, {size, size}});
    const auto whole = std::make_shared<image<std::uint32_t>>(size, 1);
    const auto real = std::make_shared<image<float>>(size, 1);
    boxsum::sat({in->view()}, {.sums = t->sums, .squares = t->squares});
    group g{"windows of a table 8u32u, 8u64u", {}};
    g.candidates.push_back(
        {"copy",
         [=] { copy_bytes(t->sums.view().data(), whole->bytes(), whole->view().data(), whole->bytes(), threads); }});
    for (const std::int64_t r : {3, 30}) {
        const std::string radius = " r=" + std::to_string(r);
        const boxsum::window_query_options options{.window = boxsum::window_radius(r), .threads = threads};
        g.candidates.push_back({"means, four reads by hand" + radius, [=] {
                                    const auto area = static_cast<float>((2 * r + 1) * (2 * r + 1));
                                    for (std::int64_t y = r + 1; y + r < size; ++y) {
                                        const std::uint32_t *below = &t->sums(y + r, 0),
                                                            *above = &t->sums(y - r - 1, 0);
                                        float* const out = real->view().row(y);
                                        for (std::int64_t x = r + 1; x + r < size; ++x)
                                            out[x] = static_cast<float>(below[x + r] - above[x + r] - below[x - r - 1] +
                                                                        above[x - r - 1]) /
                                                     area;
                                    }
                                }});
        g.candidates.push_back({"sums" + radius, [=] { boxsum::window_sums(t->sums, whole->view(), options); }});
        g.candidates.push_back({"means" + radius, [=] { boxsum::window_means(t->sums, real->view(), options); }});
        g.candidates.push_back({"variances" + radius, [=] {
                                    boxsum::window_variances({t->sums, t->squares}, real->view(), options);
                                }});
    }
    return g;
}

void measure(group& g, int rounds) {
    for (candidate& c : g.candidates) c.work();  // touches every page
    for (int round = 0; round < rounds; ++round)
        for (candidate& c : g.candidates) {
            const auto start = std::chrono::steady_clock::now();
            c.work();
            c.times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
        }
    std::printf("%s\n", g.title.c_str());
    const double copy = g.candidates.front().median();
    for (candidate& c : g.candidates)
        std::printf("  %-44s %9.3f ms  %6.2f copies\n", c.name.c_str(), c.median(), c.median() / copy);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    std::int64_t size = 4096;
    int rounds = 9, threads = 1;
    std::string only;
    const std::vector<std::pair<std::string, std::function<group()>>> groups = {
        {"8u", [&] { return box_filters<std::uint8_t>("8u", size, 1, threads); }},
        {"8u3", [&] { return box_filters<std::uint8_t>("8u", size / 2, 3, threads); }},
        {"16u", [&] { return box_filters<std::uint16_t>("16u", size, 1, threads); }},
        {"32f", [&] { return box_filters<float>("32f", size, 1, threads); }},
        {"stat8u", [&] { return statistics<std::uint8_t>("8u", size, 1, threads); }},
        {"stat8u3", [&] { return statistics<std::uint8_t>("8u", size / 2, 3, threads); }},
        {"stat16u", [&] { return statistics<std::uint16_t>("16u", size, 1, threads); }},
        {"stat32f", [&] { return statistics<float>("32f", size / 2, 1, threads); }},
        {"sampled8u", [&] { return sampled<std::uint8_t>("8u", size, threads); }},
        {"sampled16u", [&] { return sampled<std::uint16_t>("16u", size, threads); }},
        {"sampled32f", [&] { return sampled<float>("32f", size / 2, threads); }},
        {"variable", [&] { return variable(size, threads); }},
        {"guided8u", [&] { return guided<std::uint8_t>("8u", size / 2, threads); }},
        {"guided32f", [&] { return guided<float>("32f", size / 2, threads); }},
        {"denoised8u", [&] { return denoised<std::uint8_t>("8u", size / 4, threads); }},
        {"denoised32f", [&] { return denoised<float>("32f", size / 4, threads); }},
        {"blobs", [&] { return blobs(size / 2, threads); }},
        {"windows", [&] { return windows_of_tables(size, threads); }},
    };
    std::vector<std::string> names;
    for (const auto& [name, make] : groups) names.push_back(name);
    CLI::App app{"Times the filters beside a copy of the same bytes and beside OpenCV's."};
    app.add_option("--size", size, "edge length of square images")
        ->check(CLI::Range(64, 1 << 16))
        ->capture_default_str();
    app.add_option("--rounds", rounds, "medians over them")->check(CLI::Range(1, 1001))->capture_default_str();
    app.add_option("--threads", threads)->check(CLI::Range(1, 256))->capture_default_str();
    app.add_option("--only", only, "one group")->check(CLI::IsMember(names));
    CLI11_PARSE(app, argc, argv);
#if defined(BOXSUM_BENCH_OPENCV)
    cv::setNumThreads(threads);
#endif
    std::printf("%lld x %lld, %d thread(s) of %u, medians of %d rounds\n", static_cast<long long>(size),
                static_cast<long long>(size), threads, std::thread::hardware_concurrency(), rounds);
    for (const auto& [name, make] : groups) {
        if (!only.empty() && only != name) continue;
        group g = make();
        measure(g, rounds);
    }
}
