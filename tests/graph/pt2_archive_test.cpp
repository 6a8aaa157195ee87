// Archives as torch writes them, and archives that are wrong.
#include "graph/pt2_archive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "archive_builder.h"
#include "test_data.h"

namespace fact::graph {
namespace {

using testing::make_zip;
using testing::record;
using testing::Record;
using testing::replaced;
using testing::small_archive;
using testing::small_program;
using testing::TestFile;

const std::filesystem::path kData = std::filesystem::path(FACT_TEST_DATA) / "data";

Archive read_data(const std::string& name) {
    auto archive = read_pt2(kData / name);
    if (!archive) throw std::runtime_error(archive.error().text());
    return *std::move(archive);
}

Result<Archive> read_records(const std::vector<Record>& records) {
    const TestFile file(make_zip(records));
    return read_pt2(file.path());
}

// The error of reading the small archive with one piece of its program replaced.
std::string error_with(std::string_view from, std::string_view to) {
    const auto archive = read_records(small_archive(replaced(small_program(), from, to)));
    return archive ? "read without an error" : archive.error().message;
}

const Node& node_called(const Graph& graph, std::string_view name) {
    for (const Node& node : graph.nodes)
        if (node.name == name) return node;
    throw std::runtime_error("no node " + std::string(name));
}

const Weight& weight_called(const Archive& archive, std::string_view fqn) {
    for (const Weight& weight : archive.weights)
        if (weight.fqn == fqn) return weight;
    throw std::runtime_error("no weight " + std::string(fqn));
}

#define EXPECT_CONTAINS(text, part) \
    EXPECT_NE((text).find(part), std::string::npos) << "in: " << (text)

TEST(Pt2Archive, ReadsAGptBlock) {
    const Archive archive = read_data("gpt_block.pt2");
    const Graph& graph = archive.graph;
    EXPECT_EQ(verify(graph), "");
    EXPECT_EQ(graph.nodes.size(), 28u);
    EXPECT_EQ(graph.inputs.size(), 14u);
    EXPECT_EQ(graph.inputs[12].kind, InputKind::buffer);
    EXPECT_EQ(graph.inputs[12].fqn, "0.attention.mask");
    EXPECT_EQ(graph.inputs[13].kind, InputKind::user);
    EXPECT_EQ(graph.torch_version, "2.13.0+cpu");
    EXPECT_EQ(graph.schema_version, "8.20");
    EXPECT_CONTAINS(graph.in_spec, "builtins.tuple");
    EXPECT_CONTAINS(graph.out_spec, "children_spec");

    const Node& split = node_called(graph, "split");
    EXPECT_TRUE(split.returns_list);
    ASSERT_EQ(split.outputs.size(), 3u);
    EXPECT_EQ(graph[split.outputs[1]].name, "getitem_1");
    EXPECT_EQ(graph[split.outputs[1]].type->strides, (std::vector<std::int64_t>{96, 24, 1}));
    EXPECT_EQ(graph[split.outputs[1]].type->offset, 8);

    const Argument* fill = find_argument(node_called(graph, "masked_fill"), "value");
    ASSERT_NE(fill, nullptr);
    EXPECT_EQ(std::get<double>(*fill), -INFINITY);

    const Node& clone = node_called(graph, "clone_1");
    EXPECT_EQ(std::get<MemoryFormatArg>(*find_argument(clone, "memory_format")).code, 1);
    EXPECT_TRUE(clone.inputs[1].keyword);

    const Provenance& where = node_called(graph, "linear").where;
    EXPECT_EQ(where.file, "gpt_block.py");
    EXPECT_EQ(where.code, "q, k, v = self.qkv(x).split(c, dim=2)");
    EXPECT_EQ(where.module_path, "0.attention.qkv");
    EXPECT_EQ(where.module_type, "Linear");
}

TEST(Pt2Archive, MapsWeights) {
    const Archive archive = read_data("gpt_block.pt2");
    EXPECT_EQ(archive.weights.size(), 13u);
    const Weight& mask = weight_called(archive, "0.attention.mask");
    EXPECT_FALSE(mask.is_parameter);
    ASSERT_EQ(mask.storage.size(), 64u);
    float lower[16];
    std::memcpy(lower, mask.storage.data(), sizeof lower);
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            EXPECT_EQ(lower[4 * row + column], column <= row ? 1.0f : 0.0f);
    EXPECT_TRUE(weight_called(archive, "0.mlp.up.weight").is_parameter);
}

TEST(Pt2Archive, ReadsRareFeatures) {
    const Archive archive = read_data("features.pt2");
    const Graph& graph = archive.graph;
    EXPECT_EQ(verify(graph), "");

    // Tied parameters share their bytes; the constant table is a view with an offset.
    EXPECT_EQ(weight_called(archive, "first.weight").storage.data(),
              weight_called(archive, "second.weight").storage.data());
    const Weight& table = weight_called(archive, "table");
    EXPECT_EQ(table.type.offset, 1);
    EXPECT_EQ(table.type.strides, (std::vector<std::int64_t>{4, 1}));
    EXPECT_EQ(table.storage.size(), 48u);

    const auto input = [&](std::size_t i) { return graph.inputs.at(i); };
    EXPECT_EQ(input(3).kind, InputKind::buffer);
    EXPECT_EQ(input(4).kind, InputKind::constant);
    EXPECT_EQ(input(4).fqn, "shift");
    EXPECT_FALSE(input(6).fixed);
    EXPECT_EQ(input(7).fixed, Argument(std::int64_t{2}));
    EXPECT_EQ(graph[input(7).value].name, "scale");
    EXPECT_EQ(input(8).fixed, Argument(None{}));
    EXPECT_TRUE(graph[input(6).value].type->dynamic);
    EXPECT_EQ(graph[input(6).value].type->sizes, (std::vector<std::int64_t>{3, 4}));

    ASSERT_EQ(graph.outputs.size(), 9u);
    EXPECT_EQ(graph.outputs[0].mutates, "count");
    EXPECT_FALSE(graph.outputs[2].value);
    EXPECT_EQ(graph.outputs[2].fixed, Argument(None{}));
    EXPECT_EQ(graph.outputs[4].fixed, Argument(std::int64_t{3}));

    EXPECT_EQ(node_called(graph, "topk").outputs.size(), 2u);
    EXPECT_FALSE(node_called(graph, "topk").returns_list);
    const Argument& indices = *find_argument(node_called(graph, "index"), "indices");
    const auto& list = std::get<std::vector<std::optional<ValueId>>>(indices);
    ASSERT_EQ(list.size(), 2u);
    EXPECT_FALSE(list[0]);
    EXPECT_EQ(graph[*list[1]].name, "clone");

    const Argument& size = *find_argument(node_called(graph, "full"), "size");
    EXPECT_EQ(std::get<OpaqueArg>(size).tag, "as_sym_ints");
    EXPECT_EQ(std::get<double>(*find_argument(node_called(graph, "full"), "fill_value")), INFINITY);
    EXPECT_EQ(std::get<DeviceArg>(*find_argument(node_called(graph, "full"), "device")).text,
              "cpu");
    EXPECT_EQ(std::get<DTypeArg>(*find_argument(node_called(graph, "_to_copy"), "dtype")).dtype,
              DType::f16);
    EXPECT_TRUE(node_called(graph, "_assert_tensor_metadata").outputs.empty());
    // Complex numbers have no DType: the value is carried without a type.
    EXPECT_FALSE(graph[node_called(graph, "fft_rfft").outputs[0]].type);
}

TEST(Pt2Archive, ReadsOlderMinorVersions) {
    const auto archive = read_records(small_archive(small_program()));
    ASSERT_TRUE(archive) << archive.error().text();
    EXPECT_EQ(archive->graph.schema_version, "8.17");
    EXPECT_EQ(archive->graph.nodes[0].name, "linear");
    EXPECT_EQ(archive->graph.nodes[0].where.line, 7);
    EXPECT_EQ(archive->graph[archive->graph.inputs[1].value].type->device, "cuda:0");
    EXPECT_EQ(archive->graph.in_spec, "[1, \"in\"]");
}

TEST(Pt2Archive, ReadsOtherModelNamesAndZip64) {
    auto records = small_archive(small_program());
    record(records, "m/models/model.json").name = "m/models/net.json";
    record(records, "m/data/weights/model_weights_config.json").name =
        "m/data/weights/net_weights_config.json";
    const TestFile file(make_zip(records, {.zip64 = true}));
    const auto archive = read_pt2(file.path());
    ASSERT_TRUE(archive) << archive.error().text();
    EXPECT_EQ(archive->weights.size(), 1u);
}

TEST(Pt2Archive, ReadsInfinitiesBareAndQuoted) {
    const auto value = [](std::string_view written) {
        const std::string input =
            R"({"name": "self", "arg": {"as_tensor": {"name": "linear"}}}, )"
            R"({"name": "v", "arg": {"as_float": )" +
            std::string(written) +
            R"(}}, {"name": "Infinity NaN", "arg": {"as_string": "a \"-Infinity\" NaN"}})";
        const auto archive = read_records(small_archive(
            replaced(small_program(),
                     R"({"name": "self", "arg": {"as_tensor": {"name": "linear"}}})", input)));
        if (!archive) throw std::runtime_error(archive.error().text());
        const Node& relu = archive->graph.nodes[1];
        EXPECT_EQ(std::get<std::string>(*find_argument(relu, "Infinity NaN")),
                  "a \"-Infinity\" NaN");
        return std::get<double>(*find_argument(relu, "v"));
    };
    EXPECT_EQ(value("Infinity"), INFINITY);
    EXPECT_EQ(value("-Infinity"), -INFINITY);
    EXPECT_TRUE(std::isnan(value("NaN")));
    EXPECT_EQ(value("\"-Infinity\""), -INFINITY);
    EXPECT_TRUE(std::isnan(value("\"NaN\"")));
    EXPECT_EQ(value("2"), 2.0);
}

TEST(Pt2Archive, CarriesWhatItCannotInterpret) {
    const auto argument = [](std::string_view written) {
        const auto archive = read_records(
            small_archive(replaced(small_program(), R"("arg": {"as_tensor": {"name": "linear"}})",
                                   "\"arg\": " + std::string(written))));
        if (!archive) throw std::runtime_error(archive.error().text());
        return archive->graph.nodes[1].inputs[0].value;
    };
    EXPECT_EQ(argument(R"({"as_sym_int": {"as_int": 5}})"), Argument(std::int64_t{5}));
    EXPECT_EQ(argument(R"({"as_sym_ints": [{"as_int": 5}, {"as_int": 6}]})"),
              Argument(std::vector<std::int64_t>{5, 6}));
    EXPECT_EQ(argument(R"({"as_sym_int": {"as_name": "s"}})"),
              Argument(OpaqueArg{"as_sym_int", R"({"as_name":"s"})"}));
    EXPECT_EQ(argument(R"({"as_scalar_type": 10})"), Argument(OpaqueArg{"as_scalar_type", "10"}));
    EXPECT_EQ(argument(R"({"as_new_kind": [1]})"), Argument(OpaqueArg{"as_new_kind", "[1]"}));
    EXPECT_EQ(argument(R"({"as_optional_tensor": {"as_none": true}})"), Argument(None{}));
    EXPECT_EQ(argument(R"({"as_bools": [true, false]})"), Argument(std::vector<bool>{true, false}));
    EXPECT_EQ(argument(R"({"as_layout": 7})"), Argument(LayoutArg{7}));
}

TEST(Pt2Archive, KeepsThePlacesOfMissingResults) {
    const auto archive = read_records(small_archive(
        replaced(small_program(), R"("outputs": [{"as_tensor": {"name": "linear"}}])",
                 R"("outputs": [{"as_none": true}, {"as_tensor": {"name": "linear"}}])")));
    ASSERT_TRUE(archive) << archive.error().text();
    const Node& node = archive->graph.nodes[0];
    ASSERT_EQ(node.outputs.size(), 2u);
    EXPECT_FALSE(archive->graph[node.outputs[0]].type);
    EXPECT_EQ(archive->graph[node.outputs[1]].name, "linear");
}

TEST(Pt2Archive, RefusesOtherFiles) {
    const auto error = [](std::string_view content) {
        const TestFile file(content);
        const auto archive = read_pt2(file.path());
        return archive ? "read without an error" : archive.error().message;
    };
    const std::string whole = make_zip(small_archive(small_program()));
    EXPECT_CONTAINS(error(""), "empty");
    EXPECT_CONTAINS(error("hello, this is a text file"), "not a zip archive");
    EXPECT_CONTAINS(error(whole.substr(0, whole.size() / 2)), "truncated");
    EXPECT_CONTAINS(error(make_zip({{.name = "word/document.xml", .content = "<x/>"}})),
                    "not an archive of torch.export.save");
    EXPECT_CONTAINS(error(make_zip({{.name = "m/data.pkl", .content = "x"}})), "torch.save");
    EXPECT_CONTAINS(error(make_zip({{.name = "m/archive_format", .content = "pt2"}})),
                    "no exported program");
    EXPECT_CONTAINS(read_pt2("/nonexistent/model.pt2").error().message, "No such file");
    EXPECT_CONTAINS(read_pt2("/").error().message, "not a regular file");
}

TEST(Pt2Archive, RefusesDamagedRecords) {
    const auto error = [](std::string_view name, auto change) {
        auto records = small_archive(small_program());
        change(record(records, name));
        const auto archive = read_records(records);
        return archive ? "read without an error" : archive.error().message;
    };
    const auto content = [](std::string text) { return [text](Record& r) { r.content = text; }; };
    EXPECT_CONTAINS(error("m/models/model.json", [](Record& r) { r.good_checksum = false; }),
                    "checksum");
    EXPECT_CONTAINS(error("m/models/model.json", [](Record& r) { r.method = 8; }), "compressed");
    EXPECT_CONTAINS(error("m/models/model.json", [](Record& r) { r.flags = 1; }), "encrypted");
    EXPECT_CONTAINS(error("m/models/model.json", content("{\"graph_module\": ")), "not valid JSON");
    EXPECT_CONTAINS(error("m/models/model.json", content(std::string(1000000, '['))), "nested");
    EXPECT_CONTAINS(error("m/models/model.json", content("[]")), "expected an object");
    EXPECT_CONTAINS(error("m/byteorder", content("big")), "big-endian");
    EXPECT_CONTAINS(error("m/archive_format", content("pt3")), "pt3");
    EXPECT_CONTAINS(error("m/data/weights/weight_0", content("short")), "needs 32 bytes");
    EXPECT_CONTAINS(error("m/data/weights/weight_0", [](Record& r) { r.name = "m/other"; }),
                    "is missing");
    const std::string table = "m/data/weights/model_weights_config.json";
    const auto in_table = [&](std::string_view from, std::string_view to) {
        return error(table, [&](Record& r) { r.content = replaced(r.content, from, to); });
    };
    EXPECT_CONTAINS(in_table("\"use_pickle\": false", "\"use_pickle\": true"), "pickled");
    EXPECT_CONTAINS(in_table("\"dtype\": 7", "\"dtype\": 10"), "element type");
    EXPECT_CONTAINS(in_table("fc.weight", "fc.other"), "no data for 'fc.weight'");
    EXPECT_CONTAINS(in_table("{\"as_int\": 2}", "{\"as_int\": 1}"),
                    "are not those that the program reads");
    EXPECT_CONTAINS(in_table("{\"as_int\": 2}", "{\"as_int\": -2}"), "negative");
    EXPECT_CONTAINS(in_table("{\"as_int\": 2}", "{\"as_int\": 4611686018427387904}"), "overflows");
    EXPECT_CONTAINS(in_table("\"strides\": [{\"as_int\": 4}", "\"strides\": [{\"as_int\": 400}"),
                    "needs 1616 bytes");
    EXPECT_CONTAINS(error(table, [](Record& r) { r.name = "m/data/weights/model.pt"; }), "pickled");
}

TEST(Pt2Archive, SaysWhatToDoAboutWeightsOfOtherTypes) {
    constexpr std::string_view kFloat8 = "\"dtype\": 29";  // e4m3fn
    auto records = small_archive(small_program());
    Record& table = record(records, "m/data/weights/model_weights_config.json");
    table.content = replaced(table.content, "\"dtype\": 7", kFloat8);
    const auto archive = read_records(records);
    ASSERT_FALSE(archive);
    EXPECT_CONTAINS(archive.error().message, "weights: 'fc.weight': has an element type");
    EXPECT_CONTAINS(archive.error().hint, "module.to(torch.bfloat16)");
}

TEST(Pt2Archive, GivesTheTextsSavedBesideTheProgram) {
    auto records = small_archive(small_program());
    const TestFile without(make_zip(records));
    EXPECT_EQ(*read_pt2_extra(without.path(), "fact.json"), "");
    records.push_back({"m/extra/fact.json", "{}"});
    records.push_back({"m/data/extra/other.json", "elsewhere"});
    const TestFile with(make_zip(records));
    EXPECT_EQ(*read_pt2_extra(with.path(), "fact.json"), "{}");
    EXPECT_EQ(*read_pt2_extra(with.path(), "other.json"), "");
    records.end()[-2].good_checksum = false;
    EXPECT_FALSE(read_pt2_extra(TestFile(make_zip(records)).path(), "fact.json"));
    EXPECT_FALSE(read_pt2_extra("/nowhere.pt2", "fact.json"));
}

TEST(Pt2Archive, RefusesProgramsItDoesNotUnderstand) {
    EXPECT_CONTAINS(error_with("\"major\": 8", "\"major\": 9"), "schema 9");
    EXPECT_CONTAINS(error_with("\"name\": \"linear\"}}}]", "\"name\": \"gone\"}}}]"),
                    "node 1: aten.relu.default: argument 'self': unknown value 'gone'");
    EXPECT_CONTAINS(error_with("aten.relu.default", "aten.relu_.default"), "in place");
    EXPECT_CONTAINS(error_with("{\"as_tensor\": {\"name\": \"relu\"}}],\n    \"metadata\"",
                               "{\"as_tensor\": {\"name\": \"x\"}}],\n    \"metadata\""),
                    "defined twice");
    EXPECT_CONTAINS(
        error_with("{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"relu\"}}}}",
                   "{\"user_input_mutation\": {\"arg\": {\"name\": \"relu\"}, "
                   "\"user_input_name\": \"x\"}}"),
        "changes its input 'x' in place");
    EXPECT_CONTAINS(error_with("{\"user_input\"", "{\"custom_obj\""), "custom_obj");
    EXPECT_CONTAINS(error_with("\"sizes\": [{\"as_int\": 3}, {\"as_int\": 4}]",
                               "\"sizes\": [{\"as_int\": 18446744073709551615}]"),
                    "does not fit 64 bits");
    EXPECT_CONTAINS(error_with("\"sizes\": [{\"as_int\": 3}, {\"as_int\": 4}]",
                               "\"sizes\": [{\"as_int\": 1e30}, {\"as_int\": 4}]"),
                    "expected an integer");
    EXPECT_CONTAINS(
        error_with("\"sizes\": [{\"as_int\": 3}, {\"as_int\": 4}]", "\"sizes\": [{\"as_int\": 3}]"),
        "1 sizes but 2 strides");
    EXPECT_CONTAINS(error_with("\"input_specs\"", "\"no_specs\""),
                    "field 'input_specs' is missing");
}

}  // namespace
}  // namespace fact::graph
