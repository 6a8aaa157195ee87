#include "dump.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ir/interpreter.h"
#include "tools/host_tensor.h"
#include "values.h"

namespace fact::differential {
namespace {

using Json = nlohmann::json;

Json dims_json(const std::vector<ir::DimId>& dims) {
    Json list = Json::array();
    for (const ir::DimId dim : dims) list.push_back(ir::index(dim));
    return list;
}

Json window_json(const ir::Kernel& kernel, const ir::Window& window) {
    Json rules = Json::array();
    for (const ir::DimId places : window.places) {
        const ir::WindowRule& rule = *kernel[places].window;
        rules.push_back({{"of", ir::index(rule.of)},
                         {"places", ir::index(places)},
                         {"taps", ir::index(rule.taps)},
                         {"stride", rule.stride},
                         {"dilation", rule.dilation},
                         {"pad", {rule.before, rule.after}}});
    }
    return {{"op", "window"}, {"rules", rules}, {"outside", window.outside}};
}

Json node_json(const ir::Kernel& kernel, const ir::Node& node) {
    return std::visit(
        overloaded{
            [](const ir::Param& n) { return Json{{"op", "param"}, {"index", n.index}}; },
            [](const ir::Literal& n) { return Json{{"op", "literal"}, {"value", n.value}}; },
            [](const ir::Index& n) { return Json{{"op", "index"}, {"dim", ir::index(n.dim)}}; },
            [](const ir::Extent& n) { return Json{{"op", "extent"}, {"dim", ir::index(n.dim)}}; },
            [](const ir::Unary& n) { return Json{{"op", ir::info(n.op).name}}; },
            [](const ir::Binary& n) { return Json{{"op", ir::info(n.op).name}}; },
            [](const ir::Select&) { return Json{{"op", "where"}}; },
            [](const ir::Cast&) { return Json{{"op", "cast"}}; },
            [](const ir::Permute&) { return Json{{"op", "permute"}}; },
            [](const ir::Expand&) { return Json{{"op", "expand"}}; },
            [](const ir::View&) { return Json{{"op", "view"}}; },
            [](const ir::Flip& n) { return Json{{"op", "flip"}, {"dim", ir::index(n.dim)}}; },
            [&](const ir::Window& n) { return window_json(kernel, n); },
            [&](const ir::Reduce& n) {
                return Json{{"op", fmt::format("reduce_{}", ir::info(n.op).name)},
                            {"over", dims_json(n.over)}};
            },
            [&](const ir::Scan& n) {
                return Json{{"op", ir::info(n.op).name},
                            {"over", dims_json(n.over)},
                            {"backwards", n.backwards}};
            },
            [](const ir::Product&) { return Json{{"op", "product"}}; },
            [](const ir::LogSumExp&) { return Json{{"op", "scores_logsumexp"}}; },
            [](const ir::Attention& n) {
                return Json{{"op", "attention"},
                            {"scale", n.scale},
                            {"causal", n.causal},
                            {"window", n.window.value_or(0)},
                            {"cap", n.cap.value_or(0)}};
            },
        },
        node);
}

}  // namespace

std::string dump_run(const Program& program, std::uint32_t seed) {
    const ir::Kernel& kernel = program.kernel;
    Run run = interpreted(program, seed);
    Json json{{"seed", seed}, {"family", program.family}, {"extents", program.extents}};
    for (std::size_t i = 0; i < run.inputs.size(); ++i)
        json["params"].push_back(
            {{"dims", dims_json(kernel.params[i].type.dims)}, {"data", widened(run.inputs[i])}});
    for (const ir::Expr& expr : kernel.exprs) {
        Json node = node_json(kernel, expr.node);
        node["args"] = Json::array();
        ir::for_each_operand(expr.node,
                             [&](ir::ExprId x) { node["args"].push_back(ir::index(x)); });
        node["dims"] = dims_json(expr.type.dims);
        node["dtype"] = info(expr.type.dtype).name;
        json["exprs"].push_back(std::move(node));
    }
    for (std::size_t i = 0; i < run.outputs.size(); ++i)
        json["outputs"].push_back(
            {{"value", ir::index(kernel.outputs[i].value)}, {"data", widened(run.outputs[i])}});
    return json.dump();
}

}  // namespace fact::differential
