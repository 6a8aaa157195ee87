#include "driver/kernelbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/environment.h"
#include "package/manifest.h"
#include "package/operators.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

// A string of JSON is one of Python, too.
std::string python_text(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string python_list(const std::vector<std::string>& texts) {
    std::vector<std::string> out(texts.size());
    std::ranges::transform(texts, out.begin(), python_text);
    return fmt::format("[{}]", fmt::join(out, ", "));
}

Error no_problem(const std::string& what) {
    return {what, "give the file that defines Model with --source FILE", true};
}

}  // namespace

Result<Solution> solution_of(const fs::path& package, std::string source) {
    const auto manifest = package::read_manifest(package);
    if (!manifest) return blame_input(manifest.error());
    const auto& origin = manifest->origin;
    const bool given = !source.empty();
    if (!given) source = origin.source;
    if (source.empty()) return no_problem("the package does not say which source it was made from");
    std::error_code ignored;
    if (!fs::is_regular_file(source, ignored))
        return no_problem(
            given ? source + " is not a file"
                  : fmt::format("the package was made from {}, which is not a file", source));
    const auto root = own_folder();
    if (!root) return root.error();
    const auto whole = [](const fs::path& path) { return fs::absolute(path).lexically_normal(); };
    return Solution{whole(source),
                    whole(package),
                    whole(*root) / "python",
                    origin.asked_dtype,
                    package::to_be_allowed(manifest->namespaces),
                    origin.training};
}

std::string to_python(const Solution& solution) {
    std::string cast, imports, allow;
    if (!solution.dtype.empty()) {
        imports = "import torch\n\n";
        cast = fmt::format(".to(torch.{})", solution.dtype == "bf16" ? "bfloat16" : "float16");
    }
    if (!solution.allow.empty()) allow = ", allow=" + python_list(solution.allow);
    return fmt::format(R"PY({start}: the problem's Model, run by a package of FACT's.

Written by `fact export --kernelbench`. Under the same seed, Model draws the weights that the
reference has; the package computes with these.
"""

import importlib.util
import sys

{imports}sys.path.append({python})
from fact.package import PackagedModule  # noqa: E402

PROBLEM = {problem}
PACKAGE = {package}


def load(path):
    spec = importlib.util.spec_from_file_location("kernelbench_problem", path)
    problem = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = problem
    spec.loader.exec_module(problem)
    return problem


problem = load(PROBLEM)


class ModelNew(PackagedModule):
    """Takes the arguments of Model, and has its weights under the same names."""

    def __init__(self, *args, **kwargs):
        model = problem.Model(*args, **kwargs){cast}
        super().__init__(PACKAGE, weights=model{allow})
)PY",
                       fmt::arg("start", kSolutionStart), fmt::arg("imports", imports),
                       fmt::arg("python", python_text(solution.python.string())),
                       fmt::arg("problem", python_text(solution.problem.string())),
                       fmt::arg("package", python_text(solution.package.string())),
                       fmt::arg("cast", cast), fmt::arg("allow", allow));
}

}  // namespace fact::driver
