#include <gtest/gtest.h>

#include "graph/pt2_provenance.h"

namespace fact::graph {
namespace {

constexpr std::string_view kTrace =
    "  File \"/app/main.py\", line 3, in forward\n"
    "    return self.block(x)\n"
    "  File \"/app/model.py\", line 41, in forward\n"
    "    return self.fc(x)\n"
    "  File \"/lib/python3/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n"
    "    return F.linear(input, self.weight, self.bias)";

std::string module_path(std::string_view stack) {
    return read_provenance("", stack).module_path;
}

TEST(Provenance, TakesTheInnermostLineOfTheUser) {
    const Provenance where = read_provenance(kTrace, "");
    EXPECT_EQ(where.file, "/app/model.py");
    EXPECT_EQ(where.line, 41);
    EXPECT_EQ(where.code, "return self.fc(x)");
}

TEST(Provenance, FallsBackToTorchItself) {
    const Provenance where =
        read_provenance("File \"torch/fx/passes/runtime_assert.py\", line 24, in insert", "");
    EXPECT_EQ(where.line, 24);
    EXPECT_EQ(where.code, "");
}

TEST(Provenance, SurvivesOtherText) {
    EXPECT_EQ(read_provenance("", ""), Provenance{});
    EXPECT_EQ(read_provenance("no frames here\n\n", "no commas"), Provenance{});
    EXPECT_EQ(read_provenance("File \"a.py", "a,b"), Provenance{});
    EXPECT_EQ(read_provenance("File \"a.py\", line 99999999999999", "").line, 0);
}

TEST(Provenance, ReadsModulePaths) {
    EXPECT_EQ(module_path("L__self__,,torch.nn.Sequential;L__self___0,blocks.0.mlp,model.Mlp"),
              "blocks.0.mlp");
    EXPECT_EQ(module_path("k,L['self'].blocks[0].mlp,model.Mlp"), "blocks.0.mlp");
    EXPECT_EQ(module_path("k,L['self']._modules['blocks']._modules['0'],M"), "blocks.0");
    EXPECT_EQ(module_path("k,getattr(getattr(L['self'], 'blocks'), '0').mlp,model.Mlp"),
              "blocks.0.mlp");
    EXPECT_EQ(module_path("k,blocks.0@1,model.Mlp"), "blocks.0");
    EXPECT_EQ(module_path("L__self__,,model.Root"), "");
    EXPECT_EQ(read_provenance("", "k,fc,torch.nn.modules.linear.Linear").module_type, "Linear");
    EXPECT_EQ(module_path("_empty_nn_module_stack_x,_empty_nn_module_stack_x,y"), "");
}

}  // namespace
}  // namespace fact::graph
