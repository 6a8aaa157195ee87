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
        out.line(fmt::format("static constexpr int kRowsTogether = {};", output_.rows_together));
        out.line(fmt::format("{}* data;", info(tensor_.type.dtype).cuda));
        std::vector<std::string> strides, extents;
        for (std::size_t i = 0; i + 1 < output_.dims.size(); ++i) strides.push_back(stride(i));
        for (const DimId dim : members_) extents.push_back(extent_name(dim));
        if (!strides.empty()) out.line(fmt::format("int64_t {};", fmt::join(strides, ", ")));
        if (!extents.empty()) out.line(fmt::format("int {};", fmt::join(extents, ", ")));
        out.line();
        const std::string sums = coordinates();
        out.line("// What rows and columns each add to the place of an element.");
        out.line(sums.empty() ? "struct Part { int64_t offset; };"
                              : fmt::format("struct Part {{ int64_t offset; int {}; }};", sums));
        {
            auto row = out.block("__device__ Part row(int row, int const* batch) const");
            edges(out);
            out.line(part(Source::row));
        }
        {
            auto column = out.block("__device__ Part column(int column) const");
            out.line(part(Source::column));
        }
        at(out);
    }

  private:
    // Coordinates that rows and columns both add to, or that are compared with an extent.
    bool is_sum(const ScatteredDim& dim) const {
        return dim.cut ||
               (dim.has(Source::column) && (dim.has(Source::row) || dim.has(Source::batch)));
    }
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

    std::string coordinates() const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < output_.dims.size(); ++i)
            if (is_sum(output_.dims[i])) names.push_back(coordinate_name(i));
        return fmt::format("{}", fmt::join(names, ", "));
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
    std::string part(Source source) const {
        std::vector<std::string> offsets, sums;
        for (std::size_t i = 0; i < output_.dims.size(); ++i) {
            const ScatteredDim& dim = output_.dims[i];
            std::vector<std::string> terms;
            for (const ScatteredFactor& factor : dim.factors)
                if ((factor.source == Source::column) == (source == Source::column) &&
                    !product(factor.own).empty())
                    terms.push_back(text_of(factor));
            const bool less = is_sum(dim) && source == Source::column && dim.before != 0;
            if (terms.empty() && less) terms.push_back("0");
            std::string text = fmt::format("{}", fmt::join(terms, " + "));
            if (less) text += fmt::format(" - {}", dim.before);
            if (is_sum(dim)) {
                sums.push_back(text.empty() ? "0" : text);
            } else if (!text.empty()) {
                if (terms.size() > 1) text = "(" + text + ")";
                const bool last = i + 1 == output_.dims.size();
                offsets.push_back(last ? text : fmt::format("{} * {}", text, stride(i)));
            }
        }
        if (offsets.empty()) offsets.push_back("0");
        sums.insert(sums.begin(), fmt::format("{}", fmt::join(offsets, " + ")));
        return fmt::format("return {{{}}};", fmt::join(sums, ", "));
    }

    void at(emit::CodeWriter& out) const {
        out.line("// nullptr if the element is cut off.");
        auto block = out.block(fmt::format("__device__ {}* at(Part const& r, Part const& c) const",
                                           info(tensor_.type.dtype).cuda));
        if (output_.run.size() > 1) out.line("if (r.offset < 0) return nullptr;");
        std::string offset = "r.offset + c.offset";
        for (std::size_t i = 0; i < output_.dims.size(); ++i) {
            const ScatteredDim& dim = output_.dims[i];
            if (!is_sum(dim)) continue;
            const std::string at = coordinate_name(i);
            out.line(fmt::format("int const {0} = r.{0} + c.{0};  // {1}", at, name(i)));
            if (dim.cut) {
                const std::string most = number(tensor_.type.dims[i]);
                out.line(fmt::format("if ({}{} >= {}) return nullptr;",
                                     dim.before > 0 ? at + " < 0 || " : "", at, most));
            }
            offset += i + 1 == output_.dims.size() ? " + " + at
                                                   : fmt::format(" + {} * {}", at, stride(i));
        }
        out.line(fmt::format("return data + {};", offset));
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
