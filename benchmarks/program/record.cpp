#include "program/record.hpp"

#include <boxsum/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

namespace boxsum::bench {
namespace {

using json = nlohmann::ordered_json;

constexpr int format = 1;

/// Visits every member of a row with its name; reading and writing share the list.
template <typename Row, typename F>
requires std::is_same_v<std::remove_const_t<Row>, table_row>
void members(Row& r, F&& f) {
    f("what", r.what);
    f("backend", r.backend);
    f("types", r.types);
    f("rows", r.rows);
    f("cols", r.cols);
    f("algorithm", r.algorithm);
    f("parameters", r.parameters);
    f("us", r.us);
    f("low_us", r.low_us);
    f("high_us", r.high_us);
    f("rounds", r.rounds);
    f("launched", r.launched);
    f("check", r.check);
    f("note", r.note);
    f("reads", r.reads);
    f("writes", r.writes);
    f("launches", r.launches);
    f("threads", r.threads);
    f("measured_launches", r.measured_launches);
    f("measured_memsets", r.measured_memsets);
}

template <typename Row, typename F>
requires std::is_same_v<std::remove_const_t<Row>, pass_row>
void members(Row& r, F&& f) {
    f("types", r.types);
    f("rows", r.rows);
    f("cols", r.cols);
    f("algorithm", r.algorithm);
    f("parameters", r.parameters);
    f("pass", r.pass);
    f("kernel", r.kernel);
    f("us", r.us);
    f("registers", r.registers);
    f("static_shared_bytes", r.static_shared_bytes);
    f("dynamic_shared_bytes", r.dynamic_shared_bytes);
    f("local_bytes", r.local_bytes);
    f("grid", r.grid);
    f("block", r.block);
    f("note", r.note);
}

template <typename Row, typename F>
requires std::is_same_v<std::remove_const_t<Row>, micro_row>
void members(Row& r, F&& f) {
    f("name", r.name);
    f("value", r.value);
    f("low", r.low);
    f("high", r.high);
    f("unit", r.unit);
    f("note", r.note);
    f("check", r.check);
}

template <typename Row, typename F>
requires std::is_same_v<std::remove_const_t<Row>, histogram_row>
void members(Row& r, F&& f) {
    f("what", r.what);
    f("backend", r.backend);
    f("rows", r.rows);
    f("cols", r.cols);
    f("bins", r.bins);
    f("algorithm", r.algorithm);
    f("parameters", r.parameters);
    f("part", r.part);
    f("threads", r.threads);
    f("buffers", r.buffers);
    f("workers", r.workers);
    f("image", r.image);
    f("us", r.us);
    f("low_us", r.low_us);
    f("high_us", r.high_us);
    f("samples", r.samples);
    f("launched", r.launched);
    f("check", r.check);
    f("note", r.note);
    f("launches", r.launches);
    f("measured_bins", r.measured_bins);
    f("tasks", r.tasks);
    f("occupancy", r.occupancy);
    f("overlap", r.overlap);
    f("read_us", r.read_us);
    f("upload_us", r.upload_us);
    f("compute_us", r.compute_us);
    f("query_us", r.query_us);
    f("download_us", r.download_us);
    f("pinning_us", r.pinning_us);
    f("link_us", r.link_us);
    f("links_at_once_us", r.links_at_once_us);
}

template <typename Row, typename F>
requires std::is_same_v<std::remove_const_t<Row>, run_origin>
void members(Row& r, F&& f) {
    f("commit", r.commit);
    f("changed", r.changed);
    f("boxsum", r.boxsum);
    f("backend", r.backend);
    f("device", r.device);
    f("driver", r.driver);
    f("toolkit", r.toolkit);
    f("host", r.host);
}

/// Six digits are more than a measurement has, and keep the file small.
double rounded(double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    return std::strtod(digits, nullptr);
}

template <typename Row>
json object_of(const Row& row) {
    json object = json::object();
    members(row, [&object]<typename T>(const char* name, const T& value) {
        if constexpr (std::is_same_v<T, std::optional<double>>) {
            if (value) object[name] = rounded(*value);
        } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
            if (value) object[name] = *value;
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (!value.empty()) object[name] = value;
        } else {
            object[name] = value;
        }
    });
    return object;
}

template <typename Row>
Row row_of(const json& object) {
    Row row{};
    members(row, [&object]<typename T>(const char* name, T& value) {
        const auto found = object.find(name);
        if (found == object.end()) {
            if constexpr (std::is_same_v<T, std::string>) value.clear();
            return;
        }
        if constexpr (std::is_same_v<T, std::optional<double>>)
            value = found->template get<double>();
        else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>)
            value = found->template get<std::int64_t>();
        else
            value = found->template get<T>();
    });
    return row;
}

template <typename Row>
void append_rows(std::string& text, const char* name, const std::vector<Row>& rows, bool last) {
    text.append("\"").append(name).append("\": [");
    for (std::size_t i = 0; i < rows.size(); ++i)
        text.append(i == 0 ? "\n " : ",\n ")
            .append(object_of(rows[i]).dump(-1, ' ', true, json::error_handler_t::replace));
    text.append(rows.empty() ? "]" : "\n]").append(last ? "\n" : ",\n");
}

template <typename Row>
std::vector<Row> rows_of(const json& record, const char* name) {
    std::vector<Row> rows;
    for (const json& object : record.at(name)) rows.push_back(row_of<Row>(object));
    return rows;
}

template <typename Row>
std::vector<Row> merged_rows(const std::vector<Row>& old, std::vector<Row> fresh) {
    std::vector<Row> rows;
    for (const Row& row : old)
        if (std::none_of(fresh.begin(), fresh.end(), [&](const Row& f) { return f.same_case(row); }))
            rows.push_back(row);
    std::move(fresh.begin(), fresh.end(), std::back_inserter(rows));
    return rows;
}

}  // namespace

void append_pass(std::vector<pass_row>& passes, pass_row pass) {
    const auto code = [](const pass_row& p) {
        return std::tie(p.types, p.algorithm, p.kernel, p.block, p.registers, p.static_shared_bytes,
                        p.dynamic_shared_bytes, p.local_bytes);
    };
    const auto said = [](const pass_row& p) {
        return std::tie(p.types, p.algorithm, p.parameters, p.kernel, p.block, p.note);
    };
    if (std::any_of(passes.begin(), passes.end(), [&](const pass_row& other) { return code(other) == code(pass); })) {
        if (!pass.us && std::any_of(passes.begin(), passes.end(),
                                    [&](const pass_row& other) { return !other.us && said(other) == said(pass); }))
            return;
        pass.registers = pass.static_shared_bytes = pass.dynamic_shared_bytes = pass.local_bytes = {};
    }
    passes.push_back(std::move(pass));
}

bool mergeable(const run_origin& old, const run_origin& fresh) {
    return old == fresh && !fresh.changed && fresh.commit != "unknown";
}

bench_record merged(const bench_record& old, bench_record fresh) {
    if (!mergeable(old.origin, fresh.origin)) return fresh;
    fresh.tables = merged_rows(old.tables, std::move(fresh.tables));
    fresh.passes = merged_rows(old.passes, std::move(fresh.passes));
    fresh.micro = merged_rows(old.micro, std::move(fresh.micro));
    fresh.histograms = merged_rows(old.histograms, std::move(fresh.histograms));
    return fresh;
}

bool has_wrong(const bench_record& record) {
    const auto wrong = [](const auto& row) { return row.wrong(); };
    return std::any_of(record.tables.begin(), record.tables.end(), wrong) ||
           std::any_of(record.micro.begin(), record.micro.end(), wrong) ||
           std::any_of(record.histograms.begin(), record.histograms.end(), wrong);
}

std::string json_of(const bench_record& record) {
    json head{{"format", format}, {"kind", record.kind}};
    head.update(object_of(record.origin));
    head["date"] = record.date;
    head["settings"] = record.settings;
    std::string text = head.dump(-1, ' ', true, json::error_handler_t::replace);
    text.back() = ',';  // the closing brace
    text.append("\n");
    if (record.kind == histogram_kind) {
        append_rows(text, "histograms", record.histograms, true);
    } else {
        append_rows(text, "tables", record.tables, false);
        append_rows(text, "passes", record.passes, false);
        append_rows(text, "micro", record.micro, true);
    }
    return text.append("}\n");
}

bench_record record_of(const std::string& text, const std::string& source) {
    try {
        const json parsed = json::parse(text);
        bench_record record;
        record.kind = parsed.value("kind", "");
        if (record.kind != sat_kind && record.kind != histogram_kind)
            throw io_error("'" + source + "' is no record of boxsum bench");
        if (parsed.value("format", 0) != format)
            throw io_error("'" + source + "' has format " + parsed.value("format", json()).dump() + ", this reads " +
                           std::to_string(format));
        record.origin = row_of<run_origin>(parsed);
        record.date = parsed.at("date");
        record.settings = parsed.value("settings", "");
        if (record.kind == histogram_kind) {
            record.histograms = rows_of<histogram_row>(parsed, "histograms");
        } else {
            record.tables = rows_of<table_row>(parsed, "tables");
            record.passes = rows_of<pass_row>(parsed, "passes");
            record.micro = rows_of<micro_row>(parsed, "micro");
        }
        return record;
    } catch (const json::exception& e) {
        throw io_error("'" + source + "' is no record of boxsum bench: " + e.what());
    }
}

bench_record read_record(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) throw io_error("'" + path + "' cannot be read");
    return record_of(text, path);
}

void write_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".part";
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        (void)std::remove(temporary.c_str());
        throw io_error("'" + path + "' cannot be written");
    }
}

}  // namespace boxsum::bench
