#include "lower/sm80/lower.h"

#include <fmt/format.h>

#include "emit/code_writer.h"
#include "lower/product/epilogue_functor.h"
#include "lower/product/launch_parts.h"
#include "lower/product/product_form.h"
#include "lower/sm80/access.h"
#include "lower/sm80/record.h"

namespace fact::lower::sm80 {

namespace {

class SourceWriter {
  public:
    SourceWriter(const ir::Kernel& kernel, const ProductForm& form, const CopyBytes& copies,
                 const schedule::Schedule& schedule, const schedule::Problem& problem)
        : kernel_(kernel), form_(form), copies_(copies), schedule_(schedule), problem_(problem) {}

    std::string write() {
        out_.line("#include \"sm80/product.cuh\"");
        out_.line();
        out_.line("using namespace fact;");
        out_.line("using namespace fact::sm80;");
        out_.line();
        config();
        out_.line();
        emit_functor(out_, kernel_, form_);
        out_.line();
        entry();
        return out_.text();
    }

  private:
    static const char* major(schedule::Major m) {
        return m == schedule::Major::k ? "Major::k" : "Major::mn";
    }

    void config() {
        const schedule::Warps warps = schedule::warps_on_sm80(schedule_, problem_);
        auto config = out_.block("struct Config", ";");
        out_.line(fmt::format("using Element = {};", info(problem_.operands).cuda));
        out_.line(
            fmt::format("static constexpr int kTileM = {}, kTileN = {}, kTileK = {}, kStages = {};",
                        schedule_.tile.m, schedule_.tile.n, schedule_.tile.k, schedule_.stages));
        out_.line(
            fmt::format("static constexpr int kWarpsM = {}, kWarpsN = {};", warps.m, warps.n));
        out_.line(fmt::format("static constexpr Major kMajorA = {}, kMajorB = {};",
                              major(form_.a.major), major(form_.b.major)));
        out_.line(fmt::format("static constexpr int kCopyBytesA = {}, kCopyBytesB = {};", copies_.a,
                              copies_.b));
        if (problem_.operands == DType::f32)
            out_.line(fmt::format("static constexpr int kParts = {};", problem_.split ? 2 : 1));
    }

    void entry() {
        const auto name = [&](const OperandForm& operand) {
            return kernel_.params[static_cast<std::size_t>(operand.param)].name;
        };
        const std::string a = "operand_" + name(form_.a);
        // If both operands are the same tensor, it still has two parameters.
        const std::string b =
            "operand_" + name(form_.b) + (form_.a.param == form_.b.param ? "_right" : "");
        const std::string y = "output_" + kernel_.outputs.front().tensor.name;
        const std::string batch_dims = batch_argument(form_.num_batch_dims());
        const std::string element = std::string(info(problem_.operands).cuda) + batch_dims;
        std::vector<std::string> params{
            fmt::format("__grid_constant__ Source<{}> const {}", element, a),
            fmt::format("__grid_constant__ Source<{}> const {}", element, b),
            fmt::format("__grid_constant__ {}Output<{}{}> const {}",
                        form_.output.paired ? "" : "Strided", info(problem_.output).cuda,
                        batch_dims, y),
            fmt::format("__grid_constant__ {} const extents",
                        batch_type("Extents", form_.num_batch_dims())),
            "__grid_constant__ WalkOrder const order",
        };
        if (has_members(form_)) params.push_back("__grid_constant__ Finish const finish");
        out_.line("extern \"C\" __global__ void __launch_bounds__(kThreads<Config>, 1)");
        out_.list(product_entry(kernel_) + "(", params, ") {");
        out_.line(fmt::format("    product<Config>({}, {}, {}, extents, order, {});", a, b, y,
                              has_members(form_) ? "finish" : "Finish{}"),
                  kernel_.line_of(kernel_[form_.product].span));
        out_.line("}");
    }

    const ir::Kernel& kernel_;
    const ProductForm& form_;
    const CopyBytes& copies_;
    const schedule::Schedule& schedule_;
    const schedule::Problem& problem_;
    emit::CodeWriter out_;
};

Result<ProductForm> form_of(const ir::Kernel& kernel, const Options& options) {
    auto form = product_form(kernel);
    if (form && form->takes_two_sums())
        return cannot_express(kernel, "sm80 ", "two sums in one epilogue");
    if (form && form->windows()) return cannot_express(kernel, "sm80 ", "windows as an operand");
    if (form && form->scattered)
        return cannot_express(kernel, "sm80 ", "an output whose dimensions mix rows and columns");
    if (form) drop_unaligned_pairs(kernel, options.alignment, *form);
    return form;
}

}  // namespace

Result<schedule::Problem> problem_of(const ir::Kernel& kernel, const Options& options) {
    const auto form = form_of(kernel, options);
    if (!form) return form.error();
    return lower::problem_of(kernel, *form);
}

Result<Lowered> lower(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                      const Options& options) {
    const auto form = form_of(kernel, options);
    if (!form) return form.error();
    const schedule::Problem problem = lower::problem_of(kernel, *form);
    if (std::string why = illegal_on_sm80(schedule, problem); !why.empty())
        return Error{fmt::format("kernel {}: schedule \"{}\" is not legal on sm80: {}", kernel.name,
                                 schedule::to_string(schedule), why),
                     "Choose another schedule, or leave it out to have one chosen."};
    schedule::Schedule settled = schedule;  // with a number instead of automatic stages
    settled.stages = schedule::shared_memory_on_sm80(schedule, problem).stages;
    const CopyBytes copies = copy_bytes(kernel, *form, options.alignment);
    return Lowered{SourceWriter(kernel, *form, copies, settled, problem).write(),
                   product_record(kernel, *form, copies, settled, problem, options.arch)};
}

}  // namespace fact::lower::sm80
