#include "match/text/naming.h"

#include <algorithm>

#include "match/formulas/activations.h"

namespace fact::match {
namespace {

constexpr std::size_t kMaxTags = 5;

bool has(const std::vector<ir::DimId>& dims, ir::DimId dim) {
    return std::ranges::find(dims, dim) != dims.end();
}

bool is_matrix(const MatrixDims& matrix, const std::vector<ir::DimId>& dims) {
    return has(dims, matrix.m) && has(dims, matrix.n);
}

bool is_row(const MatrixDims& matrix, const std::vector<ir::DimId>& dims) {
    return dims.size() == 1 && has(dims, matrix.n);
}

}  // namespace

std::string kernel_name(const std::string& base, const ir::Kernel& kernel,
                        const std::vector<std::string>& tags) {
    const auto needed = ir::reachable(kernel);
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < tags.size(); ++i)
        if (needed[i] && !tags[i].empty() && (parts.empty() || parts.back() != tags[i]))
            parts.push_back(tags[i]);
    if (parts.size() > kMaxTags) {
        parts.resize(kMaxTags - 1);
        parts.push_back("etc");
    }
    std::string name = base;
    for (const auto& part : parts) name += "_" + part;
    // "matmul" alone is a function of the language.
    return name == "matmul" ? "plain_matmul" : name;
}

std::string combination_tag(std::string_view tag, const MatrixDims& matrix,
                            const std::vector<ir::DimId>& dims) {
    if (tag == "add") {
        if (dims.empty()) return "shift";
        if (is_row(matrix, dims)) return "bias";
        if (is_matrix(matrix, dims)) return "residual";
    }
    if ((tag == "mul" || tag == "div") && dims.empty()) return "scale";
    return std::string(tag);
}

std::string side_name(std::string_view tag, std::string_view argument, DType dtype,
                      const MatrixDims& matrix, const std::vector<ir::DimId>& dims) {
    if (argument == "mask" || argument == "condition" || dtype == DType::boolean || tag.empty())
        return "mask";
    if (tag == "add" || tag == "sub") {
        if (is_row(matrix, dims)) return "bias";
        return is_matrix(matrix, dims) ? "residual" : "addend";
    }
    if (tag == "mul" || tag == "div") return is_matrix(matrix, dims) ? "factor" : "scale";
    if (tag == "mask") return "other";
    return "side";
}

}  // namespace fact::match
