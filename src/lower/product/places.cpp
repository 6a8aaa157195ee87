// How a scattered result is stored: emit_places() and places_param() of scattered_output.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/product/scattered_output.h"
#include "lower/record/extent_terms.h"

namespace fact::lower {

namespace {

using ir::DimId;

// Writes `Places` and lists the members that are set at launch.
class PlacesWriter {
  public:
    PlacesWriter(const ir::Kernel& kernel, const ScatteredOutput& output)
        : kernel_(kernel), output_(output), tensor_(kernel.outputs.front().tensor) {
        extents_.assign(kernel.dims.size(), ir::kUnknownExtent);
        if (!ir::solve_extents(kernel, extents_).empty())
            extents_.assign(kernel.dims.size(), ir::kUnknownExtent);
        for (std::size_t i = 0; i < output.dims.size(); ++i)
            for (const ScatteredFactor& factor : output.dims[i].factors)
                for (const auto* dims : {&factor.inner, &factor.own, &factor.times})
                    if (dims != &factor.own || !factor.outermost)
                        for (const DimId dim : *dims) use_extent(dim);
        for (std::size_t i = 0; i < output.dims.size(); ++i)
            if (output.dims[i].cut) use_extent(tensor_.type.dims[i]);
        for (std::size_t i = 1; i < output.run.size(); ++i) {
            use_extent(output.run[i].pixels);
            use_extent(output.run[i].places);
        }
    }

    // Dimensions whose extents are members, in their order.
    const std::vector<DimId>& members() const { return members_; }

    void write(emit::CodeWriter& out) const {
        auto places = out.block("struct Places", ";");
        constants(out);
        out.line(fmt::format("{}* data;", info(tensor_.type.dtype).cuda));
        std::vector<std::string> strides, extents;
        for (std::size_t i = 0; i + 1 < output_.dims.size(); ++i) strides.push_back(stride(i));
        for (const DimId dim : members_) extents.push_back(extent_name(dim));
        if (!strides.empty()) out.line(fmt::format("int64_t {};", fmt::join(strides, ", ")));
        if (!extents.empty()) out.line(fmt::format("int {};", fmt::join(extents, ", ")));
        out.line();
        part_struct(out);
        {
            auto row = out.block("__device__ Part row(int row, int const* batch) const");
            edges(out);
            part(out, Source::row);
        }
        {
            auto column = out.block("__device__ Part column(int column) const");
            part(out, Source::column);
        }
        holds(out);
    }

  private:
    const std::string& name(std::size_t dim) const { return kernel_[tensor_.type.dims[dim]].name; }
    std::string coordinate_name(std::size_t dim) const { return fmt::format("at_{}", dim); }
    std::string stride(std::size_t dim) const { return fmt::format("stride_{}", dim); }
    std::string extent_name(DimId dim) const {
        const auto at = std::ranges::find(members_, dim) - members_.begin();
        return fmt::format("extent_{}", at);
    }

    void use_extent(DimId dim) {
        if (extents_[ir::index(dim)] == ir::kUnknownExtent && !ir::contains(members_, dim))
            members_.push_back(dim);
    }

    // The product of the extents; "" if it is one.
    std::string product(const std::vector<DimId>& dims) const {
        std::int64_t constant = 1;
        std::vector<std::string> factors;
        for (const DimId dim : dims) {
            if (const std::int64_t extent = extents_[ir::index(dim)]; extent != ir::kUnknownExtent)
                constant *= extent;
            else
                factors.push_back(extent_name(dim));
        }
        if (constant != 1) factors.push_back(std::to_string(constant));
        const std::string text = fmt::format("{}", fmt::join(factors, " * "));
        return factors.size() > 1 ? "(" + text + ")" : text;
    }

    std::string number(DimId dim) const {
        const std::string extent = product({dim});
        return extent.empty() ? "1" : extent;
    }

    std::string text_of(const ScatteredFactor& factor) const {
        std::string text = factor.source == Source::row ? "row"
                           : factor.source == Source::column
                               ? "column"
                               : fmt::format("batch[{}]", factor.batch);
        if (const std::string inner = product(factor.inner); !inner.empty()) text += " / " + inner;
        if (!factor.outermost) text += " % " + product(factor.own);
        if (const std::string times = product(factor.times); !times.empty()) text += " * " + times;
        return text;
    }

    // Those that are compared with an extent.
    std::vector<std::string> coordinates() const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < output_.dims.size(); ++i)
            if (output_.dims[i].cut) names.push_back(coordinate_name(i));
        return names;
    }

    void constants(emit::CodeWriter& out) const {
        out.line(fmt::format("static constexpr int kRowsTogether = {}, kStoredTogether = {};",
                             output_.rows_together, output_.stored_together));
        out.line(fmt::format("static constexpr bool kRowsAdd = {}, kColumnsAdd = {};", rows_add(),
                             columns_add()));
    }

    // Whether row(a + b) is row(a) + row(b) if `a` is the first row of a box and `b` is in it: the
    // rows that a factor's coordinate is the same for repeat within the box.
    bool rows_add() const {
        if (output_.run.size() > 1) return false;
        for (const ScatteredDim& dim : output_.dims)
            for (const ScatteredFactor& factor : dim.factors) {
                if (factor.source != Source::row) continue;
                std::int64_t period = 1;
                for (const auto* dims : {&factor.inner, &factor.own})
                    if (dims != &factor.own || !factor.outermost)
                        for (const DimId part : *dims) {
                            const std::int64_t extent = extents_[ir::index(part)];
                            if (extent == ir::kUnknownExtent) return false;
                            period *= extent;
                        }
                if (kBoxRows % period != 0) return false;
            }
        return true;
    }

    // Whether column(a + b) is column(a) + column(b).
    bool columns_add() const {
        return std::ranges::all_of(output_.dims, [](const ScatteredDim& dim) {
            return dim.before == 0 &&
                   std::ranges::all_of(dim.factors, [](const ScatteredFactor& factor) {
                       return factor.source != Source::column ||
                              (factor.outermost && factor.inner.empty());
                   });
        });
    }

    void part_struct(emit::CodeWriter& out) const {
        out.line("// What rows and columns each add to the place of an element.");
        auto block = out.block("struct Part", ";");
        out.line("int64_t offset;");
        const auto names = coordinates();
        if (!names.empty()) out.line(fmt::format("int {};", fmt::join(names, ", ")));
        std::vector<std::string> sums{"offset + more.offset"};
        for (const std::string& name : names) sums.push_back(fmt::format("{0} + more.{0}", name));
        auto add = out.block("__device__ Part operator+(Part const& more) const");
        out.line(fmt::format("return {{{}}};", fmt::join(sums, ", ")));
    }

    // Rows that are no places have an offset below 0. The outermost dimension has only places.
    void edges(emit::CodeWriter& out) const {
        std::vector<DimId> inner;
        if (output_.run.size() > 1)
            out.line("// Windows across an edge of the image are no places.");
        for (std::size_t i = output_.run.size(); i-- > 1;) {
            const auto& [places, pixels] = output_.run[i];
            std::string at = "row";
            if (const std::string run = product(inner); !run.empty()) at += " / " + run;
            out.line(fmt::format("if ({} % {} >= {}) return {{-1}};", at, number(pixels),
                                 number(places)));
            inner.insert(inner.begin(), pixels);
        }
    }

    // What a source adds; batches count as rows, and what is cut off before as columns.
    void part(emit::CodeWriter& out, Source source) const {
        std::vector<std::string> parts{""};  // the offset, then coordinates
        std::vector<std::string> offsets;
        for (std::size_t i = 0; i < output_.dims.size(); ++i) {
            const ScatteredDim& dim = output_.dims[i];
            std::vector<std::string> terms;
            for (const ScatteredFactor& factor : dim.factors)
                if ((factor.source == Source::column) == (source == Source::column) &&
                    !product(factor.own).empty())
                    terms.push_back(text_of(factor));
            const bool less = source == Source::column && dim.before != 0;
            if (terms.empty() && less) terms.push_back("0");
            std::string text = fmt::format("{}", fmt::join(terms, " + "));
            if (less) text += fmt::format(" - {}", dim.before);
            if (dim.cut && !text.empty()) {
                out.line(
                    fmt::format("int const {} = {};  // {}", coordinate_name(i), text, name(i)));
                text = coordinate_name(i);
            } else if (terms.size() > 1) {
                text = "(" + text + ")";
            }
            if (dim.cut) parts.push_back(text.empty() ? "0" : text);
            const bool last = i + 1 == output_.dims.size();
            if (!text.empty())
                offsets.push_back(last ? text : fmt::format("{} * {}", text, stride(i)));
        }
        parts.front() = offsets.empty() ? "0" : fmt::format("{}", fmt::join(offsets, " + "));
        out.line(fmt::format("return {{{}}};", fmt::join(parts, ", ")));
    }

    void holds(emit::CodeWriter& out) const {
        std::vector<std::string> conditions;
        for (std::size_t i = 0; i < output_.dims.size(); ++i)
            if (output_.dims[i].cut)
                conditions.push_back(fmt::format("within(at.{}, {})", coordinate_name(i),
                                                 number(tensor_.type.dims[i])));
        const bool any = !conditions.empty();
        out.line("// Whether the output holds the element: it is not cut off.");
        auto block =
            out.block(fmt::format("__device__ bool holds(Part const&{}) const", any ? " at" : ""));
        out.line(fmt::format("return {};", any ? fmt::format("{}", fmt::join(conditions, " && "))
                                               : std::string("true")));
    }

    const ir::Kernel& kernel_;
    const ScatteredOutput& output_;
    const ir::Tensor& tensor_;
    std::vector<std::int64_t> extents_;  // of dimensions that are constant
    std::vector<DimId> members_;
};

}  // namespace

void emit_places(emit::CodeWriter& writer, const ir::Kernel& kernel,
                 const ScatteredOutput& output) {
    PlacesWriter(kernel, output).write(writer);
}

StructParam places_param(const ir::Kernel& kernel, const ScatteredOutput& output) {
    const int tensor = static_cast<int>(kernel.params.size());
    StructBuilder places;
    places.add(PointerField{tensor});
    for (std::size_t i = 0; i + 1 < output.dims.size(); ++i)
        places.add(StrideField{tensor, static_cast<int>(i)});
    const PlacesWriter writer(kernel, output);
    for (const DimId dim : writer.members()) places.add(extent_of(kernel, {dim}));
    return places.finish();
}

}  // namespace fact::lower
