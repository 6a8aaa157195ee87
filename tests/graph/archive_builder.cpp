#include "archive_builder.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace fact::graph::testing {

namespace {

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    }
    return ~crc;
}

// The directory's line for a record whose local header is at `offset`.
std::string directory_entry(const Record& record, std::uint64_t offset, std::uint32_t crc,
                            bool zip64) {
    std::string entry;
    const auto size = static_cast<std::uint32_t>(record.content.size());
    put<std::uint32_t>(entry, 0x02014b50);
    put<std::uint32_t>(entry, 0);
    put(entry, record.flags);
    put(entry, record.method);
    put<std::uint32_t>(entry, 0);
    put(entry, crc);
    put<std::uint32_t>(entry, zip64 ? 0xffffffff : size);
    put<std::uint32_t>(entry, zip64 ? 0xffffffff : size);
    put(entry, static_cast<std::uint16_t>(record.name.size()));
    put<std::uint16_t>(entry, zip64 ? 28 : 0);
    entry.append(10, '\0');
    put<std::uint32_t>(entry, zip64 ? 0xffffffff : static_cast<std::uint32_t>(offset));
    entry += record.name;
    if (zip64) {
        put<std::uint16_t>(entry, 1);
        put<std::uint16_t>(entry, 24);
        put<std::uint64_t>(entry, size);
        put<std::uint64_t>(entry, size);
        put<std::uint64_t>(entry, offset);
    }
    return entry;
}

}  // namespace

std::string make_zip(const std::vector<Record>& records, ZipOptions options) {
    std::string file, directory;
    for (const Record& record : records) {
        const std::uint64_t offset = file.size();
        const std::uint32_t crc = crc32(record.content) ^ (record.good_checksum ? 0 : 1);
        const std::size_t padding = (64 - (offset + 30 + record.name.size()) % 64) % 64;
        put<std::uint32_t>(file, 0x04034b50);
        put<std::uint16_t>(file, 0);
        put(file, record.flags);
        put(file, record.method);
        put<std::uint32_t>(file, 0);
        put(file, crc);
        put(file, static_cast<std::uint32_t>(record.content.size()));
        put(file, static_cast<std::uint32_t>(record.content.size()));
        put(file, static_cast<std::uint16_t>(record.name.size()));
        put(file, static_cast<std::uint16_t>(padding));
        file += record.name;
        file.append(padding, 'Z');
        file += record.content;
        directory += directory_entry(record, offset, crc, options.zip64);
    }
    const std::uint64_t start = file.size(), count = records.size();
    file += directory;
    if (options.zip64) {
        const std::uint64_t end64 = file.size();
        put<std::uint32_t>(file, 0x06064b50);
        put<std::uint64_t>(file, 44);
        file.append(12, '\0');
        put(file, count);
        put(file, count);
        put<std::uint64_t>(file, directory.size());
        put(file, start);
        put<std::uint32_t>(file, 0x07064b50);
        put<std::uint32_t>(file, 0);
        put(file, end64);
        put<std::uint32_t>(file, 1);
    }
    put<std::uint32_t>(file, 0x06054b50);
    put<std::uint32_t>(file, 0);
    put(file, static_cast<std::uint16_t>(options.zip64 ? 0xffff : count));
    put(file, static_cast<std::uint16_t>(options.zip64 ? 0xffff : count));
    put(file, static_cast<std::uint32_t>(options.zip64 ? 0xffffffff : directory.size()));
    put(file, static_cast<std::uint32_t>(options.zip64 ? 0xffffffff : start));
    put<std::uint16_t>(file, 0);
    return file;
}

std::string small_program() {  // As torch 2.11 writes it: no node names, optional fields left out.
    return R"json({
"graph_module": {
 "graph": {
  "inputs": [{"as_tensor": {"name": "p_fc_weight"}}, {"as_tensor": {"name": "x"}}],
  "outputs": [{"as_tensor": {"name": "relu"}}],
  "nodes": [
   {"target": "torch.ops.aten.linear.default",
    "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
               {"name": "weight", "arg": {"as_tensor": {"name": "p_fc_weight"}}, "kind": 1}],
    "outputs": [{"as_tensor": {"name": "linear"}}],
    "metadata": {"stack_trace": "File \"model.py\", line 7, in forward\n    return fc(x)"}},
   {"target": "torch.ops.aten.relu.default",
    "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}],
    "outputs": [{"as_tensor": {"name": "relu"}}],
    "metadata": {}}],
  "tensor_values": {
   "p_fc_weight": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 4}], "requires_grad": true,
    "device": {"type": "cpu"}, "strides": [{"as_int": 4}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}, "layout": 7},
   "x": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 4}], "requires_grad": false,
    "device": {"type": "cuda", "index": 0}, "strides": [{"as_int": 4}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}, "layout": 7},
   "linear": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 2}], "requires_grad": false,
    "device": {"type": "cpu"}, "strides": [{"as_int": 2}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}, "layout": 7},
   "relu": {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 2}], "requires_grad": false,
    "device": {"type": "cpu"}, "strides": [{"as_int": 2}, {"as_int": 1}],
    "storage_offset": {"as_int": 0}, "layout": 7}},
  "sym_int_values": {}, "sym_bool_values": {}},
 "signature": {
  "input_specs": [
   {"parameter": {"arg": {"name": "p_fc_weight"}, "parameter_name": "fc.weight"}},
   {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
  "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}]},
 "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [],
  "in_spec": "[1, \"in\"]", "out_spec": "[1, \"out\"]"}}]},
"opset_version": {"aten": 10},
"range_constraints": {},
"schema_version": {"major": 8, "minor": 17},
"torch_version": "2.11.0"})json";
}

std::vector<Record> small_archive(const std::string& program) {
    constexpr std::string_view kWeights = R"({"config": {"fc.weight": {"path_name": "weight_0",
 "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7,
 "sizes": [{"as_int": 2}, {"as_int": 4}], "requires_grad": true, "device": {"type": "cpu"},
 "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}}})";
    return {
        {.name = "m/data/weights/weight_0", .content = std::string(32, '\x01')},
        {.name = "m/data/weights/model_weights_config.json", .content = std::string(kWeights)},
        {.name = "m/data/constants/model_constants_config.json", .content = R"({"config": {}})"},
        {.name = "m/models/model.json", .content = program},
        {.name = "m/archive_format", .content = "pt2"},
        {.name = "m/byteorder", .content = "little"}};
}

Record& record(std::vector<Record>& records, std::string_view name) {
    for (Record& item : records)
        if (item.name == name) return item;
    throw std::logic_error("no record " + std::string(name));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto found = text.find(from);
    if (found == std::string::npos)
        throw std::logic_error("'" + std::string(from) + "' does not occur");
    return text.substr(0, found) + std::string(to) + text.substr(found + from.size());
}

TestFile::TestFile(std::string_view content)
    : folder_(std::filesystem::temp_directory_path(), "graph-test"),
      path_(folder_.path() / "model.pt2") {
    std::ofstream(path_, std::ios::binary) << content;
}

}  // namespace fact::graph::testing
