#include "tools/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/interpreter.h"
#include "ir/typing.h"

namespace fact::tools {
namespace {

// The interpreter stores values as f64: this many take 2 GiB.
constexpr double kMaxElements = 1 << 28;

using Files = std::map<std::string, std::filesystem::path>;

// The files by tensor; an Error for a name that is not in `names`.
Result<Files> by_name(const std::vector<NamedFile>& files, const std::vector<std::string>& names,
                      std::string_view option, std::string_view kind) {
    Files found;
    for (const NamedFile& file : files) {
        if (std::find(names.begin(), names.end(), file.tensor) == names.end()) {
            const std::string near = nearest(file.tensor, names);
            return blame_input({fmt::format("{} {}: the kernel has no {} '{}'", option, file.tensor,
                                            kind, file.tensor),
                                near.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean '{}'?", near)});
        }
        if (!found.emplace(file.tensor, file.file).second)
            return blame_input({fmt::format("{} {} is given twice", option, file.tensor), {}});
    }
    return found;
}

std::string type_text(const HostTensor& tensor) {
    return fmt::format("{}[{}]", info(tensor.dtype).name, fmt::join(tensor.sizes, ", "));
}

// Refuses kernels whose values would not fit into memory.
Result<> check_sizes(const ir::Kernel& kernel, const Extents& extents) {
    const auto check = [&](std::string_view what, const std::vector<ir::DimId>& dims) -> Result<> {
        const double count = num_elements(extents, dims);
        if (count <= kMaxElements) return Ok{};
        return blame_input(
            {fmt::format("{}{} would have {:.3g} elements; the limit of the interpreter is 2^28",
                         what, ir::to_string(kernel, dims), count),
             "choose smaller extents with --set"});
    };
    for (const ir::Tensor& param : kernel.params)
        if (auto fine = check(param.name, param.type.dims); !fine) return fine;
    for (const ir::Expr& expr : kernel.exprs)
        if (auto fine = check(expr.name.empty() ? "a value of " : expr.name, expr.type.dims); !fine)
            return fine;
    return Ok{};
}

class Run {
  public:
    Run(const ir::Kernel& kernel, const RunRequest& request) : kernel_(kernel), request_(request) {}

    Result<RunReport> run() {
        if (auto done = match_files(); !done) return done.error();
        if (auto done = load_given(); !done) return done.error();
        auto extents = bind_extents(kernel_, settings_, Assume::small);
        if (!extents) return extents.error();
        report_.extents = *extents;
        if (auto fine = check_sizes(kernel_, *extents); !fine) return fine.error();
        make_missing();
        if (auto done = interpret(); !done) return done.error();
        if (auto done = finish(); !done) return done.error();
        return std::move(report_);
    }

  private:
    Result<> match_files() {
        std::vector<std::string> params, outputs;
        for (const ir::Tensor& param : kernel_.params) params.push_back(param.name);
        for (const ir::Output& output : kernel_.outputs) outputs.push_back(output.tensor.name);
        auto in = by_name(request_.inputs, params, "--in", "parameter");
        if (!in) return in.error();
        auto out = by_name(request_.outputs, outputs, "--out", "output");
        if (!out) return out.error();
        auto expected = by_name(request_.expected, outputs, "--expect", "output");
        if (!expected) return expected.error();
        expected_files_ = std::move(*expected);
        in_files_ = std::move(*in);
        out_files_ = std::move(*out);
        return Ok{};
    }

    Result<> load_given() {
        settings_ = request_.settings;
        for (const ir::Tensor& param : kernel_.params) {
            params_.push_back({param.type.dtype, {}, {}});
            const auto file = in_files_.find(param.name);
            if (file == in_files_.end()) continue;
            const std::string name = file->second.string();
            auto array = read_npy(file->second);
            if (!array) return array.error();
            const auto found = settings_of(kernel_, param, array->shape, name);
            if (!found) return found.error();
            settings_.insert(settings_.end(), found->begin(), found->end());
            auto from = tensor_from_npy(std::move(*array), param.type.dtype, name);
            if (!from) return from.error();
            params_.back() = std::move(from->tensor);
            if (from->rounded)
                report_.notes.push_back(fmt::format("{}: its values were rounded to {}", name,
                                                    info(param.type.dtype).name));
        }
        return Ok{};
    }

    // Random tensors for the parameters without a file, and tensors for the outputs.
    void make_missing() {
        for (std::size_t i = 0; i < params_.size(); ++i) {
            const ir::Tensor& param = kernel_.params[i];
            const auto file = in_files_.find(param.name);
            const bool given = file != in_files_.end();
            if (!given)
                params_[i] =
                    random_tensor(param.type.dtype, sizes_of(report_.extents, param.type.dims),
                                  request_.seed, param.name);
            report_.inputs.push_back(
                {param.name, type_text(params_[i]),
                 given ? file->second.string() : fmt::format("random, seed {}", request_.seed)});
        }
        for (const ir::Output& output : kernel_.outputs)
            outputs_.push_back(empty_tensor(output.tensor.type.dtype,
                                            sizes_of(report_.extents, output.tensor.type.dims)));
    }

    Result<> interpret() {
        std::vector<ir::TensorView> in, out;
        for (HostTensor& tensor : params_) in.push_back(tensor.view());
        for (HostTensor& tensor : outputs_) out.push_back(tensor.view());
        return ir::interpret(kernel_, in, out);
    }

    // Compares an output with its expected values, if any were given.
    Result<> judge(const std::string& name, const HostTensor& found) {
        const auto file = expected_files_.find(name);
        if (file == expected_files_.end()) return Ok{};
        auto array = read_npy(file->second);
        if (!array) return array.error();
        auto expected = tensor_from_npy(std::move(*array), found.dtype, file->second.string());
        if (!expected) return expected.error();
        report_.verdicts.push_back({name, file->second.string(), compare(found, expected->tensor)});
        return Ok{};
    }

    Result<> finish() {
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            const std::string& name = kernel_.outputs[i].tensor.name;
            report_.outputs.push_back(
                {name, type_text(outputs_[i]), to_string(statistics_of(outputs_[i]))});
            if (auto done = judge(name, outputs_[i]); !done) return done;
            const auto file = out_files_.find(name);
            if (file == out_files_.end()) continue;
            if (auto done = write_npy(file->second, to_npy(outputs_[i])); !done)
                return blame_input(done.error());
            report_.notes.push_back(fmt::format(
                "wrote {}{}", file->second.string(),
                outputs_[i].dtype == DType::bf16 ? " as float32: NumPy has no bf16" : ""));
        }
        return Ok{};
    }

    const ir::Kernel& kernel_;
    const RunRequest& request_;
    Files in_files_, out_files_, expected_files_;
    std::vector<Setting> settings_;
    std::vector<HostTensor> params_, outputs_;
    RunReport report_;
};

}  // namespace

Result<std::vector<NamedFile>> parse_files(const std::vector<std::string>& words,
                                           std::string_view option) {
    std::vector<NamedFile> files;
    for (const std::string& word : words) {
        const auto equals = word.find('=');
        if (equals == word.npos || equals == 0 || equals + 1 == word.size())
            return blame_input({fmt::format("{} {} is not of the form TENSOR=FILE", option, word),
                                fmt::format("write it as {} x=file.npy", option)});
        files.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
    return files;
}

Result<RunReport> run_kernel(const ir::Kernel& kernel, const RunRequest& request) {
    return Run(kernel, request).run();
}

std::string to_text(const ir::Kernel& kernel, const RunReport& report) {
    std::size_t names = 0, types = 0;
    for (const auto* lines : {&report.inputs, &report.outputs})
        for (const RunReport::Line& line : *lines) {
            names = std::max(names, line.name.size());
            types = std::max(types, line.type.size());
        }
    std::string text =
        fmt::format("kernel {}: {}\n", kernel.name, describe(kernel, report.extents));
    for (const auto* lines : {&report.inputs, &report.outputs})
        for (const RunReport::Line& line : *lines)
            text += fmt::format("  {} {:{}}  {:{}}  {}\n", lines == &report.inputs ? "in " : "out",
                                line.name, names, line.type, types, line.about);
    for (const RunReport::Verdict& verdict : report.verdicts)
        text += fmt::format(
            "{} {} {}: {} ({:.2g} of the largest magnitude, {:.2g} allowed)\n", verdict.output,
            verdict.comparison.agrees ? "agrees with" : "DIFFERS from", verdict.file,
            verdict.comparison.what, verdict.comparison.error, verdict.comparison.allowed);
    for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
    return text;
}

}  // namespace fact::tools
