#include "target/launch_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "support/json_depth.h"

namespace fact {
namespace {

using Json = nlohmann::ordered_json;
using ExtentProduct = std::vector<DimOf>;

constexpr int kFormat = 1;
constexpr int kMaxDepth = 64;

// Writing. Every alternative of a variant is an object with its name as the only key.

Json write(const ExtentProduct& product) {
    Json result = Json::array();
    for (const DimOf& dim : product) result.push_back({dim.tensor, dim.dim});
    return result;
}

Json write(const std::vector<ExtentProduct>& products) {
    Json result = Json::array();
    for (const ExtentProduct& product : products) result.push_back(write(product));
    return result;
}

// Without a factor or divisor it is a plain list.
Json write(const ExtentField& extent) {
    if (extent == ExtentField{extent.dims}) return write(extent.dims);
    Json json{{"dims", write(extent.dims)}, {"times", extent.factor}, {"over", extent.divisor}};
    if (!extent.divisor_dims.empty()) json["divided"] = write(extent.divisor_dims);
    return json;
}

Json write(const std::vector<ExtentField>& extents) {
    Json result = Json::array();
    for (const ExtentField& extent : extents) result.push_back(write(extent));
    return result;
}

Json write(const Field& field) {
    return std::visit(overloaded{
                          [](const PointerField& f) { return Json{{"pointer", f.tensor}}; },
                          [](const ExtentField& f) { return Json{{"extent", write(f)}}; },
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
                if (g.max_blocks > 0) json["most_blocks"] = g.max_blocks;
                return Json{{"persistent", std::move(json)}};
            },
            [](const LinearGrid& g) {
                return Json{{"linear", {{"count", write(g.count)}, {"per_block", g.per_block}}}};
            },
            [](const TileGrid& g) {
                Json json = write_tiled(g);
                if (g.max_z > 0) json["most_z"] = g.max_z;
                return Json{{"tile", std::move(json)}};
            },
        },
        grid);
}

Json write(const Launch& launch) {
    Json params = Json::array();
    for (const KernelParam& param : launch.params) params.push_back(write(param));
    Json json{{"entry", launch.entry},
              {"grid", write(launch.grid)},
              {"block", launch.block},
              {"cluster", launch.cluster},
              {"shared_bytes", launch.shared_bytes},
              {"params", std::move(params)}};
    if (!launch.prepares_from.empty()) json["prepares_from"] = launch.prepares_from;
    if (launch.waits) json["waits"] = true;
    return json;
}

Json write(const Alignment& rule) {
    Json json{{"tensor", rule.tensor}, {"bytes", rule.bytes}};
    if (rule.row_dims > 1) json["row_dims"] = rule.row_dims;
    return json;
}

Json write(const ExtentRule& rule) {
    return {{"of", write(rule.of)}, {"extent", write(rule.extent)}, {"multiple", rule.multiple}};
}

Json write(const Workspace& workspace) {
    return {{"dtype", info(workspace.dtype).name},
            {"sizes", write(workspace.sizes)},
            {"copies", workspace.copies}};
}

Json write(const TensorSpec& tensor) {
    Json json{{"name", tensor.name}, {"dtype", info(tensor.dtype).name}, {"rank", tensor.rank}};
    if (!tensor.origin.empty()) json["origin"] = tensor.origin;
    return json;
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

// The JSON library recurses: a hostile file could overflow the stack. Records nest less than 20
// deep.
Json parse(std::string_view text) {
    if (json_depth(text) > kMaxDepth) reject(fmt::format("nested more than {} deep", kMaxDepth));
    return Json::parse(text);
}

std::pair<std::string, const Json&> alternative(const Json& json) {
    if (!json.is_object() || json.size() != 1)
        reject(fmt::format("expected an object with one key, found {} with {}", json.type_name(),
                           json.size()));
    return {json.begin().key(), json.begin().value()};
}

// The library's own conversion wraps numbers that do not fit, and truncates fractions.
int read_int(const Json& json) {
    if (!json.is_number_integer())
        reject(fmt::format("expected an integer, found {}", json.type_name()));
    const bool fits = json.is_number_unsigned() ? std::in_range<int>(json.get<std::uint64_t>())
                                                : std::in_range<int>(json.get<std::int64_t>());
    if (!fits) reject(fmt::format("{} does not fit in 32 bits", json.dump()));
    return json.get<int>();
}

template <std::size_t N>
std::array<int, N> read_ints(const Json& json) {
    if (!json.is_array() || json.size() != N) reject(fmt::format("expected {} integers", N));
    std::array<int, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = read_int(json[i]);
    return result;
}

std::vector<int> read_list(const Json& json) {
    if (!json.is_array()) reject("expected a list of integers");
    std::vector<int> result;
    for (const Json& item : json) result.push_back(read_int(item));
    return result;
}

// Older records have a single parameter, or -1 for none.
std::vector<int> read_prepared(const Json& json) {
    if (json.is_array()) return read_list(json);
    const int param = read_int(json);
    return param == -1 ? std::vector<int>{} : std::vector{param};
}

DType read_dtype(const Json& json) {
    auto name = json.get<std::string>();
    if (auto dtype = dtype_from_name(name)) return *dtype;
    reject(fmt::format("unknown element type '{}'", name));
}

ExtentProduct read_product(const Json& json) {
    ExtentProduct result;
    for (const Json& pair : json) result.push_back({read_int(pair.at(0)), read_int(pair.at(1))});
    return result;
}

std::vector<ExtentProduct> read_dim_lists(const Json& json) {
    std::vector<ExtentProduct> result;
    for (const Json& product : json) result.push_back(read_product(product));
    return result;
}

ExtentField read_extent(const Json& json) {
    if (json.is_array()) return {read_product(json)};
    return {read_product(json.at("dims")), read_int(json.at("times")), read_int(json.at("over")),
            json.contains("divided") ? read_product(json.at("divided")) : ExtentProduct{}};
}

Workspace read_workspace(const Json& json) {
    Workspace result{read_dtype(json.at("dtype")), {}, read_int(json.at("copies"))};
    for (const Json& extent : json.at("sizes")) result.sizes.push_back(read_extent(extent));
    return result;
}

// Older records have `dim` for `of`, and `factors` and `constant` for `extent`.
ExtentRule read_rule(const Json& json) {
    return {json.contains("of")
                ? read_extent(json.at("of"))
                : ExtentField{{{read_int(json.at("dim").at(0)), read_int(json.at("dim").at(1))}}},
            json.contains("extent")
                ? read_extent(json.at("extent"))
                : ExtentField{read_product(json.at("factors")), read_int(json.at("constant"))},
            json.at("multiple").get<bool>()};
}

Field read_field(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "pointer") return PointerField{read_int(body)};
    if (kind == "extent") return read_extent(body);
    if (kind == "stride") return StrideField{read_int(body.at("tensor")), read_int(body.at("dim"))};
    if (kind == "token") return TokenField{};
    reject(fmt::format("unknown field '{}'", kind));
}

KernelParam read_param(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "tensor_map")
        return TensorMapParam{read_int(body.at("tensor")), read_list(body.at("dims")),
                              read_list(body.at("box")), read_int(body.at("swizzle_bytes"))};
    if (kind != "struct") reject(fmt::format("unknown kernel parameter '{}'", kind));
    StructParam result{read_int(body.at("bytes")), {}};
    for (const Json& member : body.at("members"))
        result.members.push_back({read_int(member.at("offset")), read_field(member.at("field"))});
    return result;
}

template <class G>
G read_tiled(const Json& body) {
    G grid;
    grid.m = read_product(body.at("m"));
    grid.n = read_product(body.at("n"));
    grid.batch = read_product(body.at("batch"));
    grid.tile_m = read_int(body.at("tile_m"));
    grid.tile_n = read_int(body.at("tile_n"));
    return grid;
}

Grid read_grid(const Json& json) {
    auto [kind, body] = alternative(json);
    if (kind == "persistent") {
        auto grid = read_tiled<PersistentGrid>(body);
        if (body.contains("tile_k")) {
            grid.k = read_product(body.at("k"));
            grid.tile_k = read_int(body.at("tile_k"));
        }
        if (body.contains("most_blocks")) grid.max_blocks = read_int(body.at("most_blocks"));
        return grid;
    }
    if (kind == "linear")
        return LinearGrid{read_extent(body.at("count")), read_int(body.at("per_block"))};
    if (kind == "tile") {
        auto grid = read_tiled<TileGrid>(body);
        if (body.contains("most_z")) grid.max_z = read_int(body.at("most_z"));
        return grid;
    }
    reject(fmt::format("unknown grid '{}'", kind));
}

Launch read_launch(const Json& json) {
    Launch result;
    result.entry = json.at("entry").get<std::string>();
    result.grid = read_grid(json.at("grid"));
    result.block = read_int(json.at("block"));
    result.cluster = read_ints<2>(json.at("cluster"));
    result.shared_bytes = read_int(json.at("shared_bytes"));
    for (const Json& param : json.at("params")) result.params.push_back(read_param(param));
    if (json.contains("prepares_from"))
        result.prepares_from = read_prepared(json.at("prepares_from"));
    result.waits = json.value("waits", false);
    return result;
}

TensorSpec read_tensor(const Json& json) {
    return {json.at("name").get<std::string>(), read_dtype(json.at("dtype")),
            read_int(json.at("rank")), json.value("origin", "")};
}

LaunchRecord read_record(const Json& json) {
    if (int format = read_int(json.at("format")); format != kFormat)
        reject(fmt::format("it has format {}, and this version reads format {}", format, kFormat));
    LaunchRecord record;
    record.kernel = json.at("kernel").get<std::string>();
    record.arch = json.at("arch").get<std::string>();
    record.schedule = json.at("schedule").get<std::string>();
    record.precision = json.at("precision").get<std::string>();
    for (const Json& tensor : json.at("params")) record.params.push_back(read_tensor(tensor));
    for (const Json& tensor : json.at("outputs")) record.outputs.push_back(read_tensor(tensor));
    record.equal_extents = read_dim_lists(json.at("equal_extents"));
    // Only records of kernels with factored or constant dimensions have them.
    if (json.contains("extent_rules"))
        for (const Json& rule : json.at("extent_rules"))
            record.extent_rules.push_back(read_rule(rule));
    for (const Json& rule : json.at("alignments"))
        record.alignments.push_back({read_int(rule.at("tensor")), read_int(rule.at("bytes")),
                                     rule.contains("row_dims") ? read_int(rule["row_dims"]) : 1});
    if (json.contains("counts"))
        for (const Json& count : json.at("counts")) record.counts.push_back(read_extent(count));
    for (const Json& space : json.at("workspaces"))
        record.workspaces.push_back(read_workspace(space));
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
    if (!record.extent_rules.empty()) json["extent_rules"] = write_all(record.extent_rules);
    if (!record.counts.empty()) json["counts"] = write(record.counts);
    // `origin` holds a file's name, which may not be UTF-8: such bytes are replaced.
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LaunchRecord> launch_record_from_json(std::string_view text) {
    try {
        LaunchRecord record = read_record(parse(text));
        if (std::string problem = inconsistency(record); !problem.empty()) reject(problem);
        return record;
    } catch (const std::exception& problem) {
        return Error{fmt::format("not a launch record: {}", problem.what()),
                     "the file was damaged or written by another version: build the kernel again"};
    }
}

}  // namespace fact
