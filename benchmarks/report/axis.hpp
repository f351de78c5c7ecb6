#pragma once

#include <string>
#include <vector>

namespace boxsum::bench {

/// One axis of a chart: maps values to positions between `from` and `to` (in the units of the drawing).
struct axis {
    bool logarithmic = false;
    double low = 0, high = 1;
    double from = 0, to = 1;

    /// The position of a value; inside [from, to] for values inside [low, high].
    double at(double value) const;
};

/// A mark on an axis; those without text are only lines.
struct tick {
    double value;
    std::string text;
};

/// A range that holds all values, widened to whole ticks; logarithmic ranges need positive values.
axis axis_for(const std::vector<double>& values, bool logarithmic, double from, double to);

/// 1, 2 and 5 times powers of ten; on a logarithmic axis of more than three decades the powers alone have text.
std::vector<tick> ticks_of(const axis& a);

/// For edge lengths of images: powers of two where there are enough among them, else a part of the values, always the
/// last one.
std::vector<tick> size_ticks(std::vector<double> sizes);

/// "512", "1K", "20K": K is 1024.
std::string size_text(double size);

/// At most three significant digits without an exponent: "0.005", "14.7", "1660".
std::string short_number(double value);

/// Exactly three where there are so many in front of or behind the point, as columns of a table want it: "0.00500",
/// "14.0", "1660".
std::string three_digits(double value);

}  // namespace boxsum::bench
