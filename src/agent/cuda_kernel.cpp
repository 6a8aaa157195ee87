#include "agent/cuda_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>

#include "agent/answer.h"
#include "dsl/cuda_text.h"

namespace fact::agent {

namespace {

// Whatever file is named comes back in the compiler's words: only headers of CUDA's and of ours.
Result<> check_includes(const std::string& source) {
    static const std::regex directive(
        "(^|\n)[ \t]*(#|%:|\\?\\?=)[ \t]*(include\\w*|embed)([^\n]*)");
    static const std::regex system("[ \t]*<[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*(\\.[a-z]+)?>.*");
    static const std::regex own("[ \t]*\"common/plain\\.cuh\".*");
    for (std::sregex_iterator it(source.begin(), source.end(), directive), end; it != end; ++it) {
        const auto what = (*it)[4].str();
        if ((*it)[3] == "include" &&
            (std::regex_match(what, system) || std::regex_match(what, own)))
            continue;
        return Error{fmt::format("it may not have #{}{}", (*it)[3].str(), what),
                     "include \"common/plain.cuh\" and headers of CUDA such as <cuda_bf16.h>",
                     true};
    }
    return Ok{};
}

std::string coordinates(const Tensor& tensor, const char* before) {
    std::string text;
    for (const auto& dim : tensor.dim_names) text += fmt::format("{}index({})", before, dim);
    return text;
}

// Not a number where it can be: no check takes it for a result.
Result<std::string> void_body(const graph::Graph& graph, const Interface& interface) {
    std::string body;
    bool any = false;
    for (const auto& tensor : interface.results) {
        const auto dtype = graph[tensor.value].type->dtype;
        if (info(dtype).floating) {
            body += fmt::format("  {} = sqrt(-1.0{})\n", tensor.name, coordinates(tensor, " - "));
            any = true;
        } else if (dtype == DType::boolean) {
            body += fmt::format("  {} = 0.0{} < 0.0\n", tensor.name, coordinates(tensor, " + "));
        } else {
            return Error{fmt::format("{} is of integers, which no kernel gives", tensor.name), "",
                         true};
        }
    }
    if (!any) return Error{"none of its results is of floating-point numbers", "", true};
    return body;
}

}  // namespace

Result<std::string> read_cuda(const std::string& answer) {
    return read_code_block(answer);
}

Result<std::string> cuda_kernel(const std::string& name, const graph::Graph& graph,
                                const Interface& interface, const std::string& source) {
    if (source.find("FACT_ENTRY") == source.npos)
        return Error{"it has no entry point",
                     "extern \"C\" __global__ void FACT_ENTRY(__grid_constant__ Arguments const "
                     "arguments), as in the example",
                     true};
    if (auto fine = check_includes(source); !fine) return fine.error();
    for (const auto* list : {&interface.params, &interface.results})
        for (const auto& tensor : *list)
            if (tensor.dims.size() > 4)
                return Error{fmt::format("{} has more than 4 dimensions, which a kernel written in "
                                         "CUDA is not given",
                                         tensor.name),
                             "", true};
    const auto body = void_body(graph, interface);
    if (!body) return body.error();
    auto kernel = empty_kernel(name, graph, interface);
    kernel.resize(kernel.rfind('{') + 1);
    return dsl::cuda_text(source, kernel + "\n" + *body + "}\n");
}

std::vector<std::string> cuda_tensors(const graph::Graph& graph, const Interface& interface) {
    std::vector<std::string> lines;
    const auto add = [&](const Tensor& tensor, const char* use) {
        const auto& type = *graph[tensor.value].type;
        std::vector<std::int64_t> sizes, strides;
        for (const int dim : tensor.dims) {
            sizes.push_back(type.sizes[static_cast<std::size_t>(dim)]);
            strides.push_back(type.strides[static_cast<std::size_t>(dim)]);
        }
        lines.push_back(fmt::format(
            "tensors[{}]: {}, FACT_TYPE_{} is {} ({}), sizes [{}], strides [{}], {}; in PyTorch of "
            "sizes [{}]",
            lines.size(), tensor.name, lines.size(), info(type.dtype).cuda, info(type.dtype).name,
            fmt::join(sizes, ", "), fmt::join(strides, ", "), use, fmt::join(type.sizes, ", ")));
    };
    for (const auto& tensor : interface.params) add(tensor, "read");
    for (const auto& tensor : interface.results) add(tensor, "written");
    return lines;
}

}  // namespace fact::agent
