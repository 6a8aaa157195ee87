#include "target/launch_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "support/json_fields.h"

namespace fact {
namespace {

using Json = nlohmann::ordered_json;
using ExtentProduct = std::vector<DimOf>;

constexpr int kFormat = 1;

// Writing. Every alternative of a variant is an object with its name as the only key.

Json write(const ExtentProduct& product) {
    Json result = Json::array();
    for (const DimOf& dim : product)
        if (dim.is_plain())
            result.push_back({dim.tensor, dim.dim});
        else if (dim.times == 1)
            result.push_back({dim.tensor, dim.dim, dim.more, dim.step});
        else
            result.push_back({dim.tensor, dim.dim, dim.more, dim.step, dim.times});
    return result;
}

// An extent without a factor or divisor is written as a plain list.
Json write(const ExtentField& extent) {
    if (extent == ExtentField{extent.dims}) return write(extent.dims);
    Json json{{"dims", write(extent.dims)}, {"times", extent.factor}, {"over", extent.divisor}};
    if (!extent.divisor_dims.empty()) json["divided"] = write(extent.divisor_dims);
    return json;
}

template <class Extent>
Json write(const std::vector<Extent>& extents) {
    Json result = Json::array();
    for (const Extent& extent : extents) result.push_back(write(extent));
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
                Json map{{"tensor", p.tensor},
                         {"dims", p.dims},
                         {"box", p.box},
                         {"swizzle_bytes", p.swizzle_bytes}};
                for (const WindowReach& along : p.windows)
                    map["windows"].push_back({along.step, along.first, along.last});
                if (!p.taps.empty()) map["taps"] = p.taps;
                return Json{{"tensor_map", std::move(map)}};
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
    return std::visit(overloaded{
                          [](const PersistentGrid& g) {
                              Json json = write_tiled(g);
                              if (g.tile_k > 0)
                                  json.update({{"k", write(g.k)}, {"tile_k", g.tile_k}});
                              if (g.max_blocks > 0) json["most_blocks"] = g.max_blocks;
                              return Json{{"persistent", std::move(json)}};
                          },
                          [](const LinearGrid& g) {
                              Json json{{"count", write(g.count)}, {"per_block", g.per_block}};
                              if (g.waves != 1) json["waves"] = g.waves;
                              return Json{{"linear", std::move(json)}};
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

Json write(const MergedView& view) {
    return {{"tensor", view.tensor}, {"runs", view.runs}};
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

// Reading. Anything unexpected throws; launch_record_from_json turns that into an Error.

using Parsed = nlohmann::json;

[[noreturn]] void reject(const std::string& why) {
    throw SchemaError(why);
}

// The name and the content of a variant's alternative.
std::pair<std::string, const Parsed&> alternative(const Parsed& json) {
    if (!json.is_object() || json.size() != 1)
        reject(fmt::format("expected an object with one key, found {} of size {}", json.type_name(),
                           json.size()));
    return {json.begin().key(), json.begin().value()};
}

template <std::size_t N>
std::array<int, N> read_ints(const Parsed& json) {
    if (!json.is_array() || json.size() != N) reject(fmt::format("expected {} integers", N));
    std::array<int, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = to_int<int>(json[i]);
    return result;
}

template <class Read>
auto read_all(const Parsed& json, Read read) {
    std::vector<decltype(read(json))> result;
    for (const Parsed& item : to_array(json)) result.push_back(read(item));
    return result;
}

// Older records have one number instead of a list: a parameter, or -1 for none.
std::vector<int> read_prepared(const Parsed& json) {
    if (json.is_array()) return read_all(json, to_int<int>);
    const int param = to_int<int>(json);
    return param == -1 ? std::vector<int>{} : std::vector{param};
}

DType read_dtype(const Parsed& json) {
    const auto& name = get_text(json, "dtype");
    if (auto dtype = dtype_from_name(name)) return *dtype;
    reject(fmt::format("unknown element type '{}'", name));
}

DimOf read_dim(const Parsed& json) {
    if (json.is_array() && json.size() == 5) {
        const auto [tensor, dim, more, step, times] = read_ints<5>(json);
        return {tensor, dim, more, step, times};
    }
    if (json.is_array() && json.size() == 4) {
        const auto [tensor, dim, more, step] = read_ints<4>(json);
        return {tensor, dim, more, step};
    }
    const auto [tensor, dim] = read_ints<2>(json);
    return {tensor, dim};
}

ExtentProduct read_product(const Parsed& json) {
    return read_all(json, read_dim);
}

ExtentField read_extent(const Parsed& json) {
    if (json.is_array()) return {read_product(json)};
    const Parsed* divided = optional_field(json, "divided");
    return {read_product(field(json, "dims")), get_int<int>(json, "times"),
            get_int<int>(json, "over"), divided ? read_product(*divided) : ExtentProduct{}};
}

Workspace read_workspace(const Parsed& json) {
    return {read_dtype(json), read_all(field(json, "sizes"), read_extent),
            get_int<int>(json, "copies")};
}

// Older records have `dim` for `of`, and `factors` and `constant` for `extent`.
ExtentRule read_rule(const Parsed& json) {
    const Parsed *of = optional_field(json, "of"), *extent = optional_field(json, "extent");
    return {of ? read_extent(*of) : ExtentField{{read_dim(field(json, "dim"))}},
            extent
                ? read_extent(*extent)
                : ExtentField{read_product(field(json, "factors")), get_int<int>(json, "constant")},
            get_bool(json, "multiple")};
}

Field read_field(const Parsed& json) {
    auto [kind, body] = alternative(json);
    if (kind == "pointer") return PointerField{to_int<int>(body)};
    if (kind == "extent") return read_extent(body);
    if (kind == "stride")
        return StrideField{get_int<int>(body, "tensor"), get_int<int>(body, "dim")};
    if (kind == "token") return TokenField{};
    reject(fmt::format("unknown field '{}'", kind));
}

WindowReach read_reach(const Parsed& json) {
    const auto [step, first, last] = read_ints<3>(json);
    return {step, first, last};
}

TensorMapParam read_map(const Parsed& json) {
    TensorMapParam map{get_int<int>(json, "tensor"), read_all(field(json, "dims"), to_int<int>),
                       read_all(field(json, "box"), to_int<int>),
                       get_int<int>(json, "swizzle_bytes")};
    if (const Parsed* windows = optional_field(json, "windows"))
        map.windows = read_all(*windows, read_reach);
    if (const Parsed* taps = optional_field(json, "taps")) map.taps = read_all(*taps, to_int<int>);
    return map;
}

KernelParam read_param(const Parsed& json) {
    auto [kind, body] = alternative(json);
    if (kind == "tensor_map") return read_map(body);
    if (kind != "struct") reject(fmt::format("unknown kernel parameter '{}'", kind));
    StructParam result{get_int<int>(body, "bytes"), {}};
    for (const Parsed& member : to_array(field(body, "members")))
        result.members.push_back(
            {get_int<int>(member, "offset"), read_field(field(member, "field"))});
    return result;
}

template <class G>
G read_tiled(const Parsed& body) {
    G grid;
    grid.m = read_product(field(body, "m"));
    grid.n = read_product(field(body, "n"));
    grid.batch = read_product(field(body, "batch"));
    grid.tile_m = get_int<int>(body, "tile_m");
    grid.tile_n = get_int<int>(body, "tile_n");
    return grid;
}

Grid read_grid(const Parsed& json) {
    auto [kind, body] = alternative(json);
    if (kind == "persistent") {
        auto grid = read_tiled<PersistentGrid>(body);
        if (optional_field(body, "tile_k")) {
            grid.k = read_product(field(body, "k"));
            grid.tile_k = get_int<int>(body, "tile_k");
        }
        grid.max_blocks = get_int(body, "most_blocks", grid.max_blocks);
        return grid;
    }
    if (kind == "linear")
        return LinearGrid{read_extent(field(body, "count")), get_int<int>(body, "per_block"),
                          get_int(body, "waves", LinearGrid().waves)};
    if (kind == "tile") {
        auto grid = read_tiled<TileGrid>(body);
        grid.max_z = get_int(body, "most_z", grid.max_z);
        return grid;
    }
    reject(fmt::format("unknown grid '{}'", kind));
}

Launch read_launch(const Parsed& json) {
    Launch result;
    result.entry = get_text(json, "entry");
    result.grid = read_grid(field(json, "grid"));
    result.block = get_int<int>(json, "block");
    result.cluster = read_ints<2>(field(json, "cluster"));
    result.shared_bytes = get_int<int>(json, "shared_bytes");
    result.params = read_all(field(json, "params"), read_param);
    if (const Parsed* from = optional_field(json, "prepares_from"))
        result.prepares_from = read_prepared(*from);
    result.waits = get_bool(json, "waits", false);
    return result;
}

Alignment read_alignment(const Parsed& json) {
    return {get_int<int>(json, "tensor"), get_int<int>(json, "bytes"),
            get_int(json, "row_dims", 1)};
}

MergedView read_view(const Parsed& json) {
    return {get_int<int>(json, "tensor"), read_all(field(json, "runs"), to_int<int>)};
}

TensorSpec read_tensor(const Parsed& json) {
    return {get_text(json, "name"), read_dtype(json), get_int<int>(json, "rank"),
            get_text(json, "origin", "")};
}

LaunchRecord read_record(const Parsed& json) {
    if (int format = get_int<int>(json, "format"); format != kFormat)
        reject(fmt::format("it has format {}, and this version reads format {}", format, kFormat));
    LaunchRecord record;
    record.kernel = get_text(json, "kernel");
    record.arch = get_text(json, "arch");
    record.schedule = get_text(json, "schedule");
    record.precision = get_text(json, "precision");
    record.params = read_all(field(json, "params"), read_tensor);
    record.outputs = read_all(field(json, "outputs"), read_tensor);
    record.equal_extents = read_all(field(json, "equal_extents"), read_product);
    // Only records of kernels with factored or constant dimensions have extent rules.
    if (const Parsed* rules = optional_field(json, "extent_rules"))
        record.extent_rules = read_all(*rules, read_rule);
    record.alignments = read_all(field(json, "alignments"), read_alignment);
    if (const Parsed* counts = optional_field(json, "counts"))
        record.counts = read_all(*counts, read_extent);
    record.workspaces = read_all(field(json, "workspaces"), read_workspace);
    if (const Parsed* views = optional_field(json, "views"))
        record.views = read_all(*views, read_view);
    record.launches = read_all(field(json, "launches"), read_launch);
    return record;
}

}  // namespace

nlohmann::ordered_json json_of(const LaunchRecord& record) {
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
    if (!record.views.empty()) json["views"] = write_all(record.views);
    if (!record.counts.empty()) json["counts"] = write(record.counts);
    return json;
}

std::string to_json(const LaunchRecord& record) {
    // `origin` holds a file's name, which may not be UTF-8: such bytes are replaced.
    return dump_json(json_of(record));
}

Result<LaunchRecord> launch_record_from_json(std::string_view text) {
    return decoding<LaunchRecord>(
        "not a launch record",
        "the file was damaged or written by another version: build the kernel again", [&] {
            LaunchRecord record = read_record(parse_json(text));
            if (std::string problem = inconsistency(record); !problem.empty()) reject(problem);
            return record;
        });
}

}  // namespace fact
