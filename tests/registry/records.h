// A record to vary, and folders that go again.
#pragma once

#include <gtest/gtest.h>

#include "registry/identity.h"
#include "registry/store.h"
#include "support/files.h"

namespace fact::registry {

namespace fs = std::filesystem;

inline Record linear(std::int64_t m = 4096, std::int64_t n = 3072, std::int64_t k = 768) {
    Record r;
    r.work.rule = "linear";
    r.work.text =
        "kernel linear_bias(x: bf16[M, K], w: bf16[N, K], bias: bf16[N]) -> (y: bf16[M, N]) {\n"
        "  acc = x @ w.T\n"
        "  y   = acc + bias\n"
        "}\n";
    r.work.call = "0123456789abcdef";
    r.work.dtype = r.work.output = "bf16";
    r.work.m = m, r.work.n = n, r.work.k = k;
    r.work.extents = {{"K", k}, {"M", m}, {"N", n}};
    r.work.tensors = {{"x", false, 16, {2, 1}}, {"w", true, 16, {1, 1}}, {"bias", true, 16, {1}}};
    r.work.arch = "sm90a";
    r.work.gpu = "NVIDIA H200";
    r.toolchain = {"nvcc 13.0.88, CUTLASS 4.2.0", "c0de", "feed"};
    r.kernel = "linear_bias";
    r.schedule = "tile 128x256x64";
    r.precision = "bf16";
    r.effort = 16, r.candidates = 12;
    r.single = {100.5, 99.25, 101.75, 40};
    r.torch_single = {120, 119, 121, 40};
    r.sustained = {110, 108, 112, 200};
    r.torch_sustained = {130, 128, 132, 200};
    r.checks = {{"normal", 1, {2e-3, 2e-4}, {1e-3, 1e-4}},
                {"large", 2, {3e-3, 2e-4}, {3e-3, 1e-4}}};
    r.text_checks = {{"normal", 1, {2e-3, 2e-4}, {1e-3, 1e-4}}};
    r.note = "M shrunk to 128";
    r.proof = "also at M=4095";
    r.provenance = {"2026-01-31T12:00:00.000Z", "0.1.0", "abc1234", "2.11.0"};
    return r;
}

class InFolders : public testing::Test {
  protected:
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-registry"};
    fs::path own_ = folder_.path() / "own", shipped_ = folder_.path() / "shipped";
    Registry registry_{{own_, {shipped_}}};
    Registry shipping_{{shipped_, {}}};

    fs::path file_of(const Record& record, const fs::path& folder) const {
        return folder / "h200" / (key(record) + ".json");
    }
};

}  // namespace fact::registry
