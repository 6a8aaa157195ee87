// A compiler that copies its source and a worker that does what the copy says: the tuner without
// nvcc, PyTorch or a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/files.h"
#include "test_data.h"
#include "tune/search.h"

namespace fact::tune {

namespace fs = std::filesystem;

// A candidate as whose kernel the worker behaves as the text says (worker.py).
inline Candidate behaving(const std::string& name, const std::string& behaviour) {
    Candidate c;
    c.name = name;
    c.schedule = "tile of " + name;
    c.source = "// behave:" + behaviour + "\n";
    c.record.kernel = "linear";
    c.record.arch = "sm90a";
    Launch launch;
    launch.entry = "linear";
    launch.block = 128;
    launch.grid = LinearGrid{};
    c.record.launches = {launch};
    return c;
}

class StandIns : public testing::Test {
  protected:
    void SetUp() override {
        const fs::path nvcc = folder_.path() / "nvcc";
        ASSERT_TRUE(write_file_atomic(nvcc,
                                      "#!/bin/sh\n"
                                      "grep -q uncompilable kernel.cu && "
                                      "{ echo 'kernel.cu(1): error: bad'; exit 1; }\n"
                                      "cp kernel.cu kernel.cubin\n")
                        .ok());
        fs::permissions(nvcc, fs::perms::owner_all);
        options_.toolchain.nvcc = nvcc;
        options_.toolchain.kernels_folder = folder_.path() / "kernels";
        options_.toolchain.cutlass_include = folder_.path();
        options_.toolchain.version = "stand-in";
        options_.run_folder = folder_.path() / "run";
        options_.store = folder_.path() / "store";
        options_.worker = std::string(FACT_TEST_DATA) + "/worker.py";
        options_.device = "cuda";
        options_.device_name = "stand-in GPU";
        options_.jobs = 4;
        options_.stop_early = false;  // the stand-in knows nothing of the model
        options_.deadlines.measure = Seconds(2.0);
        options_.deadlines.sustained = Seconds(5.0);
        options_.call = (folder_.path() / "call.json").string();
        pattern_.family = "linear_0";
        pattern_.kernel = "kernel linear(...)\n";
        pattern_.cost.hard_us = 10;
        setenv("FAKE_LOG", log().c_str(), 1);
        unsetenv("FAKE_OPEN");
    }

    fs::path log() const { return folder_.path() / "log"; }
    // How often the workers were asked `what`.
    long asked(const std::string& what) const {
        auto text = read_file(log());
        if (!text) return 0;
        long count = 0;
        for (std::size_t at = 0; (at = text->find(what + "\n", at)) != text->npos; ++at) ++count;
        return count;
    }
    Realization realized(const std::vector<Candidate>& candidates) {
        auto r = realize_candidates(pattern_, candidates, options_);
        EXPECT_TRUE(r.ok()) << r.error().text();
        return r ? *r : Realization{};
    }

    TemporaryFolder folder_{fs::temp_directory_path(), "fact-tune"};
    RealizeOptions options_;
    match::Pattern pattern_;
};

}  // namespace fact::tune
