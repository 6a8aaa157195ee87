#include "graph/pt2_archive.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "graph/pt2_fields.h"
#include "graph/pt2_program.h"
#include "graph/zip_reader.h"
#include "support/json_fields.h"

namespace fact::graph {

using nlohmann::json;

namespace {

constexpr std::string_view kReexport =
    "make the archive with torch.export.save of torch 2.10 or later";
constexpr std::string_view kCast =
    "export the module with dense weights of another type: module.to(torch.bfloat16) casts those "
    "of floating types, float8 among them";

// One line of a weights or constants table.
struct Payload {
    std::string fqn;
    std::string record;  // where in the archive its bytes are
    bool is_parameter = false;
    std::optional<TensorType> type;  // absent: of an unsupported type or layout
};

std::vector<Payload> decode_payloads(std::string_view text) {
    std::vector<Payload> result;
    const json table = parse_json(text);
    for (const auto& [fqn, entry] : to_object(field(table, "config")).items()) {
        const json& row = entry;
        result.push_back(at("'" + fqn + "'", [&] {
            if (const json* pickled = optional_field(row, "use_pickle");
                pickled != nullptr && to_bool(*pickled))
                throw SchemaError("is pickled (a tensor subclass or an object), which is not read");
            const json* meta = optional_field(row, "tensor_meta");
            if (meta == nullptr) throw SchemaError("is not a tensor");
            auto type = read_tensor_type(*meta);
            if (type && type->dynamic) throw SchemaError("has symbolic sizes");
            return Payload{fqn, to_text(field(row, "path_name")), to_bool(field(row, "is_param")),
                           std::move(type)};
        }));
    }
    return result;
}

// Bytes of storage up to the last element; read_tensor_type has checked that they do not overflow.
std::uint64_t reach_bytes(const TensorType& type) {
    std::int64_t last = type.offset;
    for (std::size_t i = 0; i < type.sizes.size(); ++i) {
        if (type.sizes[i] == 0) return 0;
        last += (type.sizes[i] - 1) * type.strides[i];
    }
    return static_cast<std::uint64_t>(last + 1) *
           static_cast<std::uint64_t>(info(type.dtype).bytes);
}

class ArchiveReader {
  public:
    ArchiveReader(const std::filesystem::path& path, const ZipReader& zip)
        : path_(path), zip_(zip) {}

    Result<Archive> run() {
        if (auto done = check_format(); !done) return done.error();
        const auto model = model_name();
        if (!model) return model.error();
        const auto program = zip_.text(root_ + "models/" + *model + ".json");
        if (!program) return program.error();
        auto graph = decode_program(*program);
        if (!graph) return located(graph.error());
        if (const std::string problem = verify(*graph); !problem.empty())
            return failure("the program is damaged: " + problem);

        Archive archive{.graph = *std::move(graph), .weights = {}, .mapping = zip_.mapping()};
        for (const std::string folder : {"weights", "constants"})
            if (auto done = read_weights(folder, *model, archive.weights); !done)
                return done.error();
        if (auto done = check_inputs(archive); !done) return done.error();
        return archive;
    }

  private:
    Error failure(std::string_view reason, std::string_view hint = kReexport) const {
        return {fmt::format("{}: {}", path_.string(), reason), std::string(hint)};
    }
    Error located(const Error& error) const { return failure(error.message, error.hint); }

    // Finds root_: all records are in one folder, named after the file that was first written.
    Result<> check_format() {
        constexpr std::string_view kMarker = "archive_format";
        bool checkpoint = false, marked = false;
        for (const auto& [name, entry] : zip_.entries()) {
            const auto slash = name.find('/');
            const std::string_view base =
                slash == std::string::npos ? name : std::string_view(name).substr(slash + 1);
            if (base == kMarker) {
                root_ = name.substr(0, name.size() - kMarker.size());
                marked = true;
            }
            if (base == "data.pkl") checkpoint = true;
        }
        if (!marked)
            return failure(checkpoint
                               ? "this is a checkpoint of torch.save, not an exported program"
                               : "not an archive of torch.export.save");
        const auto format = zip_.text(root_ + "archive_format");
        if (!format) return format.error();
        if (*format != "pt2")
            return failure(fmt::format("archive format '{}' is not pt2", *format));
        if (!zip_.contains(root_ + "byteorder")) return Ok{};
        const auto order = zip_.text(root_ + "byteorder");
        if (!order) return order.error();
        if (*order != "little")
            return failure(
                fmt::format("it is in {}-endian byte order; only little-endian is read", *order));
        return Ok{};
    }

    Result<std::string> model_name() const {
        if (zip_.contains(root_ + "models/model.json")) return std::string("model");
        std::vector<std::string> names;
        const std::string folder = root_ + "models/";
        for (const auto& [name, entry] : zip_.entries())
            if (name.starts_with(folder) && name.ends_with(".json"))
                names.push_back(name.substr(folder.size(), name.size() - folder.size() - 5));
        if (names.size() == 1) return names[0];
        return failure(names.empty() ? "the archive has no exported program"
                                     : "the archive has several programs, none called 'model'");
    }

    Result<> read_weights(const std::string& folder, const std::string& model,
                          std::vector<Weight>& weights) const {
        const std::string prefix = root_ + "data/" + folder + "/";
        const std::string table = prefix + model + "_" + folder + "_config.json";
        if (!zip_.contains(table)) {
            if (zip_.contains(prefix + model + ".pt"))
                return failure("its " + folder + " are pickled, as torch before 2.9 wrote them");
            return Ok{};
        }
        const auto text = zip_.text(table);
        if (!text) return text.error();
        const auto payloads = decoding<std::vector<Payload>>(
            fmt::format("{}: {}", path_.string(), folder), std::string(kReexport),
            [&] { return decode_payloads(*text); });
        if (!payloads) return payloads.error();
        for (const Payload& payload : *payloads) {
            if (!payload.type)
                return failure(fmt::format("{}: '{}': has an element type or layout that is not "
                                           "supported",
                                           folder, payload.fqn),
                               kCast);
            const TensorType& type = *payload.type;
            const auto storage = zip_.bytes(prefix + payload.record);
            if (!storage) return storage.error();
            if (reach_bytes(type) > storage->size())
                return failure(fmt::format("'{}' needs {} bytes, but record '{}' has {}",
                                           payload.fqn, reach_bytes(type), payload.record,
                                           storage->size()));
            const auto address = reinterpret_cast<std::uintptr_t>(storage->data());
            if (address % static_cast<std::uintptr_t>(info(type.dtype).bytes) != 0)
                return failure(fmt::format("'{}' is not aligned in the file", payload.fqn));
            weights.push_back(
                {payload.fqn, type, *storage, payload.is_parameter, folder == "weights"});
        }
        return Ok{};
    }

    // Checks that every weight the program reads is there, with the traced sizes.
    Result<> check_inputs(const Archive& archive) const {
        std::map<std::string_view, const Weight*> by_name;
        for (const Weight& weight : archive.weights) by_name.emplace(weight.fqn, &weight);
        for (const GraphInput& input : archive.graph.inputs) {
            if (input.kind == InputKind::user) continue;
            const auto found = by_name.find(input.fqn);
            if (found == by_name.end())
                return failure(fmt::format("there is no data for '{}'", input.fqn));
            const auto& type = archive.graph[input.value].type;
            const TensorType& stored = found->second->type;
            if (!type || type->dtype != stored.dtype || type->sizes != stored.sizes)
                return failure(
                    fmt::format("the stored type or sizes of '{}' are not those that the "
                                "program reads",
                                input.fqn));
        }
        return Ok{};
    }

    const std::filesystem::path& path_;
    const ZipReader& zip_;
    std::string root_;
};

}  // namespace

Result<Archive> read_pt2(const std::filesystem::path& path) {
    const auto zip = ZipReader::open(path);
    if (!zip) return zip.error();
    return ArchiveReader(path, *zip).run();
}

Result<std::string> read_pt2_extra(const std::filesystem::path& path, std::string_view name) {
    const auto zip = ZipReader::open(path);
    if (!zip) return zip.error();
    const auto wanted = fmt::format("/extra/{}", name);
    // The record is "<folder>/extra/<name>", with a single folder of any name.
    for (const auto& [record, entry] : zip->entries()) {
        if (record.find('/') + wanted.size() != record.size() || !record.ends_with(wanted))
            continue;
        const auto text = zip->text(record);
        if (!text) return text.error();
        return std::string(*text);
    }
    return std::string();
}

}  // namespace fact::graph
