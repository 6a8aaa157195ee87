#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "calibrate/check.h"
#include "calibrate/probes.h"
#include "calibrate/products.h"
#include "gpu/launch_plan.h"
#include "ir/number.h"
#include "support/files.h"

namespace fact::calibrate {
namespace {

constexpr ProbeKind kKinds[] = {ProbeKind::read, ProbeKind::write,        ProbeKind::copy,
                                ProbeKind::l2,   ProbeKind::multiply_add, ProbeKind::nothing,
                                ProbeKind::hold, ProbeKind::fill};

std::string kernel_file(const std::string& file) {
    const auto text =
        read_file(std::filesystem::path(FACT_SOURCE_DIR) / "kernels/calibrate" / file);
    return text ? *text : "";
}

TEST(Probes, RecordsAreSoundAndNameKernelsThatExist) {
    for (const ProbeKind kind : kKinds)
        for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
            if (dtype != DType::f32 && kind != ProbeKind::fill) continue;
            const Probe one = probe(kind, "sm90a", dtype);
            SCOPED_TRACE(one.entry);
            EXPECT_EQ(inconsistency(one.record), "");
            EXPECT_NE(kernel_file(one.file).find(" " + one.entry + "("), std::string::npos);
            const auto tensors = arguments(kind, 1 << 20, dtype);
            EXPECT_EQ(static_cast<int>(tensors.size()), one.record.num_bound());
        }
}

TEST(Probes, StreamsCountSixteenBytes) {
    const Probe copy = probe(ProbeKind::copy, "sm90a");
    const auto tensors = arguments(ProbeKind::copy, 1 << 20);
    const Launch& launch = copy.record.launches.front();
    const auto bytes = gpu::pack(std::get<StructParam>(launch.params.front()), tensors);
    ASSERT_EQ(bytes.size(), 24u);
    int count = 0;
    std::memcpy(&count, bytes.data() + 16, 4);
    EXPECT_EQ(count, (1 << 20) / 4);
    EXPECT_EQ(gpu::grid_size(launch, tensors, 1000).x, 128) << "2048 of 16 bytes a block";
    EXPECT_EQ(gpu::grid_size(launch, tensors, 100).x, 100);
}

// The constants stand on both sides of the compiler: here they are compared.
TEST(Probes, WorkIsWhatTheKernelsSay) {
    const auto constant = [](const std::string& file, const std::string& name) {
        const auto text = kernel_file(file);
        const auto at = text.find(name + " = ");
        return at == text.npos ? 0 : std::stoi(text.substr(at + name.size() + 3));
    };
    EXPECT_EQ(bytes_of(ProbeKind::copy, 1024), 8192);
    EXPECT_EQ(bytes_of(ProbeKind::read, 1024), 4096);
    EXPECT_EQ(bytes_of(ProbeKind::l2, 1024), 4096. * constant("streams.cu", "kRounds"));
    EXPECT_EQ(flops_of(ProbeKind::multiply_add, 1),
              2. * constant("arithmetic.cu", "kChains") * constant("arithmetic.cu", "kSteps"));
    EXPECT_EQ(constant("streams.cu", "kInFlight"), 8);
}

TEST(Probes, KernelsCompile) {
    const auto toolchain = jit::find_toolchain();
    if (!toolchain) GTEST_SKIP() << toolchain.error().message;
    const TemporaryFolder store(std::filesystem::temp_directory_path(), "fact-calibrate");
    for (const std::string file : {"streams.cu", "arithmetic.cu", "fill.cu"})
        for (const std::string arch : {"sm90a", "sm80"}) {
            const auto built = jit::compile({"probe", kernel_file(file), arch}, *toolchain,
                                            store.path(), Seconds(300));
            ASSERT_TRUE(built.ok()) << built.error().text();
            EXPECT_EQ(built->spill_bytes, 0) << file;
        }
}

TEST(Products, EachTypeHasKernels) {
    for (const std::string arch : {"sm90a", "sm80"}) {
        const auto probes = product_probes(arch, 2, 1024);
        ASSERT_TRUE(probes.ok()) << probes.error().text();
        ASSERT_EQ(probes->size(), 4u);
        for (const auto& probe : *probes) {
            SCOPED_TRACE(arch + " " + probe.name);
            ASSERT_EQ(probe.kernels.size(), 2u);
            EXPECT_NE(probe.kernels[0].schedule, probe.kernels[1].schedule);
            EXPECT_EQ(probe.kernels[0].record.arch, arch);
            EXPECT_EQ(inconsistency(probe.kernels[0].record), "");
            EXPECT_EQ(probe.flops(), 2. * 1024 * 1024 * 1024);
        }
        EXPECT_EQ((*probes)[2].kernels[0].record.precision, "tf32");
        EXPECT_EQ((*probes)[3].kernels[0].record.precision, arch == "sm90a" ? "f16x3" : "tf32x3");
    }
}

TEST(Calibrate, RatesAndTimes) {
    const Times single{250, 200, 400, 51}, sustained{500, 500, 500, 5};
    const Ceiling copy = rate("memory_copy", "TB/s", 1e9, single, sustained, "1 GB");
    EXPECT_DOUBLE_EQ(copy.value, 4);
    EXPECT_DOUBLE_EQ(copy.low, 2.5);
    EXPECT_DOUBLE_EQ(copy.high, 5);
    EXPECT_DOUBLE_EQ(copy.sustained, 2);
    EXPECT_EQ(copy.runs, 51);
    EXPECT_EQ(copy.sustained_runs, 5);
    EXPECT_EQ(rate("memory_copy", "TB/s", 1e9, single, {}, "").sustained, 0);
    const Ceiling launch = time_of("launch", 100, single, "");
    EXPECT_DOUBLE_EQ(launch.value, 2.5);
    EXPECT_DOUBLE_EQ(launch.low, 2);
}

TEST(Check, ProductsAreSummedAgain) {
    // x = (1, 2), w rows (3, 4) and (5, 6): 11 and 17.
    const float x[] = {1, 2}, w[] = {3, 4, 5, 6}, right[] = {11, 17}, wrong[] = {11, 17.3f};
    const auto text = [](const auto& values) {
        return std::string_view(reinterpret_cast<const char*>(values), sizeof(values));
    };
    EXPECT_EQ(wrong_products(text(x), text(w), text(right), DType::f32), "");
    EXPECT_EQ(wrong_products(text(x), text(w), text(wrong), DType::f32),
              "column 1 is 17.3 instead of 17");
    const std::uint16_t hx[] = {ir::bf16_from_f32(1), ir::bf16_from_f32(2)},
                        hw[] = {ir::bf16_from_f32(3), ir::bf16_from_f32(4)},
                        hy[] = {ir::bf16_from_f32(11)}, none[] = {0x7fc0};
    EXPECT_EQ(wrong_products(text(hx), text(hw), text(hy), DType::bf16), "");
    EXPECT_NE(wrong_products(text(hx), text(hw), text(none), DType::bf16), "") << "NaN";
}

TEST(Check, WriteStreamsCountUp) {
    const auto content = counted_up(48);
    std::uint32_t words[12];
    std::memcpy(words, content.data(), 48);
    EXPECT_EQ(words[3], 0u);
    EXPECT_EQ(words[4], 1u);
    EXPECT_EQ(words[11], 2u);
}

}  // namespace
}  // namespace fact::calibrate
