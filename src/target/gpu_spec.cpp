#include "target/gpu_spec.h"

#include <algorithm>

#include "target/arch.h"

namespace fact {
namespace {

// From the datasheets: rates per multiprocessor and clock. The clock is the highest that the driver
// allows, since a real kernel may exceed the peak at the advertised clock.
struct Row {
    std::string_view name, arch;
    int num_sms;
    double ghz;
    int bf16_flops, tf32_flops, fp32_flops;  // per multiprocessor and clock, dense
    double memory_tbs;
    double l2_mib;
};

constexpr Row kRows[] = {
    {"a100-40gb", "sm80", 108, 1.410, 2048, 1024, 128, 1.555, 40},
    {"a100-80gb", "sm80", 108, 1.410, 2048, 1024, 128, 2.039, 40},
    {"h100-sxm", "sm90a", 132, 1.980, 4096, 2048, 256, 3.352, 50},
    {"h100-pcie", "sm90a", 114, 1.755, 4096, 2048, 256, 2.039, 50},
    {"h200", "sm90a", 132, 1.980, 4096, 2048, 256, 4.800, 50},
    {"b200", "sm100a", 148, 1.965, 8192, 4096, 256, 8.000, 126},
    {"l40s", "sm89", 142, 2.520, 1024, 512, 256, 0.864, 96},
    {"rtx-4090", "sm89", 128, 3.105, 512, 256, 256, 1.008, 72},
};

// What one multiprocessor can read from L2 per clock.
constexpr double kL2BytesPerClock = 64;

// The rates that long products and copies reached on an H200. Its row gets these numbers; the rows
// of other GPUs get them in proportion to their peaks, until those GPUs are calibrated.
struct Measured {
    double bf16_tflops = 790, tf32_tflops = 400, fp32_tflops = 52, split_tflops = 185;
    double rounded_tflops = 790;  // taken from f16 products: not measured yet
    double memory_tbs = 4.3;
    double l2_share = 0.53;  // of L2's peak
    double launch_us = 1.3;
} constexpr kMeasuredH200;

GpuSpec datasheet(const Row& row) {
    auto tflops = [&](int per_clock) { return row.num_sms * row.ghz * per_clock / 1000; };
    GpuSpec spec;
    spec.name = row.name;
    spec.arch = row.arch;
    spec.num_sms = row.num_sms;
    spec.bf16_tflops = tflops(row.bf16_flops);
    spec.tf32_tflops = tflops(row.tf32_flops);
    spec.fp32_tflops = tflops(row.fp32_flops);
    // A rounded product is one product on the tensor cores, a split one is three.
    const Arch* arch = find_arch(row.arch);
    spec.rounded_tflops = arch && arch->f16_parts ? spec.bf16_tflops : spec.tf32_tflops;
    spec.split_tflops = spec.rounded_tflops / 3;
    spec.memory_tbs = row.memory_tbs;
    spec.l2_tbs = row.num_sms * row.ghz * kL2BytesPerClock / 1000;
    spec.l2_mib = row.l2_mib;
    return spec;
}

std::vector<GpuSpec> make_table() {
    std::vector<GpuSpec> table;
    for (const Row& row : kRows) table.push_back(datasheet(row));
    const GpuSpec h200 =
        *std::find_if(table.begin(), table.end(), [](auto& spec) { return spec.name == "h200"; });
    for (GpuSpec& spec : table) {
        auto scaled = [](double measured, double own, double reference) {
            return measured * own / reference;
        };
        spec.calibrated_bf16_tflops =
            scaled(kMeasuredH200.bf16_tflops, spec.bf16_tflops, h200.bf16_tflops);
        spec.calibrated_tf32_tflops =
            scaled(kMeasuredH200.tf32_tflops, spec.tf32_tflops, h200.tf32_tflops);
        spec.calibrated_fp32_tflops =
            scaled(kMeasuredH200.fp32_tflops, spec.fp32_tflops, h200.fp32_tflops);
        spec.calibrated_split_tflops =
            scaled(kMeasuredH200.split_tflops, spec.split_tflops, h200.split_tflops);
        spec.calibrated_rounded_tflops =
            scaled(kMeasuredH200.rounded_tflops, spec.rounded_tflops, h200.rounded_tflops);
        spec.calibrated_memory_tbs =
            scaled(kMeasuredH200.memory_tbs, spec.memory_tbs, h200.memory_tbs);
        spec.calibrated_l2_tbs = kMeasuredH200.l2_share * spec.l2_tbs;
        spec.launch_us = kMeasuredH200.launch_us;
    }
    return table;
}

std::optional<GpuSpec> first_gpu(auto&& wanted) {
    auto found = std::find_if(gpu_table().begin(), gpu_table().end(), wanted);
    if (found == gpu_table().end()) return std::nullopt;
    return *found;
}

}  // namespace

const std::vector<GpuSpec>& gpu_table() {
    static const std::vector<GpuSpec> table = make_table();
    return table;
}

std::optional<GpuSpec> find_gpu(std::string_view name) {
    return first_gpu([&](const GpuSpec& spec) { return spec.name == name; });
}

std::optional<GpuSpec> gpu_of_device(std::string_view device) {
    struct Words {
        std::string_view name, first, second;  // the driver's name of the device contains both
    };
    // More specific rows come first.
    constexpr Words kWords[] = {
        {"a100-40gb", "A100", "40GB"}, {"a100-80gb", "A100", ""},   {"h100-pcie", "H100", "PCIe"},
        {"h100-sxm", "H100", ""},      {"h200", "H200", ""},        {"b200", "B200", ""},
        {"l40s", "L40S", ""},          {"rtx-4090", "RTX", "4090"},
    };
    for (const Words& row : kWords)
        if (device.find(row.first) != device.npos && device.find(row.second) != device.npos)
            return find_gpu(row.name);
    return std::nullopt;
}

std::optional<GpuSpec> default_gpu(std::string_view arch) {
    if (const Arch* supported = find_arch(arch)) return find_gpu(supported->typical_gpu);
    return first_gpu([&](const GpuSpec& spec) { return spec.arch == arch; });
}

}  // namespace fact
