#include "driver/ceilings.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

struct Cache {
    TemporaryFolder folder{fs::temp_directory_path(), "fact-ceilings-test"};
    Environment environment;
    Cache() { environment.store = folder.path(); }

    Ceilings find(const std::string& gpu) const {
        auto found = find_ceilings(environment, gpu, "sm90a");
        EXPECT_TRUE(found.ok());
        return *found;
    }
    void keep(const std::string& gpu, const std::string& text) const {
        EXPECT_TRUE(write_file_atomic(calibration_file(environment, gpu), text).ok());
    }
};

Calibration h200() {
    Calibration c;
    c.gpu = "h200";
    c.device = "NVIDIA H200";
    c.date = "2026-03-01T12:00:00Z";
    for (const auto& [name, value] : {std::pair{"memory_copy", 4.0},
                                      {"l2_read", 7.0},
                                      {"bf16", 700.0},
                                      {"tf32", 350.0},
                                      {"f32_split", 150.0},
                                      {"fp32", 60.0},
                                      {"launch", 1.5}})
        c.ceilings.push_back({name, "", value, value, value, 1, 0, 0, ""});
    return c;
}

TEST(Ceilings, TheTablesUntilSomethingWasMeasured) {
    const Cache cache;
    EXPECT_EQ(cache.find("h200").source, "from the table, measured on an H200");
    EXPECT_EQ(cache.find("b200").source, "from the table, scaled from what an H200 reaches");
    EXPECT_EQ(cache.find("").gpu.name, "h200") << "typical of its architecture";
    cache.keep("h200", to_json(h200()));
    EXPECT_EQ(cache.find("h200").source, "calibrated 2026-03-01 on NVIDIA H200");
    EXPECT_EQ(cache.find("").gpu.calibrated_bf16_tflops, 700);
    EXPECT_EQ(cache.find("b200").source, "from the table, scaled from what an H200 reaches");
}

TEST(Ceilings, AQuickCalibrationIsCalledSo) {
    const Cache cache;
    auto quick = h200();
    quick.quick = true;
    cache.keep("h200", to_json(quick));
    EXPECT_EQ(cache.find("h200").source, "calibrated 2026-03-01 on NVIDIA H200, quickly");
}

TEST(Ceilings, OfAnotherGpuIsPassedOver) {
    const Cache cache;
    cache.keep("h100-sxm", to_json(h200()));
    const auto found = cache.find("h100-sxm");
    EXPECT_EQ(found.gpu.calibrated_memory_tbs, find_gpu("h100-sxm")->calibrated_memory_tbs);
    EXPECT_NE(found.source.find("h100-sxm.json was ignored: it is for h200"), std::string::npos)
        << found.source;
}

TEST(Ceilings, AnUnknownGpuListsTheKnown) {
    const auto gpu = known_gpu("h20");
    ASSERT_FALSE(gpu.ok());
    EXPECT_TRUE(gpu.error().bad_input);
    EXPECT_EQ(gpu.error().text(),
              "there is no GPU 'h20' in the table\n  did you mean h200? it has a100-40gb, "
              "a100-80gb, h100-sxm, h100-pcie, h200, b200, l40s, rtx-4090");
}

TEST(Ceilings, DiscoveryCountsWithThem) {
    const Cache cache;
    cache.keep("h200", to_json(h200()));
    const auto options = match_options(cache.find("h200"), "sm90a", true);
    ASSERT_TRUE(options.ceilings.has_value());
    EXPECT_EQ(options.ceilings->calibrated_bf16_tflops, 700);
    EXPECT_EQ(options.tf32, Tf32(true));
}

}  // namespace
}  // namespace fact::driver
