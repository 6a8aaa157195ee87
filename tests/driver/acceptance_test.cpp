#include "driver/acceptance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "../graph/graph_builder.h"
#include "support/files.h"

namespace fact::driver {
namespace {

using graph::TensorType;
using graph::testing::Sizes;
using graph::testing::tensor;

// y = f(x) of matrices, stored through a tensor map, as a product stores them.
LaunchRecord record() {
    LaunchRecord record;
    record.kernel = "f";
    record.arch = "sm90a";
    record.params = {{"x", DType::f32, 2}};
    record.outputs = {{"y", DType::f32, 2}};
    record.equal_extents = {{{0, 0}, {1, 0}}};
    Launch launch;
    launch.entry = "f";
    launch.grid = LinearGrid{{{{1, 0}}}, 1};
    launch.block = 32;
    launch.params = {TensorMapParam{1, {1, 0, kNoDim, kNoDim}, {32, 16, 1, 1}}};
    record.launches = {launch};
    return record;
}

// Images [B, H, C] whose pixels are the rows of the matrices.
graph::FusedCall images() {
    graph::FusedCall call;
    call.id = "p0";
    call.params = {{"x", "v", {{0, 1}, {2}}}};
    call.results = {{"y", "w", {{0, 1}, {2}}}};
    return call;
}

std::string refused(const TensorType& v, const TensorType& w,
                    const graph::FusedCall& call = images()) {
    const std::map<std::string, TensorType> types{{"v", v}, {"w", w}, {"w2", w}};
    return refused_by_launcher(call, record(), [&](const std::string& value) -> const TensorType& {
        return types.at(value);
    });
}

TensorType at(std::int64_t offset, TensorType type) {
    type.offset = offset;
    return type;
}

TEST(Acceptance, RowsOfAWiderTensorAreTaken) {
    const auto v = tensor({2, 5, 8});
    EXPECT_EQ(refused(v, v), "");
    EXPECT_EQ(refused(v, at(16, tensor({2, 5, 8}, Sizes{120, 24, 1}))), "");
    // Images that are not next to each other are no rows of one matrix.
    EXPECT_EQ(refused(v, tensor({2, 5, 8}, Sizes{80, 8, 1})),
              "dimensions 0, 1 of w are not adjacent in memory");
}

TEST(Acceptance, TheRecordsRulesDecide) {
    const auto v = tensor({2, 5, 8});
    EXPECT_EQ(refused(v, at(2, tensor({2, 5, 8}, Sizes{120, 24, 1}))),
              "y does not start at a multiple of 16 bytes");
    EXPECT_NE(refused(v, tensor({2, 5, 8}, Sizes{50, 10, 1})).find("a stride of 40 bytes"),
              std::string::npos);
    EXPECT_NE(refused(v, tensor({2, 5, 8}, Sizes{120, 24, 2})).find("not contiguous"),
              std::string::npos);
}

TEST(Acceptance, PartsOfOneResultStayTogether) {
    auto call = images();
    call.results.push_back({"y", "w2", {{0, 1}, {2}}});
    EXPECT_EQ(refused(tensor({2, 5, 8}), tensor({2, 5, 8}), call),
              "w is one of 2 parts of a result");
    call = images();
    call.results.clear();
    EXPECT_EQ(refused(tensor({2, 5, 8}), tensor({2, 5, 8}), call), "y is not bound");
}

TEST(Acceptance, WeightsThatAreJoinedAreOneTensor) {
    auto call = images();
    call.params = {{"x", "v", {{0}, {1}}}, {"x", "v", {{0}, {1}}}};
    call.results = {{"y", "w", {{0}, {1}}}};
    EXPECT_EQ(refused(tensor({4, 8}), tensor({8, 8}), call), "");
    EXPECT_NE(refused(tensor({4, 8}), tensor({4, 8}), call), "");
}

// A call `f` whose result is joined with the input, and read by another call of the same family.
struct Joined : graph::testing::GraphBuilder {
    graph::ValueId whole{};
    Joined() {
        const auto x = input("x", tensor({2, 5, 8}));
        const auto y = call("f", x);
        output(call("g", y));
        whole =
            node("cat", "aten.cat.default",
                 {{"tensors", std::vector{x, y}}, {"dim", std::int64_t{2}}}, tensor({2, 5, 16}));
        output(whole);
    }
    graph::ValueId call(const std::string& id, graph::ValueId x) {
        calls.push_back(images());
        calls.back().id = id;
        calls.back().kernel = "family";
        calls.back().params[0].value = graph[x].name;
        calls.back().results[0].value = id;
        return node(id, std::string(graph::kFusedTarget),
                    {{"inputs", std::vector{x}}, {"call", id}}, tensor({2, 5, 8}));
    }
    std::vector<graph::FusedCall> calls;
};

std::string refused_as(bool from_file, const std::string& node, bool wide) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-acceptance");
    EXPECT_TRUE(write_file_atomic(folder.path() / "record.json", to_json(record())).ok());
    Realizations realizations;
    realizations["family"].folder = folder.path();
    realizations["family"].from_file = from_file;
    const Joined net;
    const auto at_node = std::ranges::find(net.graph.nodes, node, &graph::Node::name);
    compose::Layouts layouts;
    layouts[net.graph.nodes[0].outputs[0]] =
        wide ? at(8, tensor({2, 5, 8}, Sizes{80, 16, 1})) : tensor({2, 5, 8});
    return launchers(net.calls, realizations)(net.graph, *at_node, layouts);
}

// A file's launch record has the rules of another kernel, or none at all.
TEST(Acceptance, AKernelWrittenInCudaTakesTensorsAsTraced) {
    for (const auto* node : {"f", "g"}) {
        EXPECT_EQ(refused_as(false, node, true), "");
        EXPECT_EQ(refused_as(true, node, true),
                  "it is written in CUDA, and was proved on dense tensors");
        EXPECT_EQ(refused_as(true, node, false), "");
    }
}

}  // namespace
}  // namespace fact::driver
