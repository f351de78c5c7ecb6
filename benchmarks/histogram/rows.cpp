#include "histogram/rows.hpp"

#include <boxsum/error.hpp>

#include <new>

namespace boxsum::bench {

histogram_row row_for(const std::string& what, backend where, std::int64_t rows, std::int64_t cols, std::int64_t bins,
                      const std::string& algorithm, const std::string& parameters) {
    histogram_row row;
    row.what = what;
    row.backend = std::string(name_of(where));
    row.rows = rows;
    row.cols = cols;
    row.bins = bins;
    row.algorithm = algorithm;
    row.parameters = parameters;
    return row;
}

void failed(histogram_row& row) noexcept {
    row.us = row.low_us = row.high_us = {};
    try {
        throw;
    } catch (const out_of_memory& e) {
        row.note = e.what();
    } catch (const unsupported& e) {
        row.note = e.what();
    } catch (const std::bad_alloc&) {
        row.note = "out of host memory";
    } catch (const std::exception& e) {
        row.check = std::string("wrong: it failed: ") + e.what();
    } catch (...) {
        row.check = "wrong: it failed";
    }
}

}  // namespace boxsum::bench
