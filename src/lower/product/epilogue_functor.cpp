#include "lower/product/epilogue_functor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "lower/pointwise/expression.h"
#include "support/result.h"

namespace fact::lower {

namespace {

// Names that the emitted functor uses itself: its members, locals in its functions, types of its
// members.
constexpr std::array<std::string_view, 22> kReservedNames{
    "Slab",        "Fetched",       "kFlip",      "kPeriod",  "fetch",  "fetch_right",
    "read_staged", "slab",          "left",       "at",       "i",      "F",
    "column",      "across",        "Row",        "Column",   "Matrix", "Scalar",
    "Repeated",    "StridedMatrix", "StridedRow", "Functions"};

// The functor's member for a parameter, renamed if the functor itself uses the name.
std::string member_name(const ir::Kernel& kernel, const ir::Tensor& param) {
    std::string name = emit::identifier(param.name);
    if (std::ranges::find(kReservedNames, name) == kReservedNames.end()) return name;
    do name += "_";
    while (std::ranges::any_of(
        kernel.params, [&](const ir::Tensor& p) { return emit::identifier(p.name) == name; }));
    return name;
}

// Whether both values that a flip swaps are in one slab, so that one fetch has both.
bool flips_in_slab(const ProductForm& form) {
    return form.flip < kSlabColumns;
}

// The member of `Fetched` for a parameter's flipped columns.
std::string flipped_name(const ir::Kernel& kernel, const ir::Tensor& param) {
    std::string name = member_name(kernel, param) + "_flipped";
    while (std::ranges::any_of(kernel.params,
                               [&](const ir::Tensor& p) { return member_name(kernel, p) == name; }))
        name += "_";
    return name;
}

// The text of a Flip: a parameter at the flipped column, or else the flipped sum of the product.
std::string flipped_text(const ir::Kernel& kernel, const ProductForm& form, ir::ExprId id) {
    const auto param = flipped_param(kernel, id);
    if (!param) return "flipped";
    const ir::Tensor& tensor = kernel.params[*param];
    return flips_in_slab(form) ? fmt::format("at.{}.at(fact::flipped<{}>(i))",
                                             member_name(kernel, tensor), form.flip)
                               : fmt::format("at.{}.at(i)", flipped_name(kernel, tensor));
}

// Each value of the epilogue as a named constant, in the order it is computed.
void emit_body(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form) {
    const auto coordinate = [&](ir::DimId dim) -> std::string {
        if (dim == form.m) return "slab.row_of(i)";
        const auto at = std::find(form.batch.begin(), form.batch.end(), dim);
        if (at != form.batch.end()) return fmt::format("slab.batch[{}]", at - form.batch.begin());
        const auto part = column_part(kernel, form.n, dim);
        if (!part) throw InternalError("an index along a dimension that the product does not have");
        // A coordinate that changes only between slabs is that of the slab's first column.
        std::string text = part->inner % kSlabColumns == 0 ? "slab.column" : "slab.column_of(i)";
        if (part->inner > 1) text += fmt::format(" / {}", part->inner);
        if (part->extent > 0) text += fmt::format(" % {}", part->extent);
        return text;
    };
    const auto extent = [](ir::DimId) -> std::string {
        throw InternalError("an extent is no part of an epilogue");
    };
    ExpressionText text(kernel, coordinate, extent);
    for (const ir::Dim& dim : kernel.dims) text.reserve(dim.name);
    for (const char* word : {"i", "at", "slab", "F", "acc", "other", "flipped"}) text.reserve(word);
    if (form.product != kNoProduct) text.set(form.product, "acc");
    if (form.second != kNoProduct) text.set(form.second, "other");
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i)
        if (const auto* param = std::get_if<ir::Param>(&kernel.exprs[i].node))
            text.set(static_cast<ir::ExprId>(i),
                     fmt::format("at.{}.at(i)", member_name(kernel, kernel.params[param->index])));
    for (const ir::ExprId id : form.epilogue) {
        if (const auto* expand = std::get_if<ir::Expand>(&kernel[id].node)) {
            text.set(id, text.use(expand->x));
            continue;
        }
        if (const auto* view = std::get_if<ir::View>(&kernel[id].node)) {
            text.set(id, text.use(view->x));
            continue;
        }
        if (std::holds_alternative<ir::Flip>(kernel[id].node)) {
            text.set(id, flipped_text(kernel, form, id));
            continue;
        }
        if (id == form.result && !std::holds_alternative<ir::Literal>(kernel[id].node) &&
            !std::holds_alternative<ir::Permute>(kernel[id].node)) {
            writer.line(fmt::format("return {};", text.value(id)), kernel.line_of(kernel[id].span));
            return;
        }
        text.declare(writer, id);
    }
    writer.line(fmt::format("return {};", text.use(form.result)),
                kernel.line_of(kernel[form.result].span));
}

// One member of `Fetched`: what a slab needs of an operand.
struct Part {
    // unflipped: fetched at the slab's own columns; flipped: at those they change places with;
    // staged: left empty by `fetch` and filled in by `read_staged`.
    enum class Where { unflipped, flipped, staged };
    std::string name;    // in `Fetched`
    std::string type;    // of the operand; this member of `Fetched` has the type `type`::Fetched
    std::string member;  // the functor's member that it is fetched from
    Where where = Where::unflipped;
    bool varies_along_n = true;

    std::string fetch() const {
        switch (where) {
            case Where::unflipped:
                return member + ".fetch(slab)";
            case Where::flipped:
                return member + ".fetch(across)";
            case Where::staged:
                return "{}";
        }
        throw InternalError("an operand of unknown origin");
    }
};

std::vector<Part> parts_of(const ir::Kernel& kernel, const ProductForm& form) {
    using enum Part::Where;
    std::vector<Part> parts;
    for (std::size_t i = 0; i < form.extras.size(); ++i) {
        const EpilogueForm& extra = form.extras[i];
        const ir::Tensor& param = kernel.params[static_cast<std::size_t>(extra.tensor)];
        Part part{.name = member_name(kernel, param),
                  .type = operand_type(kernel, extra),
                  .member = member_name(kernel, param),
                  .varies_along_n = extra.n >= 0};
        if (static_cast<int>(i) == form.staged) {
            part.where = staged;
            part.type = fmt::format("StagedMatrix<{}>", info(param.type.dtype).cuda);
        }
        const bool needs_flipped_part = extra.flipped && !flips_in_slab(form);
        if (extra.unflipped || !needs_flipped_part) parts.push_back(part);
        if (!needs_flipped_part) continue;
        part.name = flipped_name(kernel, param), part.where = flipped;
        parts.push_back(std::move(part));
    }
    return parts;
}

// After how many columns all operands that vary along N repeat; 0: they do not.
int period_of(const ProductForm& form) {
    int period = 0;
    for (const EpilogueForm& extra : form.extras) {
        if (extra.n < 0) continue;
        if (extra.period == 0) return 0;
        if (extra.flipped && extra.period % (2 * form.flip) != 0)
            throw InternalError("a period that separates flipped columns");
        period = std::lcm(std::max(period, 1), extra.period);
    }
    return period;
}

// Emits `fetch`, or `fetch_right`, which copies parts that do not vary along N from `left`.
void emit_fetch(emit::CodeWriter& writer, const std::vector<Part>& parts, int flip,
                bool from_left) {
    std::vector<std::string> texts;
    bool needs_across = false;  // whether the emitted code uses `across`, the slab of the flip
    for (const Part& part : parts) {
        const bool copied = from_left && !part.varies_along_n;
        texts.push_back(copied ? "left." + part.name : part.fetch());
        needs_across |= !copied && part.where == Part::Where::flipped;
    }
    auto fetch = writer.block(
        from_left ? "__device__ Fetched fetch_right(Slab const& slab, Fetched const& left) const"
                  : "__device__ Fetched fetch(Slab const& slab) const");
    if (needs_across) {
        writer.line(fmt::format(
            "int const column = slab.column + (slab.column / {0} % 2 == 0 ? {0} : -{0});", flip));
        writer.line("Slab const across{slab.row, column, slab.batch, slab.extents};");
    }
    writer.list("return {", texts, "};");
}

// Emits `struct Fetched` and the functions that fill it.
void emit_fetched(emit::CodeWriter& writer, const std::vector<Part>& parts, int flip, bool walked) {
    {
        auto fetched = writer.block("struct Fetched", ";");
        for (const Part& part : parts)
            writer.line(fmt::format("{}::Fetched {};", part.type, part.name));
    }
    emit_fetch(writer, parts, flip, false);
    const auto num_varying = std::ranges::count_if(parts, &Part::varies_along_n);
    // If all parts vary along N, `fetch_right` would be the same as `fetch`.
    if (!walked || num_varying == std::ssize(parts)) return;
    if (num_varying > 0)
        emit_fetch(writer, parts, flip, true);
    else
        writer.line(
            "__device__ Fetched fetch_right(Slab const&, Fetched const& left) const { return left; "
            "}");
}

}  // namespace

std::string operand_type(const ir::Kernel& kernel, const EpilogueForm& extra) {
    const char* kind =
        extra.n < 0 ? (extra.m < 0 ? "Scalar" : "Column") : (extra.m < 0 ? "Row" : "Matrix");
    const bool strided = extra.n >= 0 && !extra.paired;
    const std::string type =
        fmt::format("{}{}<{}{}>", strided ? "Strided" : "", kind,
                    info(kernel.params[static_cast<std::size_t>(extra.tensor)].type.dtype).cuda,
                    batch_argument(extra.batch.size()));
    return extra.period > 0 ? fmt::format("Repeated<{}, {}>", type, extra.period) : type;
}

std::string batch_type(std::string_view name, std::size_t num_batch_dims) {
    return num_batch_dims > 2 ? fmt::format("{}Of<{}>", name, num_batch_dims) : std::string(name);
}

std::string batch_argument(std::size_t num_batch_dims) {
    return num_batch_dims > 2 ? fmt::format(", {}", num_batch_dims) : "";
}

std::string batch_bits(const std::vector<int>& places) {
    std::string bits;
    for (auto place = places.rbegin(); place != places.rend(); ++place)
        bits += *place >= 0 ? '1' : '0';
    return "0b" + bits;
}

bool has_members(const ProductForm& form) {
    return form.extras.size() > (form.staged >= 0 ? 1u : 0u);
}

void emit_functor(emit::CodeWriter& writer, const ir::Kernel& kernel, const ProductForm& form,
                  const FunctorOptions& options) {
    auto functor = writer.block(fmt::format("struct {}", options.name), ";");
    if (form.num_batch_dims() > 2)
        writer.line(fmt::format("using Slab = {};", batch_type("Slab", form.num_batch_dims())));
    const int period = options.walked ? period_of(form) : 0;
    if (form.flip > 0) writer.line(fmt::format("static constexpr int kFlip = {};", form.flip));
    if (period > 0) writer.line(fmt::format("static constexpr int kPeriod = {};", period));
    if (form.flip > 0 || period > 0) writer.line();
    for (std::size_t i = 0; i < form.extras.size(); ++i) {
        if (static_cast<int>(i) == form.staged) continue;
        const ir::Tensor& param = kernel.params[static_cast<std::size_t>(form.extras[i].tensor)];
        writer.line(
            fmt::format("{} {};", operand_type(kernel, form.extras[i]), member_name(kernel, param)),
            kernel.line_of(param.span));
    }
    if (has_members(form)) writer.line();
    if (form.extras.empty()) {
        writer.line("struct Fetched {};");
        writer.line("__device__ Fetched fetch(Slab const&) const { return {}; }");
    } else {
        const auto parts = parts_of(kernel, form);
        emit_fetched(writer, parts, form.flip, options.walked);
        for (const Part& part : parts) {
            if (part.where != Part::Where::staged) continue;
            auto read = writer.block(
                "__device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int "
                "first) const");
            writer.line(fmt::format("{}::read(at.{}, box, lane, first);", part.type, part.name));
        }
    }
    writer.line();
    auto call =
        writer.block(fmt::format("__device__ float operator()(float acc, {}Fetched const& at, Slab "
                                 "const& slab, int i) const",
                                 form.second != kNoProduct ? "float other, "
                                 : form.flip > 0           ? "float flipped, "
                                                           : ""));
    writer.line(fmt::format("using F = Functions<{}>;",
                            info(kernel.outputs.front().tensor.type.dtype).cuda));
    emit_body(writer, kernel, form);
}

}  // namespace fact::lower
