#include "jit/compile_key.h"

#include "fake_compiler.h"
#include "jit/headers.h"

namespace fact::jit {
namespace {

TEST_F(Jit, ClosureFollowsOurHeadersOnly) {
    EXPECT_EQ(header_closure(kSource, kernels()),
              (std::vector<std::string>{"sm90/answer.cuh", "sm90/inner.cuh"}));
}

TEST_F(Jit, KeyFollowsEverythingThatMatters) {
    const Unit unit{"fill", kSource, "sm90a"};
    const std::string key = compile_key(unit, toolchain_);
    EXPECT_EQ(compile_key(unit, toolchain_), key);

    Unit renamed = unit;
    renamed.name = "other";
    EXPECT_EQ(compile_key(renamed, toolchain_), key);
    Unit changed = unit;
    changed.source += " ";
    EXPECT_NE(compile_key(changed, toolchain_), key);
    Unit marked = unit;
    marked.source.insert(marked.source.size() - 1, "  // mlp.fact:3");
    EXPECT_EQ(compile_key(marked, toolchain_), key);
    Unit elsewhere = unit;
    elsewhere.arch = "sm80";
    EXPECT_NE(compile_key(elsewhere, toolchain_), key);
    Toolchain newer = toolchain_;
    newer.version = "nvcc 0, CUTLASS 1";
    EXPECT_NE(compile_key(unit, newer), key);

    write(kernels() / "sm90" / "unused.cuh", "// changed\n");
    EXPECT_EQ(compile_key(unit, toolchain_), key);
    write(kernels() / "sm90" / "inner.cuh", "#pragma once\n#define INNER 43\n");
    EXPECT_NE(compile_key(unit, toolchain_), key);
}

TEST_F(Jit, CommentsInOurHeadersDoNotMatter) {
    const auto header = kernels() / "sm90" / "inner.cuh";
    const auto hash_with = [&](const std::string& text) {
        write(header, text);
        return code_hash(kSource, kernels());
    };
    const auto plain = hash_with("#pragma once\n#define INNER \"a//b\"\nint x;\n");
    EXPECT_EQ(hash_with("// Why.\n#pragma once  // once\n\n#define INNER \"a//b\"\nint x;\n"),
              plain);
    EXPECT_NE(hash_with("#pragma once\n#define INNER \"a//c\"\nint x;\n"), plain);
    EXPECT_NE(hash_with("#pragma once\n#define INNER \"a//b\"\n// int x;\n"), plain);
    EXPECT_NE(hash_with("#pragma once\n#define INNER \"a//b\"\nint /*\n*/ y;\n"), plain);
    EXPECT_EQ(hash_with("#pragma once\n#define INNER \"a//b\"\nint x; // unfinished"), plain);
    hash_with("int x; /* unfinished");  // ends
}

TEST_F(Jit, KeyDoesNotMoveWithTheFolder) {
    const Unit unit{"fill", kSource, "sm90a"};
    const std::string key = compile_key(unit, toolchain_);
    fs::copy(kernels(), folder_.path() / "moved", fs::copy_options::recursive);
    toolchain_.kernels_folder = folder_.path() / "moved";
    EXPECT_EQ(compile_key(unit, toolchain_), key);
}

TEST_F(Jit, KeyFollowsTheCompilersEnvironment) {
    const Unit unit{"fill", kSource, "sm90a"};
    const std::string key = compile_key(unit, toolchain_);
    for (const char* variable : {"NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN", "CPATH",
                                 "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}) {
        const char* before = std::getenv(variable);
        const std::string kept = before ? before : "";
        setenv(variable, "-lineinfo", 1);
        EXPECT_NE(compile_key(unit, toolchain_), key) << variable;
        before ? setenv(variable, kept.c_str(), 1) : unsetenv(variable);
        EXPECT_EQ(compile_key(unit, toolchain_), key) << variable;
    }
    toolchain_.host_compiler = "gcc 99";
    EXPECT_NE(compile_key(unit, toolchain_), key);
}

TEST_F(Jit, TheHashOfOurCodeIsBlindToTheCompiler) {
    const auto code = code_hash(kSource, kernels());
    EXPECT_EQ(code_hash(std::string(kSource) + "// k.fact:3\n", kernels()),
              code_hash(std::string(kSource) + "// k.fact:4\n", kernels()));
    write(kernels() / "sm90" / "unused.cuh", "other\n");
    EXPECT_EQ(code_hash(kSource, kernels()), code);
    EXPECT_NE(code_hash(std::string(kSource) + "int x;\n", kernels()), code);
    write(kernels() / "sm90" / "inner.cuh", "#pragma once\n#define INNER 43\n");
    EXPECT_NE(code_hash(kSource, kernels()), code);
}

}  // namespace
}  // namespace fact::jit
