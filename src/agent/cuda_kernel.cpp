#include "agent/cuda_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "dsl/cuda_text.h"

namespace fact::agent {

namespace {

constexpr std::size_t kLongestDirective = 200;  // in bytes

// Whether it is "common/plain.cuh", or a plain name in angle brackets: <cuda_bf16.h>.
bool is_allowed_header(std::string_view named) {
    named = named.substr(0, named.find("//"));
    const auto begin = named.find_first_not_of(" \t");
    const auto end = named.find_last_not_of(" \t\r");
    if (begin == named.npos) return false;
    named = named.substr(begin, end + 1 - begin);
    if (named == "\"common/plain.cuh\"") return true;
    if (named.size() < 3 || named.front() != '<' || named.back() != '>') return false;
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '/' || c == '.';
    };
    const auto name = named.substr(1, named.size() - 2);
    return std::ranges::all_of(name, plain) && name.front() != '/' && name.find("..") == name.npos;
}

// The compiler's messages would quote any included file. So a line that has the sign of a
// directive, in any spelling, and then "include" or "embed" has to be a plain #include of an
// allowed header. This is no sandbox.
Result<> check_includes(std::string source) {
    for (auto at = source.find("\\\n"); at != source.npos; at = source.find("\\\n", at))
        source.erase(at, 2);
    std::istringstream lines(source);
    for (std::string line; std::getline(lines, line);) {
        // The trigraph is in two literals, so that this file's compiler does not replace it.
        const auto sign = std::min({line.find('#'), line.find("%:"),
                                    line.find("?"
                                              "?=")});
        if (sign == line.npos) continue;
        const auto word = std::min(line.find("include", sign), line.find("embed", sign));
        if (word == line.npos) continue;
        const bool plain = line.find_first_not_of(" \t") == sign && line[sign] == '#' &&
                           line.find_first_not_of(" \t", sign + 1) == word &&
                           line.compare(word, 7, "include") == 0;
        if (!plain || line.size() > kLongestDirective ||
            !is_allowed_header(std::string_view(line).substr(word + 7)))
            return Error{fmt::format("the source must not contain {}", line.substr(0, 120)),
                         "include \"common/plain.cuh\" and headers of CUDA such as <cuda_bf16.h>",
                         true};
    }
    return Ok{};
}

// " - index(M) - index(N)": makes an expression depend on every dimension of the tensor.
std::string coordinates(const Tensor& tensor, const char* before) {
    std::string text;
    for (const auto& dim : tensor.dim_names) text += fmt::format("{}index({})", before, dim);
    return text;
}

// The body of a placeholder text. Its outputs are NaN wherever their type allows: no check accepts
// that as a result.
Result<std::string> placeholder_body(const graph::Graph& graph, const Interface& interface) {
    std::string body;
    bool any_floating = false;
    for (const auto& tensor : interface.results) {
        const auto dtype = graph[tensor.value].type->dtype;
        if (info(dtype).floating) {
            body += fmt::format("  {} = sqrt(-1.0{})\n", tensor.name, coordinates(tensor, " - "));
            any_floating = true;
        } else if (dtype == DType::boolean) {
            body += fmt::format("  {} = 0.0{} < 0.0\n", tensor.name, coordinates(tensor, " + "));
        } else {
            return Error{fmt::format("{} has integers, which a kernel cannot output", tensor.name),
                         "", true};
        }
    }
    if (!any_floating)
        return Error{"none of the kernel's results has a floating-point type", "", true};
    return body;
}

}  // namespace

Result<std::string> cuda_kernel(const std::string& name, const graph::Graph& graph,
                                const Interface& interface, const std::string& source) {
    if (source.find("FACT_ENTRY") == source.npos)
        return Error{"the source has no entry point",
                     "declare extern \"C\" __global__ void FACT_ENTRY(__grid_constant__ "
                     "PlainArguments<FACT_TENSORS> const arguments), as in the example",
                     true};
    if (auto fine = check_includes(source); !fine) return fine.error();
    for (const auto* list : {&interface.params, &interface.results})
        for (const auto& tensor : *list)
            if (tensor.dims.size() > 4)
                return Error{
                    fmt::format("{} has more than 4 dimensions, too many for a kernel written "
                                "in CUDA",
                                tensor.name),
                    "", true};
    const auto body = placeholder_body(graph, interface);
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
