#include "report/speed_of_light.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "../match/graphs.h"
#include "../sol/round_gpu.h"
#include "graph/graph_json.h"
#include "support/files.h"
#include "test_data.h"

namespace fact::report {
namespace {

using testing::round_gpu;

graph::TensorType large() {
    return {.dtype = DType::bf16, .sizes = {16384, 4096}, .strides = {4096, 1}};
}

// relu(x @ w.T), twice in one line, as two layers would be; and a scan nobody knows.
graph::Graph two_layers() {
    graph::Graph graph;
    const auto input = [&](const char* name, graph::TensorType type) {
        const auto id = graph.add_value({name, std::move(type), std::nullopt});
        graph.inputs.push_back({.value = id, .fqn = {}, .fixed = {}});
        return id;
    };
    const auto node = [&](const std::string& name, const char* target,
                          std::vector<graph::NamedArgument> inputs, int line, const char* module) {
        const auto id =
            graph.add_value({name, large(), static_cast<graph::NodeId>(graph.nodes.size())});
        graph.nodes.push_back({.target = target,
                               .inputs = std::move(inputs),
                               .outputs = {id},
                               .where = {.file = "net.py",
                                         .line = line,
                                         .code = {},
                                         .module_path = module,
                                         .module_type = {}},
                               .name = name});
        return id;
    };
    auto x = input("x", large());
    const auto w = input("w", {.dtype = DType::bf16, .sizes = {4096, 4096}, .strides = {4096, 1}});
    for (const char* module : {"layers.0", "layers.1"}) {
        const auto p = node(std::string("p") + module, "aten.linear.default",
                            {{"input", x}, {"weight", w}}, 7, module);
        x = node(std::string("y") + module, "aten.relu.default", {{"self", p}}, 8, module);
    }
    const auto s = node("s", "mylib.scan.default", {{"self", x}}, 9, "");
    graph.outputs.push_back({.value = s, .fixed = graph::None{}, .mutates = {}});
    return graph;
}

match::Pattern pattern(std::string id, std::vector<std::string> nodes, double unfused) {
    match::Pattern p;
    p.id = std::move(id);
    p.rule = "linear";
    p.nodes = std::move(nodes);
    p.cost.flops = 549755813888;
    p.cost.bytes = 301989888;
    p.cost.hard_us = 549.755813888;
    p.cost.bound_us = 687.19476736;
    p.cost.unfused_us = unfused;
    p.where.file = "net.py";
    p.where.line = 7;
    return p;
}

SpeedOfLight example_bounds() {
    match::Discovery discovery;
    discovery.patterns = {pattern("p00_linear_relu", {"players.0", "ylayers.0"}, 754.3),
                          pattern("p00b_linear", {"players.0"}, 687.19476736)};
    auto light = speed_of_light(two_layers(), discovery, false, round_gpu());
    light.source = "net.py";
    light.dtype = "bf16";
    light.ceilings = "made up";
    return light;
}

// A product: 2 * 16384 * 4096 * 4096 flops are 549.8 us at 1000 TFLOP/s and 687.2 at 800. A relu
// or scan: 268 MB are 67.1 us at 4 TB/s, and 43.2 us at 5 without the 52.4 MB that L2 holds.
TEST(SpeedOfLight, Text) {
    EXPECT_EQ(to_text(example_bounds(), true), R"(net.py in bf16 on round: ceilings made up

  pattern          nodes  source    flops   bytes    hard  calibrated  unfused  headroom
  ---------------  -----  --------  -----  ------  ------  ----------  -------  --------
  p00_linear_relu      2  net.py:7  550 G  302 MB  550 us      687 us   754 us     1.10x
  p00b_linear *        1  net.py:7  550 G  302 MB  550 us      687 us   687 us     1.00x
  * not counted below: it gains nothing, or another pattern of its product gains more

  operator                       count  source     flops   bytes     hard  calibrated  unfused  headroom
  -----------------------------  -----  --------  ------  ------  -------  ----------  -------  --------
  linear                             2  net.py:7  1.10 T  604 MB  1.10 ms     1.37 ms  1.37 ms     1.00x
  relu                               2  net.py:8   134 M  537 MB  86.4 us      134 us   134 us     1.00x
  mylib.scan.default (by bytes)      1  net.py:9       -  268 MB  43.2 us     67.1 us  67.1 us     1.00x
  0 views move nothing

  the whole graph                          bytes     hard  calibrated  speedup at best
  -------------------------------------  -------  -------  ----------  ---------------
  operators one by one (eager, at best)  1.41 GB              1.58 ms                1
  patterns fused as discovered                    1.19 ms     1.51 ms            1.04x
  one ideal program                       302 MB  1.10 ms     1.37 ms            1.15x
  5 operators, 1.10 T flops
  1 operator counted by bytes alone: the arithmetic is not known
)");
}

TEST(SpeedOfLight, Json) {
    const auto json = nlohmann::json::parse(to_json(example_bounds(), true));
    EXPECT_EQ(json["gpu"], "round");
    ASSERT_EQ(json["patterns"].size(), 2u);
    EXPECT_EQ(json["patterns"][0]["counted"], true);
    EXPECT_EQ(json["patterns"][1]["counted"], false);
    EXPECT_EQ(json["nodes"][0]["count"], 2);
    EXPECT_EQ(json["nodes"][2]["only_bytes"], true);
    EXPECT_NEAR(json["whole"]["ideal_us"], 2 * 687.19476736, 1e-6);
    EXPECT_FALSE(nlohmann::json::parse(to_json(example_bounds(), false)).contains("nodes"));
}

// The block as KernelBench has it: numbers of docs/speed_of_light.md, and the anchor they stand by.
TEST(SpeedOfLight, MiniGptBlock) {
    // MINIGPT_SMALL=0 fact trace examples/minigpt_block.py --dtype bf16, then fact graph --json.
    const auto text = read_file(FACT_TEST_DATA "/data/minigpt_block.json");
    ASSERT_TRUE(text.ok()) << text.error().text();
    const auto read = graph::graph_from_json(*text);
    ASSERT_TRUE(read.ok()) << read.error().text();
    const graph::Graph& graph = *read;
    const auto gpu = *find_gpu("h200");
    // The graph's only buffer is the mask: ones on and below the diagonal, of bf16.
    const auto mask =
        std::ranges::find(graph.inputs, graph::InputKind::buffer, &graph::GraphInput::kind);
    ASSERT_NE(mask, graph.inputs.end());
    std::vector<std::uint16_t> ones;
    for (int i = 0; i < 1024; ++i)
        for (int j = 0; j < 1024; ++j) ones.push_back(j <= i ? 0x3f80 : 0);
    const std::vector<graph::Weight> weights{
        {mask->fqn, *graph[mask->value].type, std::as_bytes(std::span(ones)), false, true}};
    const auto light = speed_of_light(graph, match::discover(graph, {}, weights), false, gpu);
    // 65536 tokens of 768 channels: products to 2304, 768, 3072 and back, 8 heads of 512 x 512
    // x 96.
    const double products = 2. * 65536 * 768 * (2304 + 768 + 2 * 3072);
    const double attention = 2 * 2. * 128 * 8 * 512 * 512 * 96;
    EXPECT_NEAR(light.whole.flops / (products + attention), 1, 0.006) << "the rest is pointwise";
    const double seen = attention * (512 + 1) / (2 * 512);  // of a causal mask
    EXPECT_NEAR(light.whole.ideal.calibrated_us, (products + seen) / 790e6, 0.1);
    // Eager was measured at 6.33 ms: the estimate is optimistic, and below it.
    EXPECT_NEAR(light.whole.unfused_us, 4240, 10);
    // Fused as discovered is near, ideal is below; with the scores in memory it would be 1.52 ms.
    // Norms apart from their products would take 46 us each.
    EXPECT_NEAR(light.whole.fused.calibrated_us, 1268, 10);
    const auto parts = match::testing::shown(graph, "aten.softmax.int");
    const auto apart = speed_of_light(parts, match::discover(parts, {}), false, gpu);
    EXPECT_NEAR(apart.whole.fused.calibrated_us, 1518, 10);
    EXPECT_LT(light.whole.ideal.calibrated_us, light.whole.fused.calibrated_us);
    EXPECT_LT(light.whole.ideal.hard_us, light.whole.ideal.calibrated_us);
}

}  // namespace
}  // namespace fact::report
