// One large integral histogram by all GPUs of the machine, or by the CPU's threads where there is none.

#include <boxsum/histogram_tasks.hpp>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

int main() {
    constexpr std::int64_t rows = 480, cols = 640, bin_count = 64;
    std::vector<std::uint8_t> pixels(rows * cols);
    std::mt19937 random(1);
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random());
    const boxsum::image_view<const std::uint8_t> image(pixels.data(), rows, cols);
    const boxsum::binning bins = boxsum::binning::uniform(bin_count, 0, 256);

    // [tasks]
    boxsum::histogram_tasks tasks;  // all GPUs, else the CPU's threads

    // Into host memory:
    boxsum::histogram_table<std::uint32_t> histograms(bin_count, rows, cols);
    const boxsum::histogram_tasks_report report = tasks.run({image}, bins, {histograms});

    // Or kept where it was computed, and asked there:
    const boxsum::kept_histogram kept = tasks.keep({image}, bins);
    const std::vector<boxsum::box> boxes{{.row = 10, .col = 20, .rows = 40, .cols = 30}};
    const std::vector<std::uint32_t> counts = kept.box_histograms(boxes).counts;
    // [tasks]

    for (const boxsum::task_worker_report& worker : report.workers)
        std::printf("%s did %lld of %lld tasks\n", worker.name.c_str(), static_cast<long long>(worker.tasks),
                    static_cast<long long>(report.tasks));
    std::printf("kept and copied agree: %s\n", boxsum::box_histogram(histograms, boxes[0]) == counts ? "yes" : "no");
}
