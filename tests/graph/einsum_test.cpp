#include "graph/einsum.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/arguments.h"
#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::Sizes;
using testing::tensor;

struct Written {
    std::string equation;
    std::vector<Sizes> operands;
    Sizes result;
    Sizes path = {};
};

// The steps of an einsum of tensors a, b, ..., each as "target(operands): strides".
std::string steps(const Written& written, DType dtype = DType::f32) {
    GraphBuilder b;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < written.operands.size(); ++i)
        operands.push_back(b.input(std::string(1, static_cast<char>('a' + i)),
                                   tensor(written.operands[i], dtype)));
    std::vector<NamedArgument> arguments{{"equation", written.equation}, {"tensors", operands}};
    if (!written.path.empty()) arguments.push_back({"path", written.path, true});
    b.output(b.node("y", "aten.einsum.default", arguments, tensor(written.result, dtype)));
    const Graph split = split_einsums(b.graph);
    EXPECT_EQ(verify(split), "");
    std::string text;
    for (const Node& node : split.nodes) {
        text += fmt::format("{} = {}(", split[node.outputs[0]].name,
                            node.target.substr(5, node.target.rfind('.') - 5));
        for (const ValueId id : tensor_inputs(node)) text += split[id].name + " ";
        for (const NamedArgument& input : node.inputs) {
            if (const auto* equation = std::get_if<std::string>(&input.value)) text += *equation;
            if (const auto* ints = std::get_if<Sizes>(&input.value))
                for (const auto n : *ints) text += fmt::format("{} ", n);
        }
        text += ")\n";
    }
    return text;
}

// One product takes the mask along: the mask's own index is summed later.
TEST(Einsum, IsContractedFromTheLeft) {
    EXPECT_EQ(
        steps(
            {"bln,bsn,bls,bsp->blp", {{2, 8, 4}, {2, 16, 4}, {2, 8, 16}, {2, 16, 32}}, {2, 8, 32}}),
        "y_matmul_1 = einsum(a b bln,bsn->bls)\n"
        "y_product_2 = mul(y_matmul_1 c )\n"
        "y = einsum(y_product_2 d bls,bsp->blp)\n");
}

// A scale along an index that is summed later multiplies the operand that has it.
TEST(Einsum, MultipliesWhatSharesNoSum) {
    EXPECT_EQ(steps({"bln,bl,blp->bpn", {{2, 8, 4}, {2, 8}, {2, 8, 16}}, {2, 16, 4}}),
              "y_permute_1 = permute(a 0 2 1 )\n"
              "y_reshape_2 = reshape(b 2 1 8 )\n"
              "y_product_3 = mul(y_permute_1 y_reshape_2 )\n"
              "y = einsum(y_product_3 c bnl,blp->bpn)\n");
    EXPECT_EQ(steps({"i,j->ij", {{3}, {4}}, {3, 4}}),
              "y_reshape_1 = reshape(a 3 1 )\n"
              "y = mul(y_reshape_1 b )\n");
}

TEST(Einsum, FollowsAPath) {
    EXPECT_EQ(steps({"ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 6}}, {3, 6}, {1, 2, 0, 1}}),
              "y_matmul_1 = einsum(b c jk,kl->lj)\n"
              "y = einsum(a y_matmul_1 ij,lj->il)\n");
}

TEST(Einsum, SumsFirstWhatOneOperandHasAlone) {
    EXPECT_EQ(steps({"bijm,bjk->bik", {{2, 3, 4, 6}, {2, 4, 5}}, {2, 3, 5}}),
              "y_sum_1 = sum(a 3 )\n"
              "y = einsum(y_sum_1 b bij,bjk->bik)\n");
    EXPECT_EQ(steps({"bij->jb", {{2, 3, 4}}, {4, 2}}),
              "y_permute_1 = permute(a 2 0 1 )\n"
              "y = sum(y_permute_1 2 )\n");
}

// Both operands lie in the order of the first, so that it need not be copied.
TEST(Einsum, MergesIndicesThatAreSummed) {
    EXPECT_EQ(steps({"ijk,ljk->il", {{3, 4, 5}, {6, 4, 5}}, {3, 6}}),
              "y_reshape_1 = reshape(a 3 20 )\n"
              "y_reshape_2 = reshape(b 6 20 )\n"
              "y = einsum(y_reshape_1 y_reshape_2 ij,lj->il)\n");
    EXPECT_EQ(steps({"ikj,ljk->il", {{30, 5, 4}, {6, 4, 5}}, {30, 6}}),
              "y_reshape_1 = reshape(a 30 20 )\n"
              "y_permute_2 = permute(b 0 2 1 )\n"
              "y_reshape_3 = reshape(y_permute_2 6 20 )\n"
              "y = einsum(y_reshape_1 y_reshape_3 ij,lj->il)\n");
}

// In narrower types a product that is rounded before it is summed would lose bits.
TEST(Einsum, OfAVectorIsAProductAndASum) {
    const Written vector{"bij,bj->bi", {{2, 3, 4}, {2, 4}}, {2, 3}};
    EXPECT_EQ(steps(vector),
              "y_reshape_1 = reshape(b 2 1 4 )\n"
              "y_product_2 = mul(a y_reshape_1 )\n"
              "y = sum(y_product_2 2 )\n");
    EXPECT_EQ(steps(vector, DType::bf16), "y = einsum(a b bij,bj->bi)\n");
}

TEST(Einsum, StaysWhereItIsOneProduct) {
    EXPECT_EQ(steps({"bij,kj->bik", {{2, 3, 4}, {5, 4}}, {2, 3, 5}}),
              "y = einsum(a b bij,kj->bik)\n");
}

// A diagonal, a dimension of one element that is repeated, an ellipsis, integers.
TEST(Einsum, StaysWhereItIsNotUnderstood) {
    EXPECT_EQ(steps({"ii->i", {{3, 3}}, {3}}), "y = einsum(a ii->i)\n");
    EXPECT_EQ(steps({"bij,bi->bij", {{2, 3, 4}, {2, 1}}, {2, 3, 4}}),
              "y = einsum(a b bij,bi->bij)\n");
    EXPECT_EQ(steps({"...i->...", {{3, 4}}, {3}}), "y = einsum(a ...i->...)\n");
    EXPECT_EQ(steps({"i,j->ij", {{3}, {4}}, {3, 4}}, DType::i32), "y = einsum(a b i,j->ij)\n");
}

TEST(Einsum, WithoutAnArrowKeepsWhatOccursOnce) {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({3, 4})), y = b.input("y", tensor({4, 5}));
    b.node("z", "aten.einsum.default",
           {{"equation", std::string("kj, jB")}, {"tensors", std::vector<ValueId>{x, y}}},
           tensor({5, 3}));
    const auto read = read_einsum(b.graph.nodes[0]);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->result, "Bk");
}

}  // namespace
}  // namespace fact::graph
