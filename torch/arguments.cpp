#include "torch/arguments.h"

#include <ATen/ScalarOps.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <fmt/format.h>

#include "torch/tensors.h"

namespace fact::exec {

namespace {

using graph::ValueId;

// Either a constant or a slot; neither if the argument does not fit the type.
struct Converted {
    std::optional<c10::IValue> constant;
    std::optional<Slot> slot;
};

Converted constant(c10::IValue value) {
    return {std::move(value), std::nullopt};
}

template <class To, class From>
c10::IValue list_of(const std::vector<From>& from) {
    c10::List<To> list;
    for (const auto& item : from) list.push_back(static_cast<To>(item));
    return list;
}

// By its code in the archive.
std::optional<c10::MemoryFormat> memory_format(int code) {
    switch (code) {
        case 1:
            return c10::MemoryFormat::Contiguous;
        case 2:
            return c10::MemoryFormat::ChannelsLast;
        case 3:
            return c10::MemoryFormat::ChannelsLast3d;
        case 4:
            return c10::MemoryFormat::Preserve;
        default:
            return std::nullopt;
    }
}

// Types that DType lacks, by their codes in the archive: they are never fused, but torch's
// operators use them.
std::optional<c10::ScalarType> other_type(std::string_view code) {
    using enum c10::ScalarType;
    constexpr std::pair<std::string_view, c10::ScalarType> kCodes[] = {
        {"9", ComplexHalf},      {"10", ComplexFloat},    {"11", ComplexDouble},
        {"28", UInt16},          {"29", Float8_e4m3fn},   {"30", Float8_e5m2},
        {"31", Float8_e4m3fnuz}, {"32", Float8_e5m2fnuz}, {"33", Float8_e8m0fnu},
        {"34", UInt32},          {"35", UInt64}};
    for (const auto& [known, type] : kCodes)
        if (known == code) return type;
    return std::nullopt;
}

class Converter {
  public:
    Converter(const c10::Argument& argument, c10::Device device)
        : argument_(argument), type_(argument.type()), device_(device) {
        // An optional argument takes what its element takes, and None.
        while (const auto optional = type_->cast<c10::OptionalType>())
            type_ = optional->getElementType();
    }

    Converted operator()(const graph::None&) const { return constant(c10::IValue()); }
    Converted operator()(ValueId value) const { return slot(Slot::Kind::value, {value}); }
    Converted operator()(const std::vector<ValueId>& values) const {
        return slot(wants_optional_tensors() ? Slot::Kind::optional_tensors : Slot::Kind::tensors,
                    {values.begin(), values.end()});
    }
    Converted operator()(const std::vector<std::optional<ValueId>>& values) const {
        return slot(Slot::Kind::optional_tensors, values);
    }
    Converted operator()(bool value) const {
        switch (type_->kind()) {
            case c10::TypeKind::BoolType:
            case c10::TypeKind::NumberType:
                return constant(value);
            case c10::TypeKind::TensorType:
                return number(value);
            default:
                return {};
        }
    }
    Converted operator()(std::int64_t value) const {
        switch (type_->kind()) {
            case c10::TypeKind::IntType:
            case c10::TypeKind::SymIntType:
            case c10::TypeKind::NumberType:
                return constant(value);
            case c10::TypeKind::FloatType:
                return constant(static_cast<double>(value));
            case c10::TypeKind::BoolType:
                return constant(value != 0);
            case c10::TypeKind::TensorType:
                return number(value);
            case c10::TypeKind::ListType:  // an int[2] may be given as one int
                return (*this)(std::vector<std::int64_t>(argument_.N().value_or(1), value));
            default:
                return {};
        }
    }
    Converted operator()(double value) const {
        switch (type_->kind()) {
            case c10::TypeKind::FloatType:
            case c10::TypeKind::NumberType:
                return constant(value);
            case c10::TypeKind::TensorType:
                return number(value);
            default:
                return {};
        }
    }
    Converted operator()(const std::string& value) const {
        if (type_->kind() == c10::TypeKind::StringType) return constant(value);
        return {};
    }
    Converted operator()(const std::vector<bool>& values) const {
        return list<bool>(values, c10::TypeKind::BoolType);
    }
    Converted operator()(const std::vector<std::int64_t>& values) const {
        // An empty list carries no element type in the archive.
        const auto kind = element_kind();
        if (kind == c10::TypeKind::FloatType) return constant(list_of<double>(values));
        if (kind == c10::TypeKind::NumberType) return constant(scalars(values));
        if (kind == c10::TypeKind::TensorType && values.empty())
            return slot(Slot::Kind::tensors, {});
        if (kind == c10::TypeKind::SymIntType) return constant(list_of<std::int64_t>(values));
        return list<std::int64_t>(values, c10::TypeKind::IntType);
    }
    Converted operator()(const std::vector<double>& values) const {
        if (element_kind() == c10::TypeKind::NumberType) return constant(scalars(values));
        return list<double>(values, c10::TypeKind::FloatType);
    }
    Converted operator()(const std::vector<std::string>& values) const {
        if (element_kind() != c10::TypeKind::StringType) return {};
        c10::List<std::string> list;
        for (const auto& value : values) list.push_back(value);
        return constant(list);
    }
    Converted operator()(const graph::DTypeArg& value) const {
        return constant(static_cast<std::int64_t>(scalar_type(value.dtype)));
    }
    Converted operator()(const graph::MemoryFormatArg& value) const {
        const auto format = memory_format(value.code);
        if (!format) return {};
        return constant(static_cast<std::int64_t>(*format));
    }
    Converted operator()(const graph::LayoutArg& value) const {
        constexpr int kStrided = 7;  // its code in the archive
        if (value.code != kStrided) return {};
        return constant(static_cast<std::int64_t>(c10::Layout::Strided));
    }
    Converted operator()(const graph::DeviceArg&) const { return constant(device_); }
    Converted operator()(const graph::OpaqueArg& value) const {
        const auto type = value.tag == "as_scalar_type" ? other_type(value.json) : std::nullopt;
        return type ? constant(static_cast<std::int64_t>(*type)) : Converted{};
    }

  private:
    static Converted slot(Slot::Kind kind, std::vector<std::optional<ValueId>> values) {
        return {std::nullopt, Slot{0, kind, std::move(values)}};
    }
    // A Python number for a tensor argument: in type promotion it counts as a number, not a tensor.
    static Converted number(const c10::Scalar& value) {
        return constant(at::native::wrapped_scalar_tensor(value));
    }
    std::optional<c10::TypeKind> element_kind() const {
        const auto list = type_->cast<c10::ListType>();
        if (!list) return std::nullopt;
        return list->getElementType()->kind();
    }
    bool wants_optional_tensors() const { return element_kind() == c10::TypeKind::OptionalType; }
    template <class T>
    Converted list(const std::vector<T>& values, c10::TypeKind element) const {
        if (element_kind() != element) return {};
        return constant(list_of<T>(values));
    }
    template <class T>
    static c10::IValue scalars(const std::vector<T>& values) {
        c10::impl::GenericList list(c10::NumberType::get());
        for (const auto& value : values) list.push_back(c10::IValue(c10::Scalar(value)));
        return list;
    }

    const c10::Argument& argument_;
    c10::TypePtr type_;
    c10::Device device_;
};

// "aten.add.Tensor" is the overload Tensor of aten::add; "default" is torch.export's word for "".
Result<c10::OperatorName> operator_name(const std::string& target) {
    const auto first = target.find('.'), last = target.rfind('.');
    if (first == std::string::npos || first == last)
        return Error{fmt::format("{} is not a torch operator", target),
                     "symbolic shape arithmetic and control flow are not supported: export with "
                     "static shapes"};
    auto overload = target.substr(last + 1);
    if (overload == "default") overload.clear();
    auto name = target.substr(0, first) + "::" + target.substr(first + 1, last - first - 1);
    return c10::OperatorName(std::move(name), std::move(overload));
}

const graph::Argument* find(const graph::Node& node, const std::string& name) {
    for (const auto& argument : node.inputs)
        if (argument.name == name) return &argument.value;
    return nullptr;
}

}  // namespace

Result<PreparedCall> prepare_call(const graph::Node& node, c10::Device device) {
    auto name = operator_name(node.target);
    if (!name) return name.error();
    const auto op = c10::Dispatcher::singleton().findSchema(*name);
    if (!op)
        return Error{fmt::format("this PyTorch has no operator {}", node.target),
                     "load the library that defines it first, or use the PyTorch the model was "
                     "exported with"};
    const auto& schema = op->schema();
    for (const auto& given : node.inputs)
        if (!schema.argumentIndexWithName(given.name))
            return Error{fmt::format("{} has no argument called {} in this PyTorch", node.target,
                                     given.name),
                         "use the PyTorch the model was exported with"};

    PreparedCall call{*op, {}, {}};
    bool reads_tensors = false;
    for (const auto& argument : schema.arguments()) {
        const auto position = call.stack.size();
        const auto* given = find(node, argument.name());
        if (!given) {
            if (!argument.default_value())
                return Error{fmt::format("{} needs an argument {}, which the graph does not have",
                                         node.target, argument.name()),
                             {}};
            call.stack.push_back(*argument.default_value());
            continue;
        }
        auto converted = std::visit(Converter(argument, device), *given);
        if (converted.slot) {
            reads_tensors = true;
            converted.slot->position = position;
            call.slots.push_back(std::move(*converted.slot));
            call.stack.emplace_back();
        } else if (converted.constant) {
            call.stack.push_back(std::move(*converted.constant));
        } else {
            return Error{fmt::format("argument {} of {} cannot be passed as {}", argument.name(),
                                     node.target, argument.type()->str()),
                         {}};
        }
    }
    if (!reads_tensors)
        if (const auto place = schema.argumentIndexWithName("device")) call.stack[*place] = device;
    return call;
}

}  // namespace fact::exec
