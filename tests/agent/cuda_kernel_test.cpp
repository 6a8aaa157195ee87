#include "agent/cuda_kernel.h"

#include <gtest/gtest.h>

#include "../verify/small_graphs.h"
#include "agent/proposal.h"
#include "dsl/cuda_text.h"
#include "support/files.h"

namespace fact::agent {
namespace {

using verify::add_input;
using verify::add_node;
using verify::add_output;
using verify::dense;

constexpr const char* kSource = "__global__ void FACT_ENTRY() {}\n";

// Two results: tanh of x, and whether that is above nothing; or only the second.
graph::Graph compared(bool both, DType second = DType::boolean,
                      std::vector<std::int64_t> sizes = {4, 8}) {
    graph::Graph g;
    const auto type = dense(DType::f32, sizes);
    const auto x = add_input(g, "x", type);
    const auto t = add_node(g, "aten.tanh.default", {{"self", x}}, type);
    const auto c =
        add_node(g, "aten.gt.Scalar", {{"self", t}, {"other", 0.0}}, dense(second, sizes));
    if (both) add_output(g, t);
    add_output(g, c);
    return g;
}

Result<std::string> text_for(const graph::Graph& g, const std::string& source) {
    std::vector<std::string> all;
    for (const auto& node : g.nodes) all.push_back(node.name);
    return cuda_kernel("k", g, interface_of(g, *node_set(g, all)), source);
}

TEST(CudaKernel, IsAPatternWhoseTextIsVoid) {
    const auto g = compared(true);
    const auto text = text_for(g, kSource);
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_EQ(*dsl::cuda_source(*text), kSource);
    std::vector<std::string> all;
    for (const auto& node : g.nodes) all.push_back(node.name);
    Diagnostics diagnostics;
    const auto authored = author(g, *node_set(g, all), *text, {}, diagnostics);
    ASSERT_TRUE(authored) << authored.error().text();
    EXPECT_EQ(authored->pattern.kernel, *text);
    const auto other =
        author(g, *node_set(g, all), *text_for(g, std::string("//\n") + kSource), {}, diagnostics);
    EXPECT_NE(other->pattern.family,
              authored->pattern.family);  // another kernel is proved by itself
    EXPECT_TRUE(diagnostics.items().empty());
}

TEST(CudaKernel, WhatCannotBeOneIsRefused) {
    const auto said = [](const graph::Graph& g, const std::string& source) {
        const auto text = text_for(g, source);
        return text ? std::string() : text.error().message;
    };
    EXPECT_EQ(said(compared(true), "void f() {}"), "the source has no entry point");
    // The cure declares it as the example of the prompt does.
    const auto example =
        read_file(std::filesystem::path(FACT_SOURCE_DIR) / "prompts/write_cuda.md");
    const auto cure = text_for(compared(true), "void f() {}").error().hint;
    const std::string declared =
        "FACT_ENTRY(__grid_constant__ PlainArguments<FACT_TENSORS> const arguments)";
    EXPECT_NE(example->find(declared), std::string::npos);
    EXPECT_NE(cure.find(declared), std::string::npos) << cure;
    EXPECT_EQ(said(compared(false), kSource),
              "none of the kernel's results has a floating-point type");
    EXPECT_NE(said(compared(true, DType::i64), kSource).find("integers"), std::string::npos);
    EXPECT_NE(said(compared(true, DType::boolean, {2, 3, 4, 5, 6}), kSource).find("more than 4"),
              std::string::npos);
    for (const auto* include :
         {"#include \"/etc/passwd\"", " # include \"x.h\"", "#include <../x>", "#include X",
          "%:include \"x\"", "#embed \"x\"", "#include_next <x>", "/**/#include \"x\"",
          "#inc\\\nlude \"x\"", "#include/**/\"x\""})
        EXPECT_NE(said(compared(true), std::string(include) + "\n" + kSource)
                      .find("the source must not contain"),
                  std::string::npos)
            << include;
    EXPECT_NE(said(compared(true), "#include <a>" + std::string(100'000, ' ') + "x\n" + kSource)
                  .find("the source must not contain"),
              std::string::npos);
    for (const auto* include :
         {"#include \"common/plain.cuh\"", "#include <cuda_bf16.h>", "#include <cuda/std/limits>",
          "#include <cooperative_groups.h> // x"})
        EXPECT_EQ(said(compared(true), std::string(include) + "\n" + kSource), "") << include;
}

}  // namespace
}  // namespace fact::agent
