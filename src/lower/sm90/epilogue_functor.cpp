#include "lower/sm90/epilogue_functor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

namespace fact::lower::sm90 {

namespace {

std::string cpp_type(DType dtype) {
    if (dtype == DType::boolean) return "bool";
    return info(dtype).floating ? "float" : "int";
}

// A member of the functor: a parameter called as the functor's own function steps aside.
std::string member_name(const ir::Tensor& param) {
    return param.name == "fetch" ? "fetch_" : emit::identifier(param.name);
}

// Each value of the epilogue as a named constant, in the order it is computed.
class FunctorBody {
  public:
    FunctorBody(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form)
        : writer_(writer), kernel_(kernel), form_(form) {
        for (const ir::Dim& dim : kernel.dims) taken_[dim.name] = 1;
        for (const char* word : {"i", "at", "slab", "F", "acc"}) taken_[word] = 1;
        names_[form.product] = "acc";
    }

    void emit() {
        for (const ir::ExprId id : form_.epilogue) {
            const ir::Expr& expr = kernel_[id];
            if (std::holds_alternative<ir::Literal>(expr.node) ||
                std::holds_alternative<ir::Permute>(expr.node))
                continue;  // written where they are used
            if (id == form_.result) {
                writer_.line(fmt::format("return {};", value(id)));
                return;
            }
            const std::string name = fresh(expr.name);
            writer_.line(
                fmt::format("{} const {} = {};", cpp_type(expr.type.dtype), name, value(id)));
            names_[id] = name;
        }
        writer_.line(fmt::format("return {};", use(form_.result)));
    }

  private:
    std::string fresh(const std::string& wanted) {
        const std::string stem = wanted.empty() ? "t" : emit::identifier(wanted);
        const int count = taken_[stem]++;
        if (count == 0 && !wanted.empty()) return stem;
        return fresh_numbered(stem, count);
    }
    std::string fresh_numbered(const std::string& stem, int from) {
        std::string name = stem + std::to_string(from);
        while (taken_.contains(name)) name = stem + std::to_string(++from);
        taken_[name] = 1;
        return name;
    }

    // The name of a value, or the text of one that needs none.
    std::string use(ir::ExprId id) const {
        if (const auto known = names_.find(id); known != names_.end()) return known->second;
        const ir::Expr& expr = kernel_[id];
        if (const auto* permute = std::get_if<ir::Permute>(&expr.node)) return use(permute->x);
        if (const auto* param = std::get_if<ir::Param>(&expr.node))
            return fmt::format("at.{}.at(i)", member_name(kernel_.params[param->index]));
        if (const auto* literal = std::get_if<ir::Literal>(&expr.node)) {
            if (expr.type.dtype == DType::boolean) return literal->value != 0 ? "true" : "false";
            if (info(expr.type.dtype).floating) return emit::float_literal(literal->value);
            return fmt::format("{}", static_cast<long>(literal->value));
        }
        throw InternalError("epilogue value used before it was computed");
    }
    // The same where a float is wanted: an integer would pick another overload or divide as one.
    std::string as_float(ir::ExprId id) const {
        const std::string text = use(id);
        return info(kernel_[id].type.dtype).floating ? text
                                                     : fmt::format("static_cast<float>({})", text);
    }
    std::string matched(ir::ExprId id, bool floating) const {
        return floating ? as_float(id) : use(id);
    }

    std::string value(ir::ExprId id) const {
        const ir::Expr& expr = kernel_[id];
        return std::visit(overloaded{
                              [&](const ir::Param&) { return use(id); },
                              [&](const ir::Literal&) { return use(id); },
                              [&](const ir::Permute&) { return use(id); },
                              [&](const ir::Product&) { return use(id); },
                              [&](const ir::Index& n) { return coordinate(n.dim); },
                              [&](const ir::Unary& n) { return unary(n); },
                              [&](const ir::Binary& n) { return binary(n); },
                              [&](const ir::Select& n) {
                                  const bool floating = info(expr.type.dtype).floating;
                                  return fmt::format("{} ? {} : {}", use(n.condition),
                                                     matched(n.a, floating),
                                                     matched(n.b, floating));
                              },
                              [&](const ir::Cast& n) { return cast(expr.type.dtype, n.x); },
                          },
                          expr.node);
    }

    std::string coordinate(ir::DimId dim) const {
        if (dim == form_.m) return "slab.row_of(i)";
        if (dim == form_.n) return "slab.column_of(i)";
        return !form_.batch.empty() && dim == form_.batch[0] ? "slab.batch0" : "slab.batch1";
    }

    std::string unary(const ir::Unary& n) const {
        if (n.op == ir::UnaryOp::neg) return fmt::format("-{}", use(n.x));
        if (n.op == ir::UnaryOp::logical_not) return fmt::format("!{}", use(n.x));
        return fmt::format("F::{}({})", ir::info(n.op).name, as_float(n.x));
    }

    std::string binary(const ir::Binary& n) const {
        const bool floating = info(kernel_[n.a].type.dtype).floating ||
                              info(kernel_[n.b].type.dtype).floating || n.op == ir::BinaryOp::div;
        const std::string a = matched(n.a, floating), b = matched(n.b, floating);
        switch (n.op) {
            case ir::BinaryOp::min:
            case ir::BinaryOp::max:
                return floating ? fmt::format("F::{}({}, {})", ir::info(n.op).name, a, b)
                                : fmt::format("::{}({}, {})", ir::info(n.op).name, a, b);
            case ir::BinaryOp::pow:
                return power(n, as_float(n.a), as_float(n.b));
            case ir::BinaryOp::div:
                return quotient(n, a, b);
            case ir::BinaryOp::logical_and:
                return fmt::format("{} && {}", a, b);
            case ir::BinaryOp::logical_or:
                return fmt::format("{} || {}", a, b);
            default:
                return fmt::format("{} {} {}", a, ir::info(n.op).name, b);
        }
    }

    // Small integer powers multiply: exact where powf is slow.
    std::string power(const ir::Binary& n, const std::string& a, const std::string& b) const {
        if (const auto* exponent = std::get_if<ir::Literal>(&kernel_[n.b].node)) {
            if (exponent->value == 2) return fmt::format("{0} * {0}", a);
            if (exponent->value == 3) return fmt::format("{0} * {0} * {0}", a);
            if (exponent->value == 0.5) return fmt::format("F::sqrt({})", a);
        }
        return fmt::format("F::pow({}, {})", a, b);
    }

    // Division by a power of two is a multiplication, to the bit.
    std::string quotient(const ir::Binary& n, const std::string& a, const std::string& b) const {
        if (const auto* divisor = std::get_if<ir::Literal>(&kernel_[n.b].node)) {
            int exponent = 0;
            if (std::frexp(divisor->value, &exponent) == 0.5 && std::abs(exponent) < 100)
                return fmt::format("{} * {}", a, emit::float_literal(1 / divisor->value));
        }
        return fmt::format("F::divide({}, {})", a, b);
    }

    std::string cast(DType to, ir::ExprId x) const {
        const DType from = kernel_[x].type.dtype;
        if (to == DType::boolean) return fmt::format("{} != 0", use(x));
        if (!info(to).floating) return fmt::format("static_cast<int>({})", use(x));
        if (!info(from).floating) return as_float(x);
        if (to == DType::f32 || to == DType::f64) return use(x);
        return fmt::format("rounded<{}>({})", info(to).cuda, use(x));
    }

    emit::CodeWriter& writer_;
    const ir::Kernel& kernel_;
    const ProductForm& form_;
    std::map<ir::ExprId, std::string> names_;
    std::map<std::string, int> taken_;
};

}  // namespace

bool loads_pairs(const ir::Kernel& kernel, const EpilogueForm& extra) {
    const auto& dims = kernel.params[static_cast<std::size_t>(extra.tensor)].type.dims;
    return extra.n >= 0 && extra.n == static_cast<int>(dims.size()) - 1;
}

std::string operand_type(const ir::Kernel& kernel, const EpilogueForm& extra) {
    const char* kind =
        extra.n < 0 ? (extra.m < 0 ? "Scalar" : "Column") : (extra.m < 0 ? "Row" : "Matrix");
    const bool strided = extra.n >= 0 && !loads_pairs(kernel, extra);
    return fmt::format("{}{}<{}>", strided ? "Strided" : "", kind,
                       info(kernel.params[static_cast<std::size_t>(extra.tensor)].type.dtype).cuda);
}

bool has_members(const ProductForm& form) {
    return form.extras.size() > (form.staged >= 0 ? 1u : 0u);
}

void emit_functor(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form) {
    struct Member {
        std::string name, type;
        bool staged;
    };
    std::vector<Member> members;
    for (std::size_t i = 0; i < form.extras.size(); ++i) {
        const ir::Tensor& param = kernel.params[static_cast<std::size_t>(form.extras[i].tensor)];
        const bool staged = static_cast<int>(i) == form.staged;
        members.push_back({member_name(param),
                           staged ? fmt::format("StagedMatrix<{}>", info(param.type.dtype).cuda)
                                  : operand_type(kernel, form.extras[i]),
                           staged});
    }
    auto functor = writer.block("struct Finish", ";");
    if (has_members(form)) {
        for (const Member& m : members)
            if (!m.staged) writer.line(fmt::format("{} {};", m.type, m.name));
        writer.line();
    }
    if (members.empty()) {
        writer.line("struct Fetched {};");
        writer.line("__device__ Fetched fetch(Slab const&) const { return {}; }");
    } else {
        std::vector<std::string> fetches;
        {
            auto fetched = writer.block("struct Fetched", ";");
            for (const Member& m : members) {
                writer.line(fmt::format("{}::Fetched {};", m.type, m.name));
                fetches.push_back(m.staged ? "{}" : fmt::format("{}.fetch(slab)", m.name));
            }
        }
        {
            auto fetch = writer.block("__device__ Fetched fetch(Slab const& slab) const");
            writer.list("return {", fetches, "};");
        }
        for (const Member& m : members) {
            if (!m.staged) continue;
            auto read = writer.block(
                "__device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int "
                "first) const");
            writer.line(fmt::format("{}::read(at.{}, box, lane, first);", m.type, m.name));
        }
    }
    writer.line();
    auto call = writer.block(
        "__device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const");
    writer.line(fmt::format("using F = Functions<{}>;",
                            info(kernel.outputs.front().tensor.type.dtype).cuda));
    FunctorBody(writer, kernel, form).emit();
}

}  // namespace fact::lower::sm90
