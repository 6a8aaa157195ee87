// Emits row kernels that hold a row in registers (vector_rows_source() of source.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dims.h"
#include "ir/needed.h"
#include "lower/rows/register_values.h"
#include "lower/rows/rows_text.h"
#include "lower/rows/source.h"

namespace fact::lower {

namespace {

class VectorWriter : RowsText {
  public:
    VectorWriter(const ir::Kernel& kernel, const VectorForm& form)
        : RowsText(kernel, form.dims), vectors_(form) {}

    std::string write() {
        for (const char* word : {"args", "row", "team", "in", "i", "F", "Row", "Inputs"})
            text_.reserve(word);
        for (const ir::DimId dim : form_.rows) name_coordinate(text_, dim);
        preamble(vectors_.across ? "held_columns" : "vector_rows");
        arguments(form_.rows.size() > 1 ? std::vector<std::string>{"rows"}
                                        : std::vector<std::string>{});
        out_.line();
        shape();
        out_.line();
        inputs();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void shape() {
        if (vectors_.across) {
            out_.line(fmt::format("// {} elements of 32 rows by {} warps of {} thread block{}.",
                                  vectors_.length, vectors_.threads_per_row / 32,
                                  vectors_.blocks_per_row, vectors_.blocks_per_row > 1 ? "s" : ""));
            out_.line(fmt::format("using Row = HeldColumns<{}, {}, {}>;", vectors_.length,
                                  vectors_.threads_per_row / 32, vectors_.blocks_per_row));
            return;
        }
        std::string threads = vectors_.threads_per_row == 1
                                  ? "a thread"
                                  : fmt::format("each of {} threads", vectors_.threads_per_row);
        if (vectors_.blocks_per_row > 1)
            threads += fmt::format(" of {} thread blocks", vectors_.blocks_per_row);
        out_.line(fmt::format("// {} elements, {} at a time by {}{}.", vectors_.length,
                              vectors_.vector, threads,
                              vectors_.prefetch ? ", the next row on its way meanwhile" : ""));
        out_.line(fmt::format(
            "using Row = VectorRow<{}, {}, {}, {}{}>;", vectors_.length, vectors_.vector,
            vectors_.threads_per_row, vectors_.prefetch,
            vectors_.blocks_per_row > 1 ? fmt::format(", {}", vectors_.blocks_per_row) : ""));
    }

    // Whether the tensor is accessed by vectors along the row.
    bool along(std::size_t tensor) const { return vectors_.access[tensor] > 0; }
    // Whether the parameter varies along the row and from row to row.
    bool streamed(std::size_t param) const {
        return along(param) &&
               kernel_.factors(kernel_.params[param].type.dims).size() > form_.over.size();
    }
    // Whether several rows read the same elements of it.
    bool shared_by_rows(std::size_t param) const {
        const auto dims = kernel_.factors(kernel_.params[param].type.dims);
        return !ir::contains(dims, form_.rows);
    }
    // Where the tensor's row starts: its address, with the distance of its pieces if it has some.
    std::string start(const ir::Tensor& tensor, const Flips& flips = {}) {
        for (const ir::DimId dim : form_.over) coordinates_[dim] = "0";
        const std::string address = "&" + element(tensor, flips);
        if (vectors_.across)
            return fmt::format("spaced_row({}, args.{}.strides[{}])", address,
                               emit::identifier(tensor.name), dim_along(tensor));
        if (!is_in_pieces(kernel_, vectors_, tensor)) return address;
        return fmt::format("pieces<{}>({}, args.{}.strides[{}])", vectors_.piece, address,
                           emit::identifier(tensor.name),
                           ir::position(tensor.type.dims, form_.over.front()));
    }

    // The tensor's dimension whose stride leads from each element of a row to the next: the
    // innermost along the row, of more than one element.
    std::size_t dim_along(const ir::Tensor& tensor) const {
        const auto& dims = tensor.type.dims;
        const auto is_along = [&](ir::DimId dim) {
            const auto own = kernel_.factors({dim});
            return std::ranges::any_of(own, [&](ir::DimId part) {
                return ir::contains(form_.over, part) && kernel_[part].extent != 1;
            });
        };
        std::size_t at = dims.size() - 1;
        while (!is_along(dims[at])) --at;
        return at;
    }

    void inputs() {
        for (const auto& [param, all_flips] : flips_per_param(kernel_))
            for (const Flips& flips : all_flips)
                if (streamed(param)) name_share(param, without_row(flips));
        auto block = out_.block("struct Inputs", ";");
        for (const auto& [key, name] : shares_)
            out_.line(fmt::format("Row::Share<{}> {};",
                                  info(kernel_.params[key.first].type.dtype).cuda, name));
        out_.line();
        auto load = out_.block(
            fmt::format("__device__ void load(Arguments const& args, int {})", row_number()));
        row_coordinates();
        for (const auto& [key, name] : shares_) {
            const auto& [param, flips] = key;
            out_.line(fmt::format("{}.load<{}>({}{});", name, vectors_.access[param],
                                  start(kernel_.params[param], flips),
                                  shared_by_rows(param) ? ", " + row_number() : ""));
        }
    }

    // The flips that select another row; flips along the row only select other elements of it.
    Flips without_row(Flips flips) const {
        for (const ir::DimId dim : form_.over) flips.erase(dim);
        return flips;
    }

    void name_share(std::size_t param, const Flips& flips) {
        std::string name = emit::identifier(kernel_.params[param].name);
        for (const ir::DimId dim : flips) name += "_flipped_" + kernel_[dim].name;
        const auto taken = [&](const auto& share) { return share.second == name; };
        while (std::any_of(shares_.begin(), shares_.end(), taken)) name += '_';
        shares_.emplace(std::pair(param, flips), name);
    }

    std::string row_number() const {
        return form_.rows.size() == 1 ? coordinates_.at(form_.rows.front()) : "row";
    }
    void row_coordinates() {
        if (form_.rows.size() > 1) decompose("row", form_.rows, false);
    }

    void entry() {
        out_.line("extern \"C\" __global__ void __launch_bounds__(Row::kBlock)");
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        const bool reduces = std::any_of(
            form_.order.begin(), form_.order.end(),
            [&](ir::ExprId id) { return std::holds_alternative<ir::Reduce>(kernel_[id].node); });
        if (reduces) out_.line("Row team;");
        auto loop = out_.block(
            fmt::format("Row::each<Inputs>(args, {}, [&](int {}, Inputs const& in)",
                        form_.rows.size() == 1 ? extent(form_.rows.front()) : "args.rows",
                        row_number()),
            ");");
        row_coordinates();
        for (std::size_t i = 0; i < kernel_.params.size(); ++i)
            if (along(i) && !streamed(i))
                out_.line(
                    fmt::format("Row::Repeated<{}, {}> const {}{{{}, {}}};",
                                info(kernel_.params[i].type.dtype).cuda, vectors_.access[i],
                                repeated_.emplace(i, text_.fresh(kernel_.params[i].name + "_row"))
                                    .first->second,
                                start(kernel_.params[i]), row_number()));
        in_registers_ = values_in_registers(kernel_, form_);
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node)) {
                store();
                reduction(id, *reduce);
            }
        store();
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        const std::string i = place_of(flips);
        if (streamed(param.index))
            return fmt::format("in.{}[{}]", shares_.at({param.index, without_row(flips)}), i);
        if (along(param.index)) return fmt::format("{}[{}]", repeated_.at(param.index), i);
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    // The index of the thread's element that a flipped read at `i` gets.
    std::string place_of(const Flips& flips) const {
        std::string at = "i";
        for (const ir::DimId dim : form_.over) {
            if (!flips.contains(dim)) continue;
            const auto [step, length] = flip_span(kernel_, form_.over, dim);
            // The coordinate along `dim`, which becomes its mirror image.
            const std::string own = step == 1 ? fmt::format("i % {}", length)
                                              : fmt::format("i / {} % {}", step, length / step);
            at += step == 1 ? fmt::format(" + {} - 2 * ({})", length - 1, own)
                            : fmt::format(" + {} * ({} - 2 * ({}))", step, length / step - 1, own);
        }
        return at;
    }

    // Sets the texts of the coordinates along the row to those of the thread's element `i`.
    void set_row_coordinates() {
        std::int64_t inner = 1;
        for (std::size_t i = form_.over.size(); i-- > 0;) {
            std::string at = "Row::place(i)";
            if (inner > 1) at += fmt::format(" / {}", inner);
            if (i > 0) at += fmt::format(" % {}", *kernel_[form_.over[i]].extent);
            coordinates_[form_.over[i]] = at;
            inner *= kernel_[form_.over[i]].extent.value_or(1);
        }
    }

    // Declares everything that must be computed before a function over the row computes `root`.
    void prepare(ir::ExprId root) {
        set_row_coordinates();
        const auto needed =
            ir::needed_for(kernel_, {root}, [&](ir::ExprId id) { return !varies(id); });
        for (const ir::ExprId id : form_.order)
            if (in_registers_.contains(id) && !text_.has(id) && needed[ir::index(id)])
                hold_in_registers(id);
        declare(text_, root, false);
    }

    void hold_in_registers(ir::ExprId id) {
        declare(text_, id, false);
        const std::string name = text_.fresh(kernel_[id].name);
        {
            auto body = out_.block(fmt::format("auto const {} = Row::values([&](int i)", name),
                                   ");", kernel_.line_of(kernel_[id].span));
            ExpressionText inside = text_;
            declare(inside, id, true);
            out_.line(fmt::format("return {};", inside.use(id)));
        }
        text_.set(id, name + "[i]");
    }

    void reduction(ir::ExprId id, const ir::Reduce& reduce) {
        prepare(reduce.x);
        const std::string name = text_.fresh(kernel_[id].name);
        {
            auto body = out_.block(fmt::format("auto const {} = team.reduce<{}>([&](int i)", name,
                                               ir::info(reduce.op).kernels_name),
                                   ");", kernel_.line_of(kernel_[id].span));
            ExpressionText inside = text_;
            declare(inside, reduce.x, true);
            return_reduced(inside, id, reduce.x);
        }
        text_.set(id, name);
    }

    // Writes the outputs that need no further reduction, as early as possible.
    void store() {
        for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
            if (!ready(kernel_.outputs[i].value) || !stored_.insert(i).second) continue;
            if (in_row(kernel_.outputs[i]))
                store_row(i);
            else
                store_once(kernel_.outputs[i]);
        }
    }

    // Whether all reductions that the value needs are computed.
    bool ready(ir::ExprId id) const {
        const auto needed =
            ir::needed_for(kernel_, {id}, [&](ir::ExprId x) { return text_.has(x); });
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (needed[i] && std::holds_alternative<ir::Reduce>(kernel_.exprs[i].node) &&
                !text_.has(static_cast<ir::ExprId>(i)))
                return false;
        return true;
    }

    void store_once(const ir::Output& output) {
        declare(text_, output.value, false);
        auto body = out_.block("Row::once([&]", ");");
        write_value(text_, output);
    }

    void store_row(std::size_t number) {
        const ir::Output& output = kernel_.outputs[number];
        const std::string to = start(output.tensor);
        prepare(output.value);
        auto body = out_.block(fmt::format("Row::store<{}>({}, [&](int i)",
                                           vectors_.access[kernel_.params.size() + number], to),
                               ");");
        ExpressionText inside = text_;
        declare(inside, output.value, true);
        out_.line(fmt::format("return {};", inside.use(output.value)),
                  kernel_.line_of(kernel_[output.value].span));
    }

    const VectorForm& vectors_;
    // Names of the shares of rows that `Inputs` loads, by parameter and flips (without_row).
    std::map<std::pair<std::size_t, Flips>, std::string> shares_;
    // By parameter that is the same for all rows: the name of its row.
    std::map<std::size_t, std::string> repeated_;
    std::set<ir::ExprId> in_registers_;
    std::set<std::size_t> stored_;  // numbers of the outputs that are already written
};

}  // namespace

std::string vector_rows_source(const ir::Kernel& kernel, const VectorForm& form) {
    return VectorWriter(kernel, form).write();
}

}  // namespace fact::lower
