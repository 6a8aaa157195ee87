#include "package/operators.h"

#include <gtest/gtest.h>

#include "package/classes.h"

namespace fact::package {
namespace {

graph::Graph calling(const std::vector<std::string>& targets) {
    graph::Graph graph;
    for (const auto& target : targets) {
        graph::Node node;
        node.target = target;
        node.name = "n" + std::to_string(graph.nodes.size());
        node.where.file = "model.py";
        node.where.line = 7;
        graph.nodes.push_back(std::move(node));
    }
    return graph;
}

Error refusal(const std::string& target, const std::vector<std::string>& declared,
              const std::vector<std::string>& allowed) {
    const auto result = check_operators(calling({"aten.add.Tensor", target}), declared, allowed);
    return result ? Error{"taken", {}} : result.error();
}

TEST(Operators, NamespacesAreThoseCalled) {
    EXPECT_EQ(namespaces(calling({"torchvision.nms.default", "aten.add.Tensor", "aten.mul.Tensor",
                                  "fact.call", "_operator.add"})),
              (std::vector<std::string>{"aten", "torchvision"}));
}

TEST(Operators, ThoseToBeAllowedAreNotTorchsOwn) {
    EXPECT_EQ(to_be_allowed({"aten", "mine", "prims", "torchvision"}),
              (std::vector<std::string>{"mine", "torchvision"}));
}

TEST(Operators, TorchsOwnAreOpen) {
    EXPECT_TRUE(
        check_operators(calling({"aten.add.Tensor", "prims.sum.default", "fact.call"}), {}, {}));
}

TEST(Operators, ALibrarysAreDeclaredAndAllowed) {
    EXPECT_EQ(refusal("torchvision.nms.default", {"torchvision"}, {"torchvision"}).message,
              "taken");
    const auto unasked = refusal("torchvision.nms.default", {"torchvision"}, {});
    EXPECT_EQ(unasked.message,
              "node n1 (model.py:7) calls torchvision.nms.default, of the namespace torchvision, "
              "which is not torch's own");
    EXPECT_NE(unasked.hint.find("allow=[\"torchvision\"]"), std::string::npos);
    EXPECT_NE(refusal("torchvision.nms.default", {"aten"}, {"torchvision"})
                  .message.find("which its manifest does not declare"),
              std::string::npos);
    EXPECT_NE(refusal("fact.open_package.default", {"aten"}, {"torchvision"}).message, "taken");
    EXPECT_NE(refusal("c10d.send.default", {"aten"}, {}).message, "taken");
}

TEST(Operators, WhatReachesOutsideIsClosedToAll) {
    for (const char* target :
         {"aten.from_file.default", "aten.from_file.out", "aten._sparse_coo_tensor_unsafe.default"})
        EXPECT_NE(refusal(target, {"aten"}, {"aten"}).hint.find("no package may call it"),
                  std::string::npos)
            << target;
}

TEST(Classes, ThoseThatAreNotPythonsOwn) {
    const char* leaf = R"({"type": null, "context": null, "children_spec": []})";
    const auto spec = [&](const std::string& type, const std::string& context) {
        return R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": ")" +
               type + R"(", "context": )" + context + R"(, "children_spec": [)" + leaf + "]}]}]";
    };
    const auto output = spec("transformers.modeling_outputs.BaseModelOutput", R"("[\"x\"]")");
    const auto named = spec("collections.namedtuple", R"("my.Pair")");
    const auto plain = spec("collections.OrderedDict", R"("[\"x\"]")");
    EXPECT_EQ(
        classes_of({output, named, plain, output}),
        (std::vector<std::string>{"my.Pair", "transformers.modeling_outputs.BaseModelOutput"}));
    EXPECT_EQ(classes_of({"", "7", "[1]", "[1, 2]", "{", spec("x", "7").substr(1)}),
              std::vector<std::string>{});
}

}  // namespace
}  // namespace fact::package
