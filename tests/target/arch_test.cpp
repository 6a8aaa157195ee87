#include "target/arch.h"

#include <gtest/gtest.h>

#include "target/gpu_spec.h"

namespace fact {
namespace {

TEST(Arch, IsFoundByNameAndHasASkeletonAndAGpu) {
    for (const Arch& arch : kArchs) {
        EXPECT_EQ(find_arch(arch.name), &arch);
        EXPECT_TRUE(check_arch(arch.name).ok()) << arch.name;
        EXPECT_FALSE(arch.skeletons.empty()) << arch.name;
        const auto gpu = find_gpu(arch.typical_gpu);
        ASSERT_TRUE(gpu) << arch.typical_gpu;
        EXPECT_EQ(gpu->arch, arch.name);
    }
    EXPECT_EQ(find_arch("sm70"), nullptr);
    EXPECT_EQ(check_arch("sm70").error().text(),
              "there are no kernels for the architecture sm70\n"
              "  use sm90a (H100, H200) or sm80 (A100)");
}

TEST(Arch, EverySkeletonRunsSomewhere) {
    for (const SkeletonInfo& row : kSkeletons) {
        bool runs = false;
        for (const Arch& arch : kArchs)
            for (const Skeleton skeleton : arch.skeletons) runs |= skeleton == row.skeleton;
        EXPECT_TRUE(runs) << row.name;
    }
}

}  // namespace
}  // namespace fact
