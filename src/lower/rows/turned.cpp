#include "lower/rows/turned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/extents.h"
#include "lower/record/extent_terms.h"
#include "lower/rows/record.h"
#include "lower/rows/rows_text.h"

namespace fact::lower {

namespace {

constexpr int kTurnedThreads = 256, kTurnedTile = 4096;  // as in turned.cuh
constexpr int kMostTogether = 8;
constexpr std::int64_t kFewRows = 16;  // with fewer, a warp reads whole sectors without a tile

bool is_plain(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims) {
    return kernel.factors(dims) == dims;
}

class TurnedWriter : RowsText {
  public:
    TurnedWriter(const ir::Kernel& kernel, const TurnedForm& form)
        : RowsText(kernel, form.dims), turned_(form) {}

    std::string write() {
        for (const char* word :
             {"args", "batch", "row", "column", "source", "value", "finish", "place", "i", "F"})
            text_.reserve(word);
        for (const ir::DimId dim : form_.rows) name_coordinate(text_, dim);
        coordinates_[turned_.row] = "row";
        preamble("turned");
        arguments();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void entry() {
        out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__(kTurnedThreads, {})",
                              turned_.finishes ? "kFinishingBlocks" : "kTurnedBlocks"));
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        address("source", kernel_.params[turned_.source]);
        const auto* permute =
            std::get_if<ir::Permute>(&kernel_[kernel_.outputs.front().value].node);
        const bool only_turns =
            permute && std::holds_alternative<ir::Param>(kernel_[permute->x].node);
        const bool changes = !only_turns || kernel_.params.size() > 1;
        if (turned_.finishes)
            finish();
        else if (changes)
            value();
        address("place", kernel_.outputs.front().tensor);
        out_.line(fmt::format(
            "turned<TurnedTile<{}, {}, {}>>({}, {}, {}, source, {}, {}, place);", turned_.tile_rows,
            turned_.read, turned_.write, count(turned_.batch, false), extent(turned_.row),
            count(turned_.columns, false), !turned_.finishes && changes ? "value" : "AsRead{}",
            turned_.finishes ? "finish" : "as_turned"));
    }

    // Where an element of the tensor is.
    void address(std::string_view name, const ir::Tensor& tensor) {
        auto body = out_.block(
            fmt::format("auto const {} = [&](int batch, int row, int column) -> auto&", name), ";");
        coordinates_of(tensor.type.dims);
        out_.line(fmt::format("return {};", element(tensor)));
    }

    // What becomes of an element before it is turned.
    void value() {
        ExpressionText text = text_;
        const std::string source = read_source(text);
        auto body = out_.block(
            fmt::format("auto const value = [&](int batch, int row, int column, auto {}) -> float",
                        source),
            ";");
        coordinates_of(read_dims());
        result(text);
    }

    // What becomes of neighbours along the row after they were turned.
    void finish() {
        ExpressionText text = text_;
        const std::string source = read_source(text);
        auto body = out_.block("auto const finish = [&](int batch, int row, int column)", ";");
        coordinates_of(read_dims());
        bool any_alone = false;
        for (const ir::ExprId id : form_.order) {
            const auto* param = std::get_if<ir::Param>(&kernel_[id].node);
            if (!param || param->index == turned_.source) continue;
            const ir::Tensor& tensor = kernel_.params[param->index];
            if (!turned_.along_row.contains(param->index)) {
                any_alone = true;
                continue;
            }
            const std::string name = text.fresh(tensor.name);
            out_.line(fmt::format("auto const {} = neighbours<{}>({});", name, turned_.write,
                                  element(tensor)));
            text.set(id, fmt::format("{}[i]", name));
        }
        const std::string first = coordinates_.at(turned_.row);
        coordinates_[turned_.row] = "(row + i)";
        {
            auto each = out_.block(fmt::format("return [={}](int i, float {}) -> float",
                                               any_alone ? ", &args" : "", source),
                                   ";");
            result(text);
        }
        coordinates_[turned_.row] = first;
    }

    // Gives the source's element a name in `text`.
    std::string read_source(ExpressionText& text) const {
        const std::string source = text.fresh(kernel_.params[turned_.source].name);
        for (const ir::ExprId id : form_.order)
            if (const auto* param = std::get_if<ir::Param>(&kernel_[id].node))
                if (param->index == turned_.source) text.set(id, source);
        return source;
    }

    void result(ExpressionText& text) {
        const ir::ExprId value = kernel_.outputs.front().value;
        declare(text, value, false);
        out_.line(fmt::format("return {};", text.use(value)));
    }

    // The dimensions whose coordinates the values besides the source's element need.
    Dims read_dims() const {
        Dims dims;
        const auto add = [&](const Dims& more) {
            dims.insert(dims.end(), more.begin(), more.end());
        };
        for (const ir::ExprId id : form_.order) {
            const ir::Node& node = kernel_[id].node;
            if (const auto* index = std::get_if<ir::Index>(&node)) add({index->dim});
            if (std::holds_alternative<ir::Flip>(node)) add(kernel_[id].type.dims);
            if (const auto* param = std::get_if<ir::Param>(&node))
                if (param->index != turned_.source) add(kernel_[id].type.dims);
        }
        return kernel_.factors(dims);
    }

    void coordinates_of(const Dims& dims) {
        const Dims needed = kernel_.factors(dims);
        decompose("batch", turned_.batch, false, &needed);
        decompose("column", turned_.columns, false, &needed);
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    const TurnedForm& turned_;
};

// How many bytes of `count` neighbours in memory are read or written at a time.
int access_bytes(const ir::Tensor& tensor, int count) {
    return std::min(16, count * info(tensor.type.dtype).bytes);
}

// How many neighbours along the last dimension, of this extent, go together: at most a vector.
int neighbours(const ir::Tensor& tensor, std::int64_t extent, int alignment) {
    if (extent == ir::kUnknownExtent) return 1;
    int count = std::max(1, 16 / info(tensor.type.dtype).bytes);
    while (count > 1 && (extent % count != 0 || alignment % access_bytes(tensor, count) != 0))
        count /= 2;
    return std::min(count, kMostTogether);
}

// Chooses what is read and written together.
void choose_neighbours(const ir::Kernel& kernel, const RowsFacts& facts, TurnedForm& form) {
    const auto alignment = [&](std::size_t tensor) {
        return tensor < facts.alignment.size() ? facts.alignment[tensor] : 16;
    };
    form.read = neighbours(kernel.params[form.source], facts.known(kernel, form.columns.back()),
                           alignment(form.source));
    form.write = neighbours(kernel.outputs.front().tensor, facts.known(kernel, form.row),
                            alignment(kernel.params.size()));
    if (form.write == 1 || !form.finishes) return;
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
        const auto& dims = kernel.params[i].type.dims;
        if (i == form.source || dims.empty() || dims.back() != form.row || !ir::is_read(kernel, i))
            continue;
        if (alignment(i) % access_bytes(kernel.params[i], form.write) == 0)
            form.along_row.insert(static_cast<std::uint32_t>(i));
    }
}

}  // namespace

std::optional<TurnedForm> turned_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts) {
    if (!form.over.empty() || kernel.outputs.size() != 1 || form.has_windows(kernel))
        return std::nullopt;
    const ir::Tensor& output = kernel.outputs.front().tensor;
    const auto& to = output.type.dims;
    if (to.size() < 2 || !is_plain(kernel, to) || !info(output.type.dtype).floating)
        return std::nullopt;
    TurnedForm turned;
    turned.dims = form;
    turned.row = to.back();
    bool any = false;
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
        const auto& from = kernel.params[i].type.dims;
        if (from.size() > 1 && from.back() == to.back()) turned.finishes = true;
        if (from.size() != to.size() || from.back() == to.back()) continue;
        if (any || !is_plain(kernel, from)) return std::nullopt;
        any = true;
        turned.source = static_cast<std::uint32_t>(i);
    }
    if (!any) return std::nullopt;
    const ir::Tensor& source = kernel.params[turned.source];
    turned.finishes = turned.finishes && info(source.type.dtype).floating &&
                      std::ranges::none_of(form.order, [&](ir::ExprId id) {
                          return flipped_leaf(kernel, id).has_value();
                      });
    const auto& from = source.type.dims;
    const auto row = std::ranges::find(from, turned.row);
    turned.batch.assign(from.begin(), row);
    turned.columns.assign(row == from.end() ? row : row + 1, from.end());
    std::vector<ir::DimId> order = turned.batch;
    order.insert(order.end(), turned.columns.begin(), turned.columns.end());
    order.push_back(turned.row);
    if (order != to) return std::nullopt;
    const std::int64_t rows = facts.known(kernel, turned.row);
    // A grid has only so many tiles along rows, and a kernel counts the others in 32 bits.
    const auto too_many = [&](const std::vector<ir::DimId>& dims) {
        double count = 1;
        for (const ir::DimId dim : dims) count *= static_cast<double>(facts.known(kernel, dim));
        return std::abs(count) > static_cast<double>(kMaxCount);
    };
    if (rows > std::int64_t{kMaxGridDepth} * turned.tile_rows || too_many(turned.batch) ||
        too_many(turned.columns))
        return std::nullopt;
    if (rows != ir::kUnknownExtent && rows < kFewRows) return std::nullopt;
    choose_neighbours(kernel, facts, turned);
    if (rows == ir::kUnknownExtent) return turned;
    while (turned.tile_rows / 2 >= rows) turned.tile_rows /= 2;
    // Lanes beyond the last row are idle, unless smaller tiles end with it.
    for (int half = turned.tile_rows / 2; half >= kFewRows; half /= 2)
        if (rows % turned.tile_rows != 0 && rows % half == 0 && rows <= kMaxGridDepth * half)
            turned.tile_rows = half;
    return turned;
}

std::string turned_source(const ir::Kernel& kernel, const TurnedForm& form) {
    return TurnedWriter(kernel, form).write();
}

LaunchRecord turned_record(const ir::Kernel& kernel, const TurnedForm& form,
                           std::string_view arch) {
    LaunchRecord record = element_record(kernel, form.dims, arch, "tiles through shared memory");
    const int output = static_cast<int>(kernel.params.size());
    const auto& dims = kernel.outputs.front().tensor.type.dims;
    const auto places = [&](std::size_t first, std::size_t count) {
        std::vector<DimOf> all;
        for (std::size_t i = first; i < first + count; ++i)
            all.push_back({output, static_cast<int>(i)});
        return all;
    };
    record.counts.push_back(extent_of(kernel, form.batch));
    record.counts.push_back(extent_of(kernel, form.columns));
    const auto align = [&](int tensor, const ir::Tensor& of, int count) {
        if (count > 1) record.alignments.push_back({tensor, access_bytes(of, count), 1});
    };
    for (const std::uint32_t i : form.along_row)
        align(static_cast<int>(i), kernel.params[i], form.write);
    align(static_cast<int>(form.source), kernel.params[form.source], form.read);
    align(output, kernel.outputs.front().tensor, form.write);
    Launch& launch = record.launches.front();
    launch.grid =
        TileGrid{places(dims.size() - 1, 1),   places(form.batch.size(), form.columns.size()),
                 places(0, form.batch.size()), form.tile_rows,
                 kTurnedTile / form.tile_rows, kMaxGridDepth};
    launch.block = kTurnedThreads;
    return record;
}

}  // namespace fact::lower
