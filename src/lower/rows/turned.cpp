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
constexpr std::int64_t kFewRows = 16;  // with fewer, a warp reads whole sectors without a tile

bool is_plain(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims) {
    return kernel.factors(dims) == dims;
}

class TurnedWriter : RowsText {
  public:
    TurnedWriter(const ir::Kernel& kernel, const TurnedForm& form)
        : RowsText(kernel, form.dims), turned_(form) {}

    std::string write() {
        for (const char* word : {"args", "batch", "row", "column", "value", "F"})
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
        const ir::Output& output = kernel_.outputs.front();
        const auto returns_result = [&](ExpressionText text) {
            declare(text, output.value, false);
            out_.line(fmt::format("return {};", text.use(output.value)));
        };
        out_.line("extern \"C\" __global__ void __launch_bounds__(kTurnedThreads, kTurnedBlocks)");
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        {
            auto value =
                out_.block("auto const value = [&](int batch, int row, int column) -> float", ";");
            coordinates_of_element();
            if (turned_.finishes)
                out_.line(fmt::format("return {};", load({turned_.source}, {})));
            else
                returns_result(text_);
        }
        if (turned_.finishes) {
            ExpressionText text = text_;
            const std::string source = text.fresh(kernel_.params[turned_.source].name);
            for (const ir::ExprId id : form_.order)
                if (const auto* param = std::get_if<ir::Param>(&kernel_[id].node))
                    if (param->index == turned_.source) text.set(id, source);
            auto finish = out_.block(
                fmt::format(
                    "auto const finish = [&](int batch, int row, int column, float {}) -> float",
                    source),
                ";");
            coordinates_of_element();
            returns_result(text);
        }
        {
            auto store = out_.block(
                "auto const store = [&](int batch, int row, int column, float value)", ";");
            coordinates_of_element();
            out_.line(fmt::format("{} = narrow<{}>(value);", element(output.tensor),
                                  info(output.tensor.type.dtype).cuda));
        }
        out_.line(fmt::format("turned<{}>({}, {}, {}, value, {}store);", turned_.tile_rows,
                              count(turned_.batch, false), extent(turned_.row),
                              count(turned_.columns, false), turned_.finishes ? "finish, " : ""));
    }

    void coordinates_of_element() {
        decompose("batch", turned_.batch, false);
        decompose("column", turned_.columns, false);
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    const TurnedForm& turned_;
};

}  // namespace

std::optional<TurnedForm> turned_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts) {
    if (!form.over.empty() || kernel.outputs.size() != 1 || form.has_windows(kernel))
        return std::nullopt;
    const ir::Tensor& output = kernel.outputs.front().tensor;
    const auto& to = output.type.dims;
    if (to.size() < 2 || !is_plain(kernel, to) || !info(output.type.dtype).floating)
        return std::nullopt;
    TurnedForm turned{form, {}, {}, to.back()};
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
    Launch& launch = record.launches.front();
    launch.grid =
        TileGrid{places(dims.size() - 1, 1),   places(form.batch.size(), form.columns.size()),
                 places(0, form.batch.size()), form.tile_rows,
                 kTurnedTile / form.tile_rows, kMaxGridDepth};
    launch.block = kTurnedThreads;
    return record;
}

}  // namespace fact::lower
