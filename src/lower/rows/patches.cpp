#include "lower/rows/patches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/dims.h"
#include "lower/record/extent_terms.h"
#include "lower/rows/record.h"
#include "lower/rows/rows_text.h"

namespace fact::lower {

namespace {

using ir::DimId;

class PatchWriter : RowsText {
  public:
    PatchWriter(const ir::Kernel& kernel, const PatchForm& form)
        : RowsText(kernel, form.dims), patches_(form) {}

    std::string write() {
        out_.line("#include \"sm90/patch_convolution.cuh\"");
        out_.line();
        out_.line("using namespace fact;");
        out_.line();
        arguments();
        out_.line();
        for (const char* word : {"args", "F", "feature", "sum", "values", "i"}) text_.reserve(word);
        for (const auto* dims : {&form_.rows, &form_.over})
            for (const DimId dim : *dims) name_coordinate(text_, dim);
        for (const DimId places : patches_.places)
            name_coordinate(text_, kernel_[places].window->of);
        constants();
        out_.line();
        entry();
        return out_.text();
    }

  private:
    void constants() {
        auto block = out_.block("struct Patches", ";");
        out_.line(fmt::format(
            "static constexpr int kParts = {}, kFeatures = {}, kChannels = {}, kRuns = {}, kGroups "
            "= {}, kTogether = {};",
            patches_.parts, patches_.num_features, patches_.num_channels, patches_.runs,
            patches_.groups, patches_.together));
        out_.line(fmt::format("static constexpr bool kFetches = {};", patches_.fetches));
        const auto three = [&](std::string_view name, const std::array<std::int64_t, 3>& numbers) {
            out_.line(fmt::format("static constexpr int {}[3] = {{{}}};", name,
                                  fmt::join(numbers, ", ")));
        };
        three("kTaps", patches_.taps);
        three("kDilation", patches_.dilation);
        three("kBefore", patches_.before);
        three("kImage", patches_.image);
        three("kPlaces", patches_.num_places);
    }

    // "int b, int feature, int, int p, int q": of the image, perhaps a feature or feature and
    // channel, and three coordinates.
    std::string parameters(const std::vector<std::string>& first,
                           const std::vector<DimId>& dims) const {
        std::vector<std::string> all = first;
        for (std::size_t i = dims.size(); i < 3; ++i) all.push_back("int");
        for (const DimId dim : dims) all.push_back("int " + coordinates_.at(dim));
        return fmt::to_string(fmt::join(all, ", "));
    }
    std::string image() const {
        return patches_.batch.empty() ? "int" : "int " + coordinates_.at(patches_.batch.front());
    }
    std::string feature() const {
        return "int " + (patches_.features.size() == 1 ? coordinates_.at(patches_.features.front())
                                                       : std::string("feature"));
    }
    // Declares the coordinates of several dimensions of features.
    void split_feature() {
        if (patches_.features.size() > 1) decompose("feature", patches_.features, false);
    }
    std::vector<DimId> of_places(auto part) const {
        std::vector<DimId> dims;
        for (const DimId places : patches_.places) dims.push_back(part(*kernel_[places].window));
        return dims;
    }

    void entry() {
        out_.line(fmt::format("static_assert(sm90::PatchLayout<Patches>::kBytes == {});",
                              patches_.shared_bytes));
        out_.line();
        out_.line(
            fmt::format("extern \"C\" __global__ void "
                        "__launch_bounds__(sm90::PatchLayout<Patches>::kThreads)"));
        auto body = out_.block(
            fmt::format("{}_kernel(__grid_constant__ Arguments const args)", kernel_.name));
        out_.line(fmt::format("using F = Functions<{}>;", function_type()));
        pixel();
        weight();
        finish();
        store();
        const ir::Tensor& images = kernel_.params[patches_.images];
        out_.line(fmt::format(
            "sm90::convolve_patches<Patches>({}, pixel, args.{}.strides[{}], weight, finish, "
            "store);",
            patches_.batch.empty() ? "1" : extent(patches_.batch.front()),
            emit::identifier(images.name), ir::position(images.type.dims, patches_.channel)));
    }

    void pixel() {
        const auto outer = coordinates_;
        coordinates_[patches_.channel] = "0";
        const auto dims = of_places([](const ir::WindowRule& rule) { return rule.of; });
        auto block =
            out_.block(fmt::format("auto const pixel = [&]({})", parameters({image()}, dims)), ";");
        out_.line(fmt::format("return &{};", element(kernel_.params[patches_.images])));
        coordinates_ = outer;
    }

    void weight() {
        const auto taps = of_places([](const ir::WindowRule& rule) { return rule.taps; });
        auto block = out_.block(
            fmt::format("auto const weight = [&]({})",
                        parameters({feature(), "int " + coordinates_.at(patches_.channel)}, taps)),
            ";");
        split_feature();
        out_.line(fmt::format("return widen({});", element(kernel_.params[patches_.weights])));
    }

    void finish() {
        auto parts = parameters({image(), feature()}, patches_.places);
        auto block = out_.block(fmt::format("auto const finish = [&]({}, float sum)", parts), ";");
        split_feature();
        ExpressionText text = text_;
        text.set(patches_.reduction, "sum");
        const ir::ExprId value = kernel_.outputs.front().value;
        declare(text, value, false);
        out_.line(fmt::format("return {};", text.use(value)), kernel_.line_of(kernel_[value].span));
    }

    void store() {
        auto parts = parameters({image(), feature()}, patches_.places);
        auto block = out_.block(fmt::format("auto const store = [&]({}, float const (&values)[{}])",
                                            parts, patches_.together),
                                ";");
        split_feature();
        out_.line(fmt::format("store_neighbours<{}>({}, [&](int i) {{ return values[i]; }});",
                              patches_.together, element(kernel_.outputs.front().tensor)));
    }

    std::string load(const ir::Param& param, const Flips& flips) const override {
        return fmt::format("widen({})", element(kernel_.params[param.index], flips));
    }

    const PatchForm& patches_;
};

}  // namespace

std::string patches_source(const ir::Kernel& kernel, const PatchForm& form) {
    return PatchWriter(kernel, form).write();
}

LaunchRecord patches_record(const ir::Kernel& kernel, const PatchForm& form,
                            std::string_view arch) {
    LaunchRecord record =
        element_record(kernel, form.dims, arch,
                       fmt::format("{} patches of {} places, {} features", form.groups,
                                   form.runs * 128, form.num_features));
    const int bytes = form.together * info(kernel.outputs.front().tensor.type.dtype).bytes;
    if (form.together > 1)
        record.alignments.push_back({static_cast<int>(kernel.params.size()), bytes, 1});
    ExtentField tiles = extent_of(kernel, form.batch);
    tiles.factor *= static_cast<int>(form.tiles());
    record.counts.push_back(tiles);
    Launch& launch = record.launches.front();
    launch.grid = LinearGrid{tiles, form.groups};
    launch.block = 128 * form.groups;
    launch.shared_bytes = form.shared_bytes;
    return record;
}

}  // namespace fact::lower
