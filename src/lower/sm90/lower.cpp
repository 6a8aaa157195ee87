#include "lower/sm90/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/code_writer.h"
#include "ir/extents.h"
#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/product/product_form.h"
#include "lower/sm90/record.h"
#include "lower/sm90/window_map.h"

namespace fact::lower::sm90 {

namespace {

constexpr std::size_t kMaxBatchDims = TensorMapParam::kMaxDims - 2;

// The index in `extras` of the first matrix with the output's type and layout, such as a residual:
// it is loaded through the output's store buffers, as only one can be. -1: there is none.
int staged_extra(const ir::Kernel& kernel, const ProductForm& form) {
    if (form.scattered) return -1;
    for (std::size_t i = 0; i < form.extras.size(); ++i) {
        const EpilogueForm& extra = form.extras[i];
        const auto& type = kernel.params[static_cast<std::size_t>(extra.tensor)].type;
        if (extra.m >= 0 && extra.paired && extra.period == 0 && !extra.flipped &&
            type.dtype == kernel.outputs.front().tensor.type.dtype)
            return static_cast<int>(i);
    }
    return -1;
}

// The product as TMA and wgmma can compute it.
Result<ProductForm> form_of(const ir::Kernel& kernel) {
    auto form = product_form(kernel);
    if (!form) return form.error();
    for (const OperandForm& operand : {form->a, form->b})
        if (!operand.contiguous)
            return cannot_express(
                kernel, "sm90 ",
                fmt::format("operand {}, contiguous along the batch",
                            kernel.params[static_cast<std::size_t>(operand.param)].name));
    if (const OperandForm* operand = form->windows(); operand && !window_map(kernel, *operand, 1))
        return cannot_express(kernel, "sm90 ", "windows that reach further than TMA's");
    if (!form->output_has_dims() && !counts_places(kernel, *form))
        return cannot_express(kernel, "sm90 ", "windows whose number is not known from a tensor");
    if (!form->scattered && !form->output.paired) form->scattered = transposed_output(kernel);
    if (!form->scattered && !form->output.paired)
        return cannot_express(kernel, "sm90 ",
                              "an output that is contiguous neither along the columns nor along "
                              "whole boxes of rows");
    if (form->num_batch_dims() > kMaxBatchDims)
        return cannot_express(kernel, "sm90 ", "more batch dimensions than a tensor map can have");
    // Nothing else says that the number of columns is even, as a tensor map of the result would.
    if (form->scattered)
        for (EpilogueForm& extra : form->extras) extra.paired = false;
    form->staged = staged_extra(kernel, *form);
    return form;
}

class SourceWriter {
  public:
    SourceWriter(const ir::Kernel& kernel, const ProductForm& form,
                 const schedule::Schedule& schedule, const schedule::Problem& problem,
                 const RowStatistics* statistics)
        : kernel_(kernel),
          form_(form),
          schedule_(schedule),
          problem_(problem),
          statistics_(statistics) {}

    std::string write() {
        out_.line(fmt::format("#include \"sm90/mainloop_{}.cuh\"",
                              converts_operands() ? (problem_.split ? "single" : "tf32")
                                                  : (has_two_products() ? "paired" : "half")));
        if (converts_operands()) out_.line("#include \"sm90/prepare_pass.cuh\"");
        out_.line("#include \"sm90/product.cuh\"");
        if (statistics_) out_.line("#include \"sm90/row_statistics.cuh\"");
        out_.line();
        out_.line("using namespace fact;");
        out_.line("using namespace fact::sm90;");
        out_.line();
        config();
        out_.line();
        emit_functor(out_, kernel_, form_, {.walked = true});
        out_.line();
        if (form_.scattered) {
            emit_places(out_, kernel_, *form_.scattered);
            out_.line();
        }
        if (statistics_) {
            emit_row_values(out_, *statistics_);
            out_.line();
        }
        if (converts_operands()) {
            prepare();
            out_.line();
        }
        entry();
        return out_.text();
    }

  private:
    bool converts_operands() const { return schedule::converted(problem_); }
    bool has_two_products() const { return form_.second != kNoProduct; }
    static const char* bool_text(bool value) { return value ? "true" : "false"; }
    static const char* major(schedule::Major m) {
        return m == schedule::Major::k ? "Major::k" : "Major::mn";
    }

    // The skeleton's name for the scheduler.
    const char* deal() const {
        switch (schedule_.scheduler) {
            case schedule::Scheduler::persistent:
                return "whole";
            case schedule::Scheduler::streamk:
                return "streamed";
            case schedule::Scheduler::splitk:
                return "divided";
        }
        throw InternalError("a scheduler the skeleton does not know");
    }

    // The type of the windows that an operand is read through.
    std::string windows_type() const {
        std::vector<std::string> dims;
        for (const ir::DimId places : form_.windows()->windows->places) {
            const ir::WindowRule& rule = *kernel_[places].window;
            dims.push_back(fmt::format("Along<{}, {}, {}, {}>",
                                       *ir::constant_extent(kernel_, rule.taps), rule.stride,
                                       rule.dilation, rule.before));
        }
        return fmt::format("fact::Windows<{}>", fmt::join(dims, ", "));
    }

    // The type of an operand whose rows overlap.
    std::string overlapping_type() const {
        std::string taps;
        const auto& places = form_.a.windows->places;
        for (std::size_t i = 1; i < places.size(); ++i)
            taps +=
                fmt::format(", {}", *ir::constant_extent(kernel_, kernel_[places[i]].window->taps));
        return fmt::format("OverlappingRows<{}{}>", form_.a.windows->run, taps);
    }

    const char* windows_name() const { return form_.a.windows ? "WindowsA" : "WindowsB"; }

    void config() {
        auto config = out_.block("struct Config", ";");
        if (!converts_operands())
            out_.line(fmt::format("using Element = {};", info(problem_.operands).cuda));
        out_.line(fmt::format("using Output = {};", info(problem_.output).cuda));
        if (form_.a.overlaps())
            out_.line(fmt::format("using RowsA = {};", overlapping_type()));
        else if (form_.windows())
            out_.line(fmt::format("using {} = {};", windows_name(), windows_type()));
        out_.line(
            fmt::format("static constexpr int kTileM = {}, kTileN = {}, kTileK = {}, kStages = {};",
                        schedule_.tile.m, schedule_.tile.n, schedule_.tile.k, schedule_.stages));
        if (has_two_products()) out_.line("static constexpr int kProducts = 2;");
        out_.line(fmt::format("static constexpr int kStoreBuffers = {};",
                              schedule::shared_memory_on_sm90(schedule_, problem_).store_buffers));
        out_.line(fmt::format("static constexpr int kClusterM = {}, kClusterN = {};",
                              schedule_.cluster.m, schedule_.cluster.n));
        out_.line(fmt::format("static constexpr bool kPingpong = {};",
                              bool_text(info(schedule_.mainloop).tile_per_group)));
        out_.line(fmt::format("static constexpr Deal kDeal = Deal::{};", deal()));
        if (converts_operands()) {
            out_.line(fmt::format("static constexpr Major kMajorA = {};", major(form_.a.major)));
        } else {
            out_.line(fmt::format("static constexpr Major kMajorA = {}, kMajorB = {};",
                                  major(form_.a.major), major(form_.b.major)));
        }
        out_.line(fmt::format("static constexpr int kBatchA = {}, kBatchB = {};",
                              batch_bits(form_.a.batch), batch_bits(form_.b.batch)));
        out_.line(fmt::format("static constexpr bool kStaged = {};", bool_text(problem_.staged)));
        if (problem_.staged) {
            const auto& batch = form_.extras[static_cast<std::size_t>(form_.staged)].batch;
            out_.line(fmt::format("static constexpr int kStagedBatch = {};", batch_bits(batch)));
        }
    }

    const std::string& staged_name() const {
        const EpilogueForm& extra = form_.extras[static_cast<std::size_t>(form_.staged)];
        return kernel_.params[static_cast<std::size_t>(extra.tensor)].name;
    }

    // Both products may read the same tensor: its second map needs another name.
    std::string second_name() const {
        const int param = form_.second_b.param;
        const std::string& name = kernel_.params[static_cast<std::size_t>(param)].name;
        return param == form_.b.param || param == form_.a.param ? name + "_second" : name;
    }

    // The passes over B that run before the product.
    void prepare() {
        out_.line(fmt::format("using Mainloop = Mainloop{}<Config>;",
                              problem_.split ? "Single" : "Tf32"));
        out_.line();
        pass(maximum_entry(kernel_), "maximum_pass");
        out_.line();
        pass(prepare_entry(kernel_), "prepare_pass<Mainloop::Numbers>");
    }

    void pass(const std::string& entry, std::string_view function) {
        out_.line("extern \"C\" __global__ void __launch_bounds__(kPassThreads)");
        out_.list(entry + "(",
                  {fmt::format("__grid_constant__ {} const source",
                               batch_type("OperandSource", form_.num_batch_dims())),
                   "__grid_constant__ PreparedRows const rows"},
                  ") {");
        out_.line(fmt::format("    {}(source, rows);", function));
        out_.line("}");
    }

    void entry() {
        const std::string a = kernel_.params[static_cast<std::size_t>(form_.a.param)].name;
        const std::string b = kernel_.params[static_cast<std::size_t>(form_.b.param)].name;
        const std::string y = kernel_.outputs.front().tensor.name;
        const int cluster_blocks = schedule_.cluster.m * schedule_.cluster.n;
        // If both operands are the same tensor, it still has two maps.
        const std::string_view suffix = converts_operands() ? "_rows" : a == b ? "_right" : "";
        std::vector<std::string> params{
            fmt::format("__grid_constant__ CUtensorMap const map_{}", a),
            fmt::format("__grid_constant__ CUtensorMap const map_{}{}", b, suffix),
        };
        if (has_two_products())
            params.push_back(
                fmt::format("__grid_constant__ CUtensorMap const map_{}", second_name()));
        const std::string output = (form_.scattered ? "places_" : "map_") + y;
        params.push_back(fmt::format("__grid_constant__ {} const {}",
                                     form_.scattered ? "Places" : "CUtensorMap", output));
        // Without a staged matrix the skeleton ignores this argument.
        const std::string staged = "map_" + (problem_.staged   ? staged_name()
                                             : form_.scattered ? a
                                                               : y);
        if (problem_.staged)
            params.push_back(fmt::format("__grid_constant__ CUtensorMap const {}", staged));
        params.push_back(fmt::format("__grid_constant__ {} const extents",
                                     batch_type("Extents", form_.num_batch_dims())));
        params.push_back("__grid_constant__ WalkOrder const order");
        if (form_.windows() && !form_.a.overlaps())
            params.push_back(
                fmt::format("__grid_constant__ Config::{} const windows", windows_name()));
        if (has_members(form_)) params.push_back("__grid_constant__ Finish const finish");
        const bool takes_partials = schedule::splits_depth(schedule_.scheduler);
        if (takes_partials) params.push_back("__grid_constant__ Partials const partials");
        if (statistics_)
            params.push_back(
                fmt::format("__grid_constant__ RowStatistics<{}, RowValues{}> const statistics",
                            info(problem_.operands).cuda, batch_argument(form_.num_batch_dims())));
        if (converts_operands()) params.push_back("__grid_constant__ RowScalesOfB const scales");
        out_.line("extern \"C\" __global__ void __launch_bounds__(kProductThreads, 1)");
        if (cluster_blocks > 1)
            out_.line(fmt::format("__cluster_dims__({}, 1, 1)", cluster_blocks));
        out_.list(product_entry(kernel_) + "(", params, ") {");
        if (!converts_operands())
            out_.line(fmt::format("    using Mainloop = Mainloop{}<Config>;",
                                  has_two_products() ? "Paired" : "Half"));
        const auto operand = [](const OperandForm& form, const std::string& name) {
            return form.windows && !form.overlaps() ? fmt::format("{{map_{}, windows}}", name)
                                                    : "map_" + name;
        };
        const std::string operands = fmt::format("{{{}, {}{}}}", operand(form_.a, a),
                                                 operand(form_.b, b + std::string(suffix)),
                                                 converts_operands()  ? ", scales"
                                                 : has_two_products() ? ", map_" + second_name()
                                                                      : "");
        out_.line(fmt::format("    product<Config, Mainloop>({}, {}, {}, extents, order, {}{});",
                              operands, output, staged, has_members(form_) ? "finish" : "Finish{}",
                              std::string(takes_partials ? ", partials"
                                          : statistics_  ? ", {}"
                                                         : "") +
                                  (statistics_ ? ", statistics" : "")),
                  kernel_.line_of(kernel_[form_.product].span));
        out_.line("}");
    }

    const ir::Kernel& kernel_;
    const ProductForm& form_;
    const schedule::Schedule& schedule_;
    const schedule::Problem& problem_;
    const RowStatistics* statistics_;
    emit::CodeWriter out_;
};

}  // namespace

Result<schedule::Problem> problem_of(const ir::Kernel& kernel) {
    const auto form = form_of(kernel);
    if (!form) return form.error();
    return lower::problem_of(kernel, *form);
}

Result<Lowered> lower(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                      const RowStatistics* statistics) {
    const auto form = form_of(kernel);
    if (!form) return form.error();
    const schedule::Problem problem = lower::problem_of(kernel, *form);
    if (std::string why = illegal_on_sm90(schedule, problem); !why.empty())
        return Error{fmt::format("kernel {}: schedule \"{}\" is not legal on sm90a: {}",
                                 kernel.name, schedule::to_string(schedule), why),
                     "Choose another schedule, or leave it out to have one chosen."};
    schedule::Schedule settled = schedule;  // with a number instead of automatic stages
    settled.stages = schedule::shared_memory_on_sm90(schedule, problem).stages;
    return Lowered{SourceWriter(kernel, *form, settled, problem, statistics).write(),
                   product_record(kernel, *form, settled, problem, statistics)};
}

}  // namespace fact::lower::sm90
