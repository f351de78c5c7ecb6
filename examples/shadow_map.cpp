// Shadows of a height field, from above: compared with one depth (hard), with 25 of them (percentage closer filtering)
// and with the moments of all depths in a rectangle that grows with the distance of what casts the shadow (summed-area
// variance shadow map). Writes the three side by side, and says what they cost.
//
//     shadow_map [FILE.png]

#include <boxsum/sat.hpp>
#include <boxsum/shadow.hpp>

#include <png.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t view_side = 400, map_side = 512;
constexpr double world = 10;  // the ground is world x world

struct vec3 {
    double x, y, z;
};

double dot(const vec3& a, const vec3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// The scene: a plain with a ball, pillars, a gate and hills.
double height(double x, double y) {
    double h = 0.12 * (std::sin(1.3 * x) * std::cos(1.7 * y) + 1);
    const auto above = [&](double z) { h = std::max(h, z); };
    if (const double ball = 1.2 * 1.2 - (x - 3) * (x - 3) - (y - 3) * (y - 3); ball > 0) above(0.8 + std::sqrt(ball));
    for (int i = 0; i < 5; ++i)
        if (std::hypot(x - (1.5 + 1.6 * i), y - 7.5) < 0.22) above(2.4);
    if (x > 6 && x < 6.3 && y > 1.5 && y < 5) above(1.8);
    if (x > 7.5 && x < 8.5 && y > 4.8 && y < 5.8) above(1);
    return h;
}

/// Parallel light: its direction, and the axes of the map across it.
struct light {
    vec3 along, right, down;

    light(double azimuth, double elevation) {
        along = {std::cos(azimuth) * std::cos(elevation), std::sin(azimuth) * std::cos(elevation),
                 -std::sin(elevation)};
        right = {-std::sin(azimuth), std::cos(azimuth), 0};
        down = {-along.z * right.y, along.z * right.x, along.x * right.y - along.y * right.x};
    }
};

/// Where a point lies in the map: pixels, and the depth from the light.
struct seen {
    double row, col, depth;
};
constexpr double map_scale = map_side / (world * 1.5);

seen project(const light& sun, const vec3& p) {
    const vec3 from_middle{p.x - world / 2, p.y - world / 2, p.z};
    return {dot(from_middle, sun.down) * map_scale + map_side / 2.0,
            dot(from_middle, sun.right) * map_scale + map_side / 2.0, dot(from_middle, sun.along) + world};
}

/// The depth at which a ray of light meets the scene, by steps along it.
std::vector<float> shadow_map(const light& sun) {
    std::vector<float> map(map_side * map_side);
    const auto point = [&](double row, double col, double depth) {
        const double v = (row - map_side / 2.0) / map_scale, u = (col - map_side / 2.0) / map_scale, d = depth - world;
        return vec3{world / 2 + u * sun.right.x + v * sun.down.x + d * sun.along.x,
                    world / 2 + u * sun.right.y + v * sun.down.y + d * sun.along.y, v * sun.down.z + d * sun.along.z};
    };
    for (std::int64_t r = 0; r < map_side; ++r)
        for (std::int64_t c = 0; c < map_side; ++c) {
            const double row = static_cast<double>(r) + 0.5, col = static_cast<double>(c) + 0.5;
            const double at_zero = point(row, col, 0).z;
            double depth = std::max((at_zero - 2.6) / -sun.along.z, 0.0);  // above everything
            for (vec3 p = point(row, col, depth); p.z > height(p.x, p.y); p = point(row, col, depth)) depth += 0.04;
            map[static_cast<std::size_t>(r * map_side + c)] = static_cast<float>(depth);
        }
    return map;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
    const char* const path = argc > 1 ? argv[1] : "shadows.png";
    const light sun(0.7, 0.75);
    const std::vector<float> map = shadow_map(sun);
    const auto depth_at = [&](std::int64_t r, std::int64_t c) {
        r = std::clamp<std::int64_t>(r, 0, map_side - 1);
        c = std::clamp<std::int64_t>(c, 0, map_side - 1);
        return static_cast<double>(map[static_cast<std::size_t>(r * map_side + c)]);
    };

    // What every pixel shows, as the light sees it.
    constexpr std::int64_t pixels = view_side * view_side;
    std::vector<seen> points(pixels);
    std::vector<float> shade(pixels);
    for (std::int64_t i = 0; i < pixels; ++i) {
        const double step = world / view_side;
        const double x = (static_cast<double>(i % view_side) + 0.5) * step,
                     y = (static_cast<double>(i / view_side) + 0.5) * step;
        points[static_cast<std::size_t>(i)] = project(sun, {x, y, height(x, y)});
        const vec3 normal{height(x - step, y) - height(x + step, y), height(x, y - step) - height(x, y + step),
                          2 * step};
        shade[static_cast<std::size_t>(i)] =
            static_cast<float>(std::max(-dot(normal, sun.along), 0.0) / std::sqrt(dot(normal, normal)));
    }

    constexpr double bias = 0.1;
    std::array<std::vector<float>, 3> lit{std::vector<float>(pixels), std::vector<float>(pixels),
                                          std::vector<float>(pixels)};
    std::array<double, 3> ms{};
    for (const int radius : {0, 2}) {
        const auto start = std::chrono::steady_clock::now();
        for (std::int64_t i = 0; i < pixels; ++i) {
            const seen& p = points[static_cast<std::size_t>(i)];
            const auto row = static_cast<std::int64_t>(p.row), col = static_cast<std::int64_t>(p.col);
            int reached = 0;
            for (std::int64_t r = row - radius; r <= row + radius; ++r)
                for (std::int64_t c = col - radius; c <= col + radius; ++c) reached += p.depth - bias <= depth_at(r, c);
            lit[radius == 0 ? 0 : 1][static_cast<std::size_t>(i)] =
                static_cast<float>(reached) / static_cast<float>((2 * radius + 1) * (2 * radius + 1));
        }
        ms[radius == 0 ? 0 : 1] = milliseconds_since(start);
    }

    const auto start = std::chrono::steady_clock::now();
    // Depths less their mean, outwards from the middle: single pixels of the map survive in 32f.
    const boxsum::image_view<const float> depths(map.data(), map_side, map_side);
    const boxsum::table_form form(boxsum::table_layout::padded, {map_side / 2, map_side / 2},
                                  boxsum::image_means(depths)[0]);
    const auto moments = boxsum::sat_squares<float, float>({depths}, form);
    std::vector<float> receiver(pixels), rectangles(pixels * 4);
    for (std::int64_t i = 0; i < pixels; ++i) {
        const seen& p = points[static_cast<std::size_t>(i)];
        // How far in front of the pixel what casts shadow is, on average about it, says how soft the shadow is.
        constexpr std::int64_t around = 12;
        const auto first = [&](double at) {
            return std::clamp<std::int64_t>(static_cast<std::int64_t>(at) - around / 2, 0, map_side - around);
        };
        const double mean =
            boxsum::box_mean(moments.sums, {.row = first(p.row), .col = first(p.col), .rows = around, .cols = around});
        const double side = std::clamp((p.depth - mean) * 15, 2.0, 20.0);
        receiver[static_cast<std::size_t>(i)] = static_cast<float>(p.depth - bias);
        const std::array<double, 4> rectangle{p.row - side / 2, p.col - side / 2, side, side};
        for (std::size_t k = 0; k < 4; ++k)
            rectangles[static_cast<std::size_t>(i) * 4 + k] = static_cast<float>(rectangle[k]);
    }
    boxsum::variance_shadows({moments, boxsum::image_view<const float>(receiver.data(), view_side, view_side),
                              boxsum::image_view<const float>(rectangles.data(), view_side, view_side, 0, 4)},
                             {boxsum::image_view<float>(lit[2].data(), view_side, view_side)},
                             {.min_variance = 1e-3, .bleeding = 0.2});
    ms[2] = milliseconds_since(start);

    std::vector<std::uint8_t> picture(3 * pixels);
    for (std::int64_t y = 0; y < view_side; ++y)
        for (std::int64_t panel = 0; panel < 3; ++panel)
            for (std::int64_t x = 0; x < view_side; ++x) {
                const auto i = static_cast<std::size_t>(y * view_side + x);
                const float grey = 0.2F + 0.8F * shade[i] * lit[static_cast<std::size_t>(panel)][i];
                picture[static_cast<std::size_t>((y * 3 + panel) * view_side + x)] =
                    static_cast<std::uint8_t>(255 * std::sqrt(grey) + 0.5F);
            }
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = 3 * view_side;
    png.height = view_side;
    png.format = PNG_FORMAT_GRAY;
    if (png_image_write_to_file(&png, path, 0, picture.data(), 0, nullptr) == 0) {
        std::fprintf(stderr, "%s: %s\n", path, png.message);
        return 1;
    }
    const auto half_lit = [&](const std::vector<float>& v) {
        return 100.0 *
               static_cast<double>(std::count_if(v.begin(), v.end(), [](float x) { return x > 0.05F && x < 0.95F; })) /
               static_cast<double>(pixels);
    };
    const char* const names[] = {"hard", "percentage closer, 5 x 5", "variance, up to 20 x 20"};
    for (std::size_t k = 0; k < 3; ++k)
        std::printf("%s: %.1f ms, half lit %.1f %% of the pixels\n", names[k], ms[k], half_lit(lit[k]));
    std::printf("%s: three views of %d x %d\n", path, static_cast<int>(view_side), static_cast<int>(view_side));
}
