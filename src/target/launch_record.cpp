#include "target/launch_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fact {
namespace {

using Json = nlohmann::ordered_json;
using Product = std::vector<DimOf>;

constexpr int kFormat = 1;

// Writing. Every alternative of a variant is an object with its name as the only key.

Json write(const Product& product) {
    Json result = Json::array();
    for (const DimOf& dim : product) result.push_back({dim.tensor, dim.dim});
    return result;
}

Json write(const std::vector<Product>& products) {
    Json result = Json::array();
    for (const Product& product : products) result.push_back(write(product));
    return result;
}

Json write(const Field& field) {
    return std::visit(overloaded{
                          [](const PointerField& f) { return Json{{"pointer", f.tensor}}; },
                          [](const ExtentField& f) { return Json{{"extent", write(f.dims)}}; },
                          [](const StrideField& f) {
                              return Json{{"stride", {{"tensor", f.tensor}, {"dim", f.dim}}}};
                          },
                          [](const TokenField&) { return Json{{"token", Json::object()}}; },
                      },
                      field);
}

Json write(const KernelParam& param) {
    return std::visit(
        overloaded{
            [](const TensorMapParam& p) {
                return Json{{"tensor_map",
                             {{"tensor", p.tensor},
                              {"dims", p.dims},
                              {"box", p.box},
                              {"swizzle_bytes", p.swizzle_bytes}}}};
            },
            [](const StructParam& p) {
                Json members = Json::array();
                for (const auto& member : p.members)
                    members.push_back({{"offset", member.offset}, {"field", write(member.field)}});
                return Json{{"struct", {{"bytes", p.bytes}, {"members", std::move(members)}}}};
            },
        },
        param);
}

// What PersistentGrid and TileGrid have in common.
Json write_tiled(const auto& grid) {
    return {{"m", write(grid.m)},
            {"n", write(grid.n)},
            {"batch", write(grid.batch)},
            {"tile_m", grid.tile_m},
            {"tile_n", grid.tile_n}};
}

Json write(const Grid& grid) {
    return std::visit(
        overloaded{
            [](const PersistentGrid& g) {
                Json json = write_tiled(g);
                if (g.tile_k > 0) json.update({{"k", write(g.k)}, {"tile_k", g.tile_k}});
                return Json{{"persistent", std::move(json)}};
            },
            [](const LinearGrid& g) {
                return Json{{"linear", {{"count", write(g.count)}, {"per_block", g.per_block}}}};
            },
            [](const TileGrid& g) { return Json{{"tile", write_tiled(g)}}; },
        },
        grid);
}

Json write(const Launch& launch) {
    Json params = Json::array();
    for (const KernelParam& param : launch.params) params.push_back(write(param));
    return {{"entry", launch.entry},
            {"grid", write(launch.grid)},
            {"block", launch.block},
            {"cluster", launch.cluster},
            {"shared_bytes", launch.shared_bytes},
            {"params", std::move(params)},
            {"prepares_from", launch.prepares_from}};
}

Json write(const Alignment& rule) {
    return {{"tensor", rule.tensor}, {"bytes", rule.bytes}};
}

Json write(const Workspace& workspace) {
    return {{"dtype", info(workspace.dtype).name},
            {"sizes", write(workspace.sizes)},
            {"copies", workspace.copies}};
}

Json write(const TensorSpec& tensor) {
    return {{"name", tensor.name}, {"dtype", info(tensor.dtype).name}, {"rank", tensor.rank}};
}

template <class T>
Json write_all(const std::vector<T>& items) {
    Json result = Json::array();
    for (const T& item : items) result.push_back(write(item));
    return result;
}

// Reading. Anything unexpected throws; the one public function turns that into an Error.

[[noreturn]] void reject(const std::string& why) {
    throw std::runtime_error(why);
}

std::pair<std::string, const Json&> alternative(const Json& json) {
    if (!json.is_object() || json.size() != 1)
        reject("expected an object with one key, found " + json.dump());
    return {json.begin().key(), json.begin().value()};
}

DType read_dtype(const Json& json) {
    auto name = json.get<std::string>();
    if (auto dtype = dtype_from_name(name)) return *dtype;
    reject(fmt::format("unknown element type '{}'", name));
}

Product read_product(const Json& json) {
    Product result;
    for (const Json& pair : json) result.push_back({pair.at(0).get<int>(), pair.at(1).get<int>()});
    return result;
}

std::vector<Product> read_products(const Json& json) {
    std::vector<Product> result;
    for (const Json& product : json) result.push_back(read_product(product));
    return result;
}

Field read_field(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "pointer") return PointerField{body.get<int>()};
    if (kind == "extent") return ExtentField{read_product(body)};
    if (kind == "stride")
        return StrideField{body.at("tensor").get<int>(), body.at("dim").get<int>()};
    if (kind == "token") return TokenField{};
    reject(fmt::format("unknown field '{}'", kind));
}

KernelParam read_param(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "tensor_map")
        return TensorMapParam{
            body.at("tensor").get<int>(), body.at("dims").get<std::array<int, 4>>(),
            body.at("box").get<std::array<int, 4>>(), body.at("swizzle_bytes").get<int>()};
    if (kind != "struct") reject(fmt::format("unknown kernel parameter '{}'", kind));
    StructParam result{body.at("bytes").get<int>(), {}};
    for (const Json& member : body.at("members"))
        result.members.push_back({member.at("offset").get<int>(), read_field(member.at("field"))});
    return result;
}

template <class G>
G read_tiled(const Json& body) {
    G grid;
    grid.m = read_product(body.at("m"));
    grid.n = read_product(body.at("n"));
    grid.batch = read_product(body.at("batch"));
    grid.tile_m = body.at("tile_m").get<int>();
    grid.tile_n = body.at("tile_n").get<int>();
    return grid;
}

Grid read_grid(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "persistent") {
        auto grid = read_tiled<PersistentGrid>(body);
        if (body.contains("tile_k")) {
            grid.k = read_product(body.at("k"));
            grid.tile_k = body.at("tile_k").get<int>();
        }
        return grid;
    }
    if (kind == "linear")
        return LinearGrid{read_product(body.at("count")), body.at("per_block").get<int>()};
    if (kind == "tile") return read_tiled<TileGrid>(body);
    reject(fmt::format("unknown grid '{}'", kind));
}

Launch read_launch(const Json& json) {
    Launch result;
    result.entry = json.at("entry").get<std::string>();
    result.grid = read_grid(json.at("grid"));
    result.block = json.at("block").get<int>();
    result.cluster = json.at("cluster").get<std::array<int, 2>>();
    result.shared_bytes = json.at("shared_bytes").get<int>();
    for (const Json& param : json.at("params")) result.params.push_back(read_param(param));
    result.prepares_from = json.at("prepares_from").get<int>();
    return result;
}

TensorSpec read_tensor(const Json& json) {
    return {json.at("name").get<std::string>(), read_dtype(json.at("dtype")),
            json.at("rank").get<int>()};
}

LaunchRecord read_record(const Json& json) {
    if (int format = json.at("format").get<int>(); format != kFormat)
        reject(fmt::format("format {} is not {}", format, kFormat));
    LaunchRecord record;
    record.kernel = json.at("kernel").get<std::string>();
    record.arch = json.at("arch").get<std::string>();
    record.schedule = json.at("schedule").get<std::string>();
    record.precision = json.at("precision").get<std::string>();
    for (const Json& tensor : json.at("params")) record.params.push_back(read_tensor(tensor));
    for (const Json& tensor : json.at("outputs")) record.outputs.push_back(read_tensor(tensor));
    record.equal_extents = read_products(json.at("equal_extents"));
    for (const Json& rule : json.at("alignments"))
        record.alignments.push_back({rule.at("tensor").get<int>(), rule.at("bytes").get<int>()});
    for (const Json& space : json.at("workspaces"))
        record.workspaces.push_back({read_dtype(space.at("dtype")),
                                     read_products(space.at("sizes")),
                                     space.at("copies").get<int>()});
    for (const Json& launch : json.at("launches")) record.launches.push_back(read_launch(launch));
    return record;
}

}  // namespace

std::string to_json(const LaunchRecord& record) {
    Json json{{"format", kFormat},
              {"kernel", record.kernel},
              {"arch", record.arch},
              {"schedule", record.schedule},
              {"precision", record.precision},
              {"params", write_all(record.params)},
              {"outputs", write_all(record.outputs)},
              {"equal_extents", write(record.equal_extents)},
              {"alignments", write_all(record.alignments)},
              {"workspaces", write_all(record.workspaces)},
              {"launches", write_all(record.launches)}};
    return json.dump(1) + "\n";
}

Result<LaunchRecord> launch_record_from_json(std::string_view text) {
    try {
        LaunchRecord record = read_record(Json::parse(text));
        if (std::string problem = inconsistency(record); !problem.empty()) reject(problem);
        return record;
    } catch (const std::exception& problem) {
        return Error{fmt::format("not a launch record: {}", problem.what()),
                     "the file was damaged or written by another version: build the kernel again"};
    }
}

}  // namespace fact
