#include "graph/pt2_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/json_values.h"
#include "support/json_fields.h"

namespace fact::graph {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxRank = 64;
constexpr int kStrided = 7;  // torch.export's code of the layout

// A symbolic integer gets the value it was traced with, or 1 if that is unknown.
std::int64_t read_sym_int(const json& value, bool& dynamic) {
    const auto [tag, content] = read_union(value);
    std::int64_t number = 1;
    if (tag == "as_int") {
        number = to_int(content);
    } else if (tag == "as_expr") {
        dynamic = true;
        if (const json* hint = optional_field(content, "hint")) {
            const auto [kind, hinted] = read_union(*hint);
            if (kind == "as_int") number = to_int(hinted);
        }
    } else {
        throw SchemaError(fmt::format("unknown kind of integer '{}'", tag));
    }
    if (number < 0) throw SchemaError(fmt::format("negative extent, stride or offset {}", number));
    return number;
}

std::vector<std::int64_t> read_sym_ints(const json& list, bool& dynamic) {
    if (to_array(list).size() > kMaxRank)
        throw SchemaError(
            fmt::format("a tensor has {} dimensions; at most {} are read", list.size(), kMaxRank));
    std::vector<std::int64_t> result;
    for (const json& item : list) result.push_back(read_sym_int(item, dynamic));
    return result;
}

ValueId to_value(const json& tensor, const ValueNames& names) {
    return find_value(names, to_text(field(tensor, "name")));
}

std::optional<ValueId> to_optional_value(const json& item, const ValueNames& names) {
    const auto [tag, content] = read_union(item);
    if (tag == "as_none") return std::nullopt;
    if (tag != "as_tensor") throw SchemaError(fmt::format("unknown optional tensor '{}'", tag));
    return to_value(content, names);
}

OpaqueArg opaque(const std::string& tag, const json& content) {
    return {tag, content.dump()};
}

// The number itself, if the archive has it in place of a value's name; else nullptr.
const json* plain_number(const json& symbolic, const char* tag) {
    const auto [kind, content] = read_union(symbolic);
    return kind == tag ? &content : nullptr;
}

// Reads symbolic arguments: "as_sym_int" with {"as_int": 3} is 3.
std::optional<Argument> read_symbolic(const std::string& tag, const json& content) {
    if (tag == "as_sym_int")
        if (const json* number = plain_number(content, "as_int")) return to_int(*number);
    if (tag == "as_sym_float")
        if (const json* number = plain_number(content, "as_float")) return to_double(*number);
    if (tag == "as_sym_bool")
        if (const json* number = plain_number(content, "as_bool")) return to_bool(*number);
    if (tag == "as_sym_ints") {
        std::vector<std::int64_t> numbers;
        for (const json& item : to_array(content)) {
            const json* number = plain_number(item, "as_int");
            if (number == nullptr) return std::nullopt;
            numbers.push_back(to_int(*number));
        }
        return numbers;
    }
    return std::nullopt;
}

}  // namespace

void check_type(const TensorType& type) {
    if (type.sizes.size() != type.strides.size())
        throw SchemaError(
            fmt::format("{} sizes but {} strides", type.sizes.size(), type.strides.size()));
    if (type.sizes.size() > kMaxRank)
        throw SchemaError(fmt::format("a tensor has {} dimensions; at most {} are read",
                                      type.sizes.size(), kMaxRank));
    // Everything is checked with twice the bytes, which leaves room for sums such as `last` + 1.
    std::int64_t elements = 1, last = type.offset;
    bool overflow = false, negative = type.offset < 0;
    for (std::size_t i = 0; i < type.sizes.size(); ++i) {
        std::int64_t reach = 0;
        const std::int64_t size = std::max<std::int64_t>(type.sizes[i], 1);
        negative |= type.sizes[i] < 0 || type.strides[i] < 0;
        overflow |= __builtin_mul_overflow(elements, size, &elements);
        overflow |= __builtin_mul_overflow(size - 1, type.strides[i], &reach);
        overflow |= __builtin_add_overflow(last, reach, &last);
        overflow |= __builtin_mul_overflow(type.strides[i], info(type.dtype).bytes * 2, &reach);
    }
    if (negative) throw SchemaError("negative extent, stride or offset");
    std::int64_t bytes = 0;
    for (const std::int64_t count : {elements, last})
        overflow |= __builtin_mul_overflow(count, info(type.dtype).bytes * 2, &bytes);
    if (overflow) throw SchemaError("the tensor's size overflows 64 bits");
}

std::pair<std::string, const json&> read_union(const json& value) {
    if (to_object(value).size() != 1)
        throw SchemaError(fmt::format("expected one tagged value, found {}", value.size()));
    return {value.begin().key(), value.begin().value()};
}

std::string read_device(const json& device) {
    std::string text = to_text(field(device, "type"));
    if (const json* number = optional_field(device, "index"))
        text += fmt::format(":{}", to_int(*number));
    return text;
}

std::optional<TensorType> read_tensor_type(const json& meta) {
    const auto dtype = dtype_from_pt2(to_code(field(meta, "dtype")));
    if (!dtype || to_code(field(meta, "layout")) != kStrided) return std::nullopt;
    TensorType type{.dtype = *dtype, .sizes = {}, .strides = {}, .device = {}};
    type.sizes = at("sizes", [&] { return read_sym_ints(field(meta, "sizes"), type.dynamic); });
    type.strides =
        at("strides", [&] { return read_sym_ints(field(meta, "strides"), type.dynamic); });
    type.offset = at("storage_offset",
                     [&] { return read_sym_int(field(meta, "storage_offset"), type.dynamic); });
    type.device = read_device(field(meta, "device"));
    check_type(type);
    return type;
}

Argument read_argument(const json& argument, const ValueNames& names) {
    const auto [tag, content] = read_union(argument);
    const json& body = content;
    const auto value = [&](const json& item) { return to_value(item, names); };
    if (tag == "as_none") return None{};
    if (tag == "as_tensor") return value(body);
    if (tag == "as_tensors") return to_list<ValueId>(body, value);
    if (tag == "as_optional_tensor") {
        const auto id = to_optional_value(body, names);
        return id ? Argument(*id) : Argument(None{});
    }
    if (tag == "as_optional_tensors")
        return to_list<std::optional<ValueId>>(
            body, [&](const json& item) { return to_optional_value(item, names); });
    if (tag == "as_bool") return to_bool(body);
    if (tag == "as_int") return to_int(body);
    if (tag == "as_float") return to_double(body);
    if (tag == "as_string") return to_text(body);
    if (tag == "as_bools") return to_list<bool>(body, to_bool);
    if (tag == "as_ints") return to_list<std::int64_t>(body, to_int<>);
    if (tag == "as_floats") return to_list<double>(body, to_double);
    if (tag == "as_strings") return to_list<std::string>(body, to_text);
    if (tag == "as_scalar_type") {
        const auto dtype = dtype_from_pt2(to_code(body));
        return dtype ? Argument(DTypeArg{*dtype}) : Argument(opaque(tag, body));
    }
    if (tag == "as_memory_format") return MemoryFormatArg{to_code(body)};
    if (tag == "as_layout") return LayoutArg{to_code(body)};
    if (tag == "as_device") return DeviceArg{read_device(body)};
    if (auto plain = read_symbolic(tag, body)) return *std::move(plain);
    return opaque(tag, body);
}

}  // namespace fact::graph
