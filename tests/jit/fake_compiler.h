// What tests of the compiler share: a folder of kernels, and a stand-in for nvcc.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "jit/compiler.h"
#include "support/files.h"

namespace fact::jit {

namespace fs = std::filesystem;

inline constexpr const char* kSource =
    "#include \"sm90/answer.cuh\"\n"
    "extern \"C\" __global__ void fill(int* out) { out[threadIdx.x] = answer(); }\n";

class Jit : public testing::Test {
  protected:
    void SetUp() override {
        write(kernels() / "sm90" / "answer.cuh",
              "#pragma once\n  #  include \"inner.cuh\"\n#include <cuda_fp16.h>\n"
              "__device__ int answer() { return INNER; }\n");
        write(kernels() / "sm90" / "inner.cuh", "#pragma once\n#define INNER 42\n");
        write(kernels() / "sm90" / "unused.cuh", "#error never included\n");
        toolchain_.kernels_folder = kernels();
        toolchain_.cutlass_include = folder_.path() / "cutlass";
        toolchain_.version = "nvcc 0, CUTLASS 0";
        fs::create_directories(toolchain_.cutlass_include);
    }

    static void write(const fs::path& path, std::string_view text) {
        ASSERT_TRUE(write_file_atomic(path, text).ok());
    }
    fs::path kernels() const { return folder_.path() / "kernels"; }
    fs::path store() const { return folder_.path() / "store"; }

    // A stand-in for nvcc: runs `body` in the unit's folder.
    void fake_nvcc(const std::string& body) {
        toolchain_.nvcc = folder_.path() / "nvcc";
        write(toolchain_.nvcc, "#!/bin/sh\n" + body + "\n");
        fs::permissions(toolchain_.nvcc, fs::perms::owner_all);
    }

    // The machine's own compiler, or false.
    bool real_nvcc() {
        const char* places[] = {std::getenv("FACT_NVCC"), "/usr/local/cuda/bin/nvcc",
                                "/usr/bin/nvcc"};
        for (const char* place : places)
            if (place && fs::exists(place)) {
                toolchain_.nvcc = place;
                return true;
            }
        return false;
    }

    TemporaryFolder folder_{fs::temp_directory_path(), "fact-jit"};
    Toolchain toolchain_;
};

}  // namespace fact::jit
