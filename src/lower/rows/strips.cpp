#include "lower/rows/strips.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include "ir/dims.h"
#include "ir/needed.h"
#include "lower/rows/rows_text.h"
#include "support/division.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

constexpr std::int64_t kMostUnrolled = 640;  // steps of sums in straight-line code
// With more in a thread, nvcc would take more registers than two blocks at a time have. With fewer,
// it takes few, and to be told of two blocks would make it take more.
constexpr int kManySums = 16;

const ir::WindowRule& rule_of(const ir::Kernel& kernel, DimId places) {
    return *kernel[places].window;
}

class StripsWriter : RowsText {
  public:
    StripsWriter(const ir::Kernel& kernel, const StripForm& form)
        : RowsText(kernel, form.dims),
          strips_(form),
          window_(std::get<ir::Window>(kernel[form.window].node)) {}

    std::string write() {
        preamble("strips");
        arguments();
        out_.line();
        for (const char* word : {"args", "item", "F", "feature", "place", "i"}) text_.reserve(word);
        for (const auto* dims : {&form_.rows, &form_.over})
            for (const DimId dim : *dims) name_coordinate(text_, dim);
        entry();
        return out_.text();
    }

  private:
    // How many of a dimension's results a thread computes.
    int step_of(DimId dim) const {
        if (dim == strips_.neighbours) return strips_.num_neighbours;
        if (dim == strips_.strip) return strips_.num_places;
        if (dim == strips_.groups) return strips_.num_groups;
        return dim == strips_.features ? strips_.num_features / strips_.num_groups : 1;
    }
    // How many items there are along a dimension of the rows, as text.
    std::string items(DimId dim) const {
        if (!kernel_[dim].extent) return extent(dim);
        return std::to_string(ceil_div(*kernel_[dim].extent, std::int64_t{step_of(dim)}));
    }

    void entry() {
        const bool many =
            strips_.num_features * strips_.num_places * strips_.num_neighbours > kManySums;
        out_.line(fmt::format("extern \"C\" __global__ void __launch_bounds__(kRowThreads{})",
                              many ? ", 2" : ""));
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        std::vector<std::string> counts;
        for (const DimId dim : form_.rows) counts.push_back(items(dim));
        std::vector<std::string> several = counts;
        std::erase(several, "1");
        auto loop = out_.block(
            fmt::format("ThreadRow::each_row({}, [&](int item)",
                        several.empty() ? "1" : fmt::to_string(fmt::join(several, " * "))),
            ");");
        std::int64_t inner = 1;  // items of the dimensions after this one, which are constants
        for (std::size_t i = form_.rows.size(); i-- > 0;) {
            const DimId dim = form_.rows[i];
            std::string at = inner == 1 ? "item" : fmt::format("item / {}", inner);
            if (i > 0) at += " % " + counts[i];
            const int step = step_of(dim);
            if (step > 1) at += fmt::format(" * {}", step);
            // The last strip overlaps the one before, so that every place of a thread exists.
            if (dim == strips_.strip && *kernel_[dim].extent % step != 0)
                at = fmt::format("min({}, {})", at, *kernel_[dim].extent - step);
            if (counts[i] == "1") at = "0";
            out_.line(fmt::format("int const {} = {};", coordinates_.at(dim), at));
            if (i > 0) inner *= std::stoll(counts[i]);
        }
        reduction();
        store();
    }

    // The loops over channels and taps; along the strip, a line of the images serves all places and
    // taps.
    void reduction() {
        const auto& reduce = std::get<ir::Reduce>(kernel_[strips_.reduction].node);
        const DimId taps = rule_of(kernel_, strips_.strip).taps;
        Dims others;
        for (const DimId dim : form_.over)
            if (dim != taps) others.push_back(dim);
        std::ranges::stable_partition(others, [&](DimId dim) {
            return std::ranges::none_of(
                window_.places, [&](DimId places) { return rule_of(kernel_, places).taps == dim; });
        });
        const std::string name = text_.fresh(kernel_[strips_.reduction].name);
        out_.line(fmt::format("Reduced<{}, {}, {}> {}{};", ir::info(reduce.op).kernels_name,
                              strips_.num_places, strips_.num_neighbours, name,
                              strips_.features ? fmt::format("[{}]", strips_.num_features) : ""),
                  kernel_.line_of(kernel_[strips_.reduction].span));
        each_of(others, [&] { add_line(name, taps, reduce.x); });
        text_.set(strips_.reduction, of_feature(name) + ".at(place, i)");
    }

    // Loops over these dimensions, of which the innermost are straight-line code as long as that is
    // short.
    template <class Body>
    void each_of(std::span<const DimId> dims, const Body& body) {
        if (dims.empty()) return body();
        const DimId dim = dims.front();
        std::int64_t steps = *kernel_[rule_of(kernel_, strips_.strip).taps].extent *
                             strips_.num_features * strips_.num_places * strips_.num_neighbours;
        for (const DimId inner : dims) steps *= *kernel_[inner].extent;
        out_.line(steps > kMostUnrolled ? "#pragma unroll 1" : "#pragma unroll");
        auto loop = out_.block(
            fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", coordinates_.at(dim), extent(dim)));
        each_of(dims.subspan(1), body);
    }

    std::string of_feature(const std::string& name) const {
        return strips_.features ? name + "[feature]" : name;
    }
    // The head of a loop over the features of a thread.
    std::string each_feature() const {
        return fmt::format("for (int feature = 0; feature < {}; ++feature)", strips_.num_features);
    }

    // Sets the coordinates to those of the thread's feature.
    void enter_features() {
        if (!strips_.groups) {
            coordinates_[*strips_.features] += " + feature";
            return;
        }
        const std::string features = extent(*strips_.features);
        coordinates_[*strips_.groups] =
            fmt::format("{} + feature / {}", coordinates_.at(*strips_.groups), features);
        coordinates_[*strips_.features] = fmt::format("feature % {}", features);
    }

    void add_line(const std::string& name, DimId taps, ExprId x) {
        ExpressionText text = text_;
        read_line(text);
        const std::string tap = coordinates_.at(taps);
        out_.line("#pragma unroll");
        auto loop = out_.block(
            fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", tap, *kernel_[taps].extent));
        read_neighbours(text, {x});
        if (!strips_.features) return add(text, name, x);
        read_features(text, x);
        const auto outer = coordinates_;
        enter_features();
        out_.line("#pragma unroll");
        {
            auto features = out_.block(each_feature());
            add(text, of_feature(name), x);
        }
        coordinates_ = outer;
    }

    void add(ExpressionText& text, const std::string& name, ExprId x) {
        auto body = out_.block(fmt::format("{}.add([&](int place, int i)", name), ");");
        const auto outer = coordinates_;
        coordinates_[strips_.strip] += " + place";
        coordinates_[strips_.neighbours] += " + i";
        declare(text, x, false);
        declare(text, x, true);
        out_.line(fmt::format("return {};", text.use(x)));
        coordinates_ = outer;
    }

    // Declares the line of the images that the windows of this strip see.
    void read_line(ExpressionText& text) {
        const auto outer = coordinates_;
        const ir::Tensor& images = kernel_.params[strips_.images];
        std::string inside_others;
        DimId along{};
        bool all_inside = true;  // of the images, as all windows are
        for (const DimId places : window_.places) {
            const ir::WindowRule& rule = rule_of(kernel_, places);
            std::string at = coordinates_.at(places);
            if (rule.stride != 1) at += fmt::format(" * {}", rule.stride);
            const bool is_strip = places == strips_.strip;
            if (!is_strip) {
                at += " + " + coordinates_.at(rule.taps);
                if (rule.dilation != 1) at += fmt::format(" * {}", rule.dilation);
            }
            if (rule.before != 0)
                at += fmt::format(" {} {}", rule.before > 0 ? '-' : '+', std::abs(rule.before));
            name_coordinate(text, rule.of);
            out_.line(fmt::format("int const {} = {};", coordinates_[rule.of], at));
            const bool is_padded = rule.before > 0 || rule.after > 0;
            all_inside &= !is_padded;
            if (is_strip)
                along = rule.of;
            else if (is_padded)
                inside_others +=
                    fmt::format("{}inside({}, {})", inside_others.empty() ? "" : " && ",
                                coordinates_[rule.of], extent(rule.of));
        }
        line_ = text.fresh(images.name);
        const std::string where =
            all_inside ? ""
                       : fmt::format(", {}, {}, {}, {}", coordinates_[along], extent(along),
                                     inside_others.empty() ? "true" : inside_others,
                                     emit::float_literal(window_.outside));
        out_.line(fmt::format("Line<{}, {}, {}> const {}(&{}, args.{}.strides[{}]{});",
                              info(images.type.dtype).cuda, strips_.num_neighbours,
                              line_length(kernel_, strips_.strip, strips_.num_places), line_,
                              element(images), emit::identifier(images.name),
                              ir::position(images.type.dims, along), where));
        coordinates_ = outer;
    }

    // The parameters that these values read as they are, besides the images, and that have no text.
    std::vector<ExprId> params_of(const ExpressionText& text, const std::vector<ExprId>& roots) {
        const auto needed = ir::needed_for(kernel_, roots, [&](ExprId id) {
            return text.has(id) || id == strips_.window || flipped_leaf(kernel_, id);
        });
        std::vector<ExprId> params;
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (const auto id = static_cast<ExprId>(i);
                needed[i] && !text.has(id) && std::holds_alternative<ir::Param>(kernel_[id].node))
                params.push_back(id);
        return params;
    }
    const ir::Tensor& tensor_of(ExprId param) const {
        return kernel_.params[std::get<ir::Param>(kernel_[param].node).index];
    }
    bool has(const ir::Tensor& tensor, DimId dim) const {
        return ir::contains(kernel_.factors(tensor.type.dims), dim);
    }

    // Declares the neighbours of all tensors that these values read, besides the images.
    void read_neighbours(ExpressionText& text, const std::vector<ExprId>& roots) {
        for (const ExprId param : params_of(text, roots))
            if (is_innermost(kernel_, tensor_of(param), strips_.neighbours))
                declare_neighbours(text, param);
    }
    void declare_neighbours(ExpressionText& text, ExprId param) {
        declare_together(text, param, strips_.num_neighbours, "i");
    }
    void declare_together(ExpressionText& text, ExprId param, int count, std::string_view index) {
        const ir::Tensor& tensor = tensor_of(param);
        const std::string name = text.fresh(tensor.name);
        out_.line(fmt::format("auto const {} = neighbours<{}>({});", name, count, element(tensor)),
                  kernel_.line_of(tensor.span));
        text.set(param, fmt::format("{}[{}]", name, index));
    }
    // Declares the weights of all features that the value reads.
    void read_features(ExpressionText& text, ExprId root) {
        for (const ExprId param : params_of(text, {root}))
            if (is_innermost(kernel_, tensor_of(param), *strips_.features))
                declare_together(text, param, strips_.num_features, "feature");
    }

    // Declares what all places of the strip read. A store might change it, as far as the compiler
    // knows: after one, it would be read again.
    void read_before_stores() {
        std::vector<ExprId> results;
        for (const ir::Output& output : kernel_.outputs) results.push_back(output.value);
        for (const ExprId param : params_of(text_, results)) {
            const ir::Tensor& tensor = tensor_of(param);
            if (has(tensor, strips_.strip)) continue;
            if (is_innermost(kernel_, tensor, strips_.neighbours))
                declare_neighbours(text_, param);
            else if (!has(tensor, strips_.neighbours))
                text_.declare(out_, param, load(std::get<ir::Param>(kernel_[param].node), {}));
        }
    }

    // "feature * args.y.strides[1] + place * args.y.strides[2]": from the first result of a thread
    // to another; "" if the thread has one. The strides of dimensions that are not whole ones of
    // the tensor's are multiplied by the extents after them.
    std::string steps(const ir::Tensor& tensor) const {
        std::string text;
        std::vector<std::pair<DimId, std::string>> moves;
        if (strips_.groups) {
            const std::string features = extent(*strips_.features);
            moves = {{*strips_.groups, fmt::format("feature / {}", features)},
                     {*strips_.features, fmt::format("feature % {}", features)}};
        } else if (strips_.features) {
            moves = {{*strips_.features, "feature"}};
        }
        if (strips_.num_places > 1) moves.push_back({strips_.strip, "place"});
        for (const auto& [dim, step] : moves) {
            for (std::size_t d = 0; d < tensor.type.dims.size(); ++d) {
                const Dims factors = kernel_.factors({tensor.type.dims[d]});
                const auto at = std::ranges::find(factors, dim);
                if (at == factors.end()) continue;
                text += fmt::format("{}{}", text.empty() ? "" : " + ", step);
                if (d + 1 < tensor.type.dims.size())
                    text += fmt::format(" * args.{}.strides[{}]", emit::identifier(tensor.name), d);
                for (auto inner = at + 1; inner != factors.end(); ++inner)
                    text += " * " + extent(*inner);
            }
        }
        return text;
    }

    // Declares where a thread's first results go: the others are found from there by additions.
    void find_first_results() {
        for (const ir::Output& output : kernel_.outputs) {
            const std::string to = steps(output.tensor);
            if (to.empty()) {
                results_.push_back(element(output.tensor));
                continue;
            }
            const std::string first = text_.fresh(output.tensor.name + "_first");
            out_.line(fmt::format("auto* const {} = &{};", first, element(output.tensor)));
            results_.push_back(fmt::format("{}[{}]", first, to));
        }
    }

    void store() {
        find_first_results();
        if (!strips_.features) return store_places();
        const auto outer = coordinates_;
        enter_features();
        const ExpressionText text = text_;
        out_.line("#pragma unroll");
        {
            auto features = out_.block(each_feature());
            store_places();
        }
        text_ = text;
        coordinates_ = outer;
    }

    void store_places() {
        read_before_stores();
        out_.line("#pragma unroll");
        auto loop =
            out_.block(fmt::format("for (int place = 0; place < {}; ++place)", strips_.num_places));
        const auto outer = coordinates_;
        coordinates_[strips_.strip] += " + place";
        const auto inner = coordinates_;
        for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
            const ir::Output& output = kernel_.outputs[i];
            ExpressionText text = text_;
            read_neighbours(text, {output.value});
            auto body = out_.block(fmt::format("store_neighbours<{}>({}, [&](int i)",
                                               strips_.num_neighbours, results_[i]),
                                   ");");
            coordinates_[strips_.neighbours] += " + i";
            declare(text, output.value, false);
            declare(text, output.value, true);
            out_.line(fmt::format("return {};", text.use(output.value)),
                      kernel_.line_of(kernel_[output.value].span));
            coordinates_ = inner;
        }
        coordinates_ = outer;
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    std::string windowed(ExpressionText&, const ir::Window&, std::uint32_t) override {
        const ir::WindowRule& rule = rule_of(kernel_, strips_.strip);
        const auto times = [](const std::string& at, std::int64_t factor) {
            return factor == 1 ? at : fmt::format("{} * {}", at, factor);
        };
        return fmt::format("{}.at({} + {}, i)", line_, times("place", rule.stride),
                           times(coordinates_.at(rule.taps), rule.dilation));
    }

    const StripForm& strips_;
    const ir::Window& window_;
    std::string line_;                  // what the windows see
    std::vector<std::string> results_;  // where the outputs' elements go
};

}  // namespace

std::string strips_source(const ir::Kernel& kernel, const StripForm& form) {
    return StripsWriter(kernel, form).write();
}

}  // namespace fact::lower
