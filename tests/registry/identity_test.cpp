#include "registry/identity.h"

#include <gtest/gtest.h>

#include <set>

#include "records.h"

namespace fact::registry {
namespace {

// Shipped records are found by these: a change here makes all of them unfindable.
TEST(Key, StaysWhatItIs) {
    EXPECT_EQ(key(linear()), "54ccd2be3c63d002");
    EXPECT_EQ(rule_identity(linear().work.text), "e0606190343031fe");
}

TEST(Key, FollowsFromEverythingTheResultFollowsFrom) {
    std::set<std::string> keys{key(linear())};
    const auto differs = [&](auto&& change) {
        auto record = linear();
        change(record);
        EXPECT_TRUE(keys.insert(key(record)).second) << to_json(record);
    };
    differs(
        [](Record& r) { r.work.text.replace(r.work.text.find("acc + bias"), 10, "acc - bias"); });
    differs([](Record& r) { r.work.call = "another"; });
    differs([](Record& r) { r.work.dtype = "f16"; });
    differs([](Record& r) { r.work.output = "f32"; });
    differs([](Record& r) { r.work.split = true; });
    differs([](Record& r) { r.work.allow_tf32 = true; });
    differs([](Record& r) { r.work.a_along_k = false; });
    differs([](Record& r) { r.work.b_along_k = false; });
    differs([](Record& r) { ++r.work.m; });
    differs([](Record& r) { ++r.work.n; });
    differs([](Record& r) { ++r.work.k; });
    differs([](Record& r) { ++r.work.batch; });
    differs([](Record& r) { ++r.work.extents["M"]; });
    differs([](Record& r) { r.work.extents["H"] = 8; });
    differs([](Record& r) { r.work.tensors[0].alignment = 8; });
    differs([](Record& r) { r.work.tensors[0].constant = true; });
    differs([](Record& r) { r.work.tensors[0].dims = {1, 2}; });
    differs([](Record& r) { r.work.arch = "sm80"; });
    differs([](Record& r) { r.work.gpu = "NVIDIA H100 80GB HBM3"; });
    differs([](Record& r) { r.toolchain.versions = "nvcc 13.0.88, CUTLASS 4.3.0"; });
    differs([](Record& r) { r.toolchain.versions = "nvcc 12.8.93, CUTLASS 4.2.0"; });
}

TEST(Key, LeavesOutNoise) {
    const auto same = [](auto&& change) {
        auto record = linear();
        change(record);
        EXPECT_EQ(key(record), key(linear())) << to_json(record);
    };
    same([](Record& r) { r.provenance = {"2027-01-01T00:00:00.000Z", "9.9.9", "fff", "3.0"}; });
    same([](Record& r) { r.kernel = "mine"; });
    same([](Record& r) { r.work.text.replace(r.work.text.find("linear_bias"), 11, "mine"); });
    same([](Record& r) { r.work.rule = "product"; });
    same([](Record& r) { r.schedule = "tile 64x64x64"; });
    same([](Record& r) { r.single.median_us = 1; });
    same([](Record& r) { r.toolchain.code = r.toolchain.compile_key = "x"; });
    same([](Record& r) { r.note = "other"; });
}

TEST(Key, NoTwoListsOfPartsAreTheSame) {
    auto a = linear(), b = linear();
    a.work.tensors = {{"x", false, 16, {1, 1}}};
    b.work.tensors = {{"x", false, 16, {1}}, {"1", false, 16, {}}};
    EXPECT_NE(key(a), key(b));
    a = linear(), b = linear();
    a.work.dtype = "bf", a.work.output = "16bf16";
    EXPECT_NE(key(a), key(b));
}

TEST(RuleIdentity, IsBlindToNamesAndNumbersOnly) {
    const auto rule = [](const std::string& body, const std::string& name = "f") {
        return rule_identity("kernel " + name +
                             "(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  " + body +
                             "\n}\n");
    };
    EXPECT_EQ(rule("y = x @ w.T * 0.125"), rule("y = x @ w.T * 1.5e-05", "other"));
    EXPECT_EQ(rule("y = x @ w.T * 8"), rule("y = x @ w.T * 16"));
    EXPECT_NE(rule("y = x @ w.T * 8"), rule("y = x @ w.T + 8"));
    EXPECT_NE(rule("y = relu(x @ w.T)"), rule("y = gelu(x @ w.T)"));
    // 16 is part of the type's name.
    EXPECT_NE(rule_identity("kernel f(x: bf16[M])"), rule_identity("kernel f(x: f32[M])"));
}

TEST(Nameless, TakesOutTheKernelsNameWhereverItStands) {
    EXPECT_EQ(without_kernel_name("kernel mlp(x: f32[M])\nschedule mlp.acc on sm90a { }\nmlp_2"),
              "kernel _(x: f32[M])\nschedule _.acc on sm90a { }\nmlp_2");
    EXPECT_EQ(without_kernel_name("no name"), "no name");
    EXPECT_EQ(without_kernel_name(""), "");
}

TEST(GpuFolder, IsAPlainName) {
    EXPECT_EQ(gpu_folder("NVIDIA H200"), "h200");
    EXPECT_EQ(gpu_folder("NVIDIA H100 80GB HBM3"), "h100-sxm");
    EXPECT_EQ(gpu_folder("Some/Thing ../ New"), "some-thing-----new");
    EXPECT_EQ(gpu_folder(""), "unknown");
}

TEST(SameWork, WhateverCheckedOrCompiledIt) {
    auto other = linear();
    other.work.call = "another";
    other.toolchain.versions = "nvcc 12.4.0, CUTLASS 3.9.0";
    EXPECT_TRUE(same_work(linear().work, other.work));
    EXPECT_NE(key(linear()), key(other));
    EXPECT_FALSE(same_work(linear(4096).work, linear(4097).work));
}

}  // namespace
}  // namespace fact::registry
