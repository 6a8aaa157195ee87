#include "lower/pipeline/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"
#include "support/result.h"

namespace fact::lower {

namespace {

std::size_t at(int i) {
    return static_cast<std::size_t>(i);
}

// Renumbers the tensors of stages, and expresses extents of intermediates by those of bound
// tensors.
class RecordLinker {
  public:
    RecordLinker(const Pipeline& pipeline, const std::vector<Lowered>& stages)
        : pipeline_(pipeline), origins_(origins(pipeline)), first_view_(pipeline.num_tensors()) {
        for (const Lowered& stage : stages)
            first_view_ += static_cast<int>(stage.record.workspaces.size());
        const ir::Kernel& kernel = pipeline.kernel;
        record_.kernel = kernel.name;
        bind_tensors(kernel, record_);
        for (const ir::Tensor& tensor : pipeline.intermediates) {
            Workspace workspace{tensor.type.dtype, {}, 1};
            for (const ir::DimId dim : tensor.type.dims)
                workspace.sizes.push_back(extent_of(kernel, {dim}));
            record_.workspaces.push_back(std::move(workspace));
        }
    }

    void add(const Stage& stage, const Lowered& lowered) {
        const LaunchRecord& part = lowered.record;
        numbers_ = stage.params;
        numbers_.insert(numbers_.end(), stage.outputs.begin(), stage.outputs.end());
        for (std::size_t i = 0; i < stage.merged.size(); ++i)
            if (std::ranges::any_of(stage.merged[i], [](int run) { return run > 1; }))
                numbers_[i] = number_of_view({numbers_[i], stage.merged[i]});
        for (const Workspace& workspace : part.workspaces) {
            Workspace added = workspace;
            for (ExtentField& size : added.sizes) size = in_bound_terms(size);
            numbers_.push_back(record_.num_tensors());
            record_.workspaces.push_back(std::move(added));
        }
        for (const Alignment& rule : part.alignments)
            record_.alignments.push_back({number(rule.tensor), rule.bytes, rule.row_dims});
        for (const ExtentField& count : part.counts)
            record_.counts.push_back(in_bound_terms(count));
        for (Launch launch : part.launches) {
            std::visit([this](auto& grid) { renumber(grid); }, launch.grid);
            for (KernelParam& param : launch.params)
                std::visit([this](auto& p) { renumber(p); }, param);
            launch.prepares_from = prepared_from(stage, launch);
            record_.launches.push_back(std::move(launch));
        }
        for (const FixedExtent& fixed : lowered.fixed) add_extent_rule(fixed);
        record_.arch = part.arch;
        join(record_.schedule, part.schedule, "; ");
        if (stage.kind != StageKind::rows) join(record_.precision, part.precision, ", ");
    }

    LaunchRecord finish() {
        if (record_.precision.empty()) record_.precision = "f32";  // only row kernels
        return std::move(record_);
    }

  private:
    int number(int tensor) const { return numbers_[at(tensor)]; }

    // Views are numbered after the workspaces of all stages.
    int number_of_view(const MergedView& view) {
        const auto known = std::ranges::find(record_.views, view);
        const auto index = known - record_.views.begin();
        if (known == record_.views.end()) record_.views.push_back(view);
        return first_view_ + static_cast<int>(index);
    }

    // The parameters that a launch prepares values from. A pass inside the stage names them itself;
    // otherwise it is all that the stage reads, if it writes only intermediates.
    std::vector<int> prepared_from(const Stage& stage, const Launch& launch) const {
        std::set<int> params;
        const auto add = [&](int tensor) {
            params.insert(origins_[at(tensor)].begin(), origins_[at(tensor)].end());
        };
        const auto behind_view = [&](int number) {
            return number < first_view_ ? number : record_.views[at(number - first_view_)].tensor;
        };
        for (const int tensor : launch.prepares_from) add(behind_view(number(tensor)));
        if (params.empty() && writes_only_intermediates(pipeline_, stage))
            for (const int tensor : stage.params) add(tensor);
        return {params.begin(), params.end()};
    }

    // Appends `more`, unless all stages before had the same.
    static void join(std::string& to, const std::string& more, std::string_view between) {
        if (to == more) return;
        to += to.empty() ? more : std::string(between) + more;
    }

    void renumber(std::vector<DimOf>& dims) const {
        for (DimOf& dim : dims) dim.tensor = number(dim.tensor);
    }
    void renumber(PersistentGrid& grid) const {
        renumber(grid.m), renumber(grid.n), renumber(grid.batch), renumber(grid.k);
    }
    void renumber(TileGrid& grid) const {
        renumber(grid.m), renumber(grid.n), renumber(grid.batch);
    }
    void renumber(ExtentField& extent) const {
        renumber(extent.dims), renumber(extent.divisor_dims);
    }
    void renumber(LinearGrid& grid) const { renumber(grid.count); }
    void renumber(TensorMapParam& map) const { map.tensor = number(map.tensor); }
    void renumber(StructParam& param) const {
        for (auto& member : param.members)
            std::visit(overloaded{[this](PointerField& f) { f.tensor = number(f.tensor); },
                                  [this](StrideField& f) { f.tensor = number(f.tensor); },
                                  [this](ExtentField& f) { renumber(f); }, [](TokenField&) {}},
                       member.field);
    }

    // Stages share the dimensions of the whole kernel, so an extent that the source of one stage
    // has as a number must be that number for the whole kernel.
    void add_extent_rule(const FixedExtent& fixed) {
        const ExtentRule rule{extent_of(pipeline_.kernel, {fixed.dim}),
                              {{}, static_cast<int>(fixed.extent)}};
        auto& rules = record_.extent_rules;
        if (!rule.of.dims.empty() && std::find(rules.begin(), rules.end(), rule) == rules.end())
            rules.push_back(rule);
    }

    // The same extent computed from tensors that the caller binds, as sizes of workspaces and
    // counts must be.
    ExtentField in_bound_terms(const ExtentField& size) const {
        ExtentField result{{}, size.factor, size.divisor};
        for (const DimOf& dim : size.dims) multiply(result, in_bound_terms(dim));
        for (const DimOf& dim : size.divisor_dims) multiply(result, inverse(in_bound_terms(dim)));
        return result;
    }
    ExtentField in_bound_terms(const DimOf& dim) const {
        const int tensor = number(dim.tensor);
        if (tensor >= first_view_)
            return windows_of(merged_extent(record_.views[at(tensor - first_view_)], dim.dim),
                              dim.more, dim.step, dim.times);
        return in_bound_terms(tensor, dim);
    }
    // The extent of a view's dimension: the product of those of its run.
    ExtentField merged_extent(const MergedView& view, int dim) const {
        ExtentField product;
        const int first = std::accumulate(view.runs.begin(), view.runs.begin() + dim, 0);
        for (int i = 0; i < view.runs[at(dim)]; ++i)
            multiply(product, in_bound_terms(view.tensor, {view.tensor, first + i}));
        return product;
    }
    ExtentField in_bound_terms(int tensor, const DimOf& dim) const {
        if (tensor < record_.num_bound())
            return {{{tensor, dim.dim, dim.more, dim.step, dim.times}}};
        return windows_of(record_.workspaces[at(tensor - record_.num_bound())].sizes[at(dim.dim)],
                          dim.more, dim.step, dim.times);
    }

    const Pipeline& pipeline_;
    std::vector<std::vector<int>> origins_;  // of the pipeline's tensors
    int first_view_;
    LaunchRecord record_;
    std::vector<int> numbers_;  // in the record, of the tensors of the stage that is being added
};

struct StageSource {
    std::vector<std::string> includes;
    std::string body;
};

// Separates a stage's includes from its body, and drops the using-directive: the file has it once.
StageSource split_source(std::string_view source) {
    StageSource parts;
    while (!source.empty()) {
        const auto end = source.find('\n');
        const std::string_view line = source.substr(0, end);
        source = end == source.npos ? std::string_view{} : source.substr(end + 1);
        if (line.starts_with("#include"))
            parts.includes.emplace_back(line);
        else if (line != "using namespace fact;" && (!line.empty() || !parts.body.empty()))
            parts.body += std::string(line) + "\n";
    }
    return parts;
}

// One translation unit with the sources of all stages, each in a namespace of its own.
std::string joined_source(const Pipeline& pipeline, const std::vector<Lowered>& stages) {
    std::vector<std::string> includes;
    std::string bodies;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const StageSource parts = split_source(stages[i].source);
        for (const std::string& line : parts.includes) {
            if (std::find(includes.begin(), includes.end(), line) == includes.end())
                includes.push_back(line);
        }
        const std::string& name = pipeline.stages[i].kernel.name;
        bodies += fmt::format("\nnamespace {} {{\n{}}}  // namespace {}\n", name, parts.body, name);
    }
    std::string text;
    for (const std::string& line : includes) text += line + "\n";
    text += "\nusing namespace fact;\n";
    return text + bodies;
}

}  // namespace

Lowered link(const Pipeline& pipeline, const std::vector<Lowered>& stages) {
    if (stages.size() != pipeline.stages.size()) throw InternalError("link: a stage is missing");
    RecordLinker linker(pipeline, stages);
    for (std::size_t i = 0; i < stages.size(); ++i) linker.add(pipeline.stages[i], stages[i]);
    return {stages.size() == 1 ? stages.front().source : joined_source(pipeline, stages),
            linker.finish()};
}

}  // namespace fact::lower
