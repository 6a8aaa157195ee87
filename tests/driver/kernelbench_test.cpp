#include "driver/kernelbench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

TEST(KernelBench, ModelNewReadsAsIfWrittenByHand) {
    EXPECT_EQ(to_python({"/bench/19_ReLU.py", "/runs/19/package", "/fact/python"}),
              R"PY("""KernelBench's ModelNew: the problem's Model, run by a package of FACT's.

Written by `fact export --kernelbench`. Under the same seed, Model draws the weights that the
reference has; the package computes with these.
"""

import importlib.util
import sys

sys.path.append("/fact/python")
from fact.package import PackagedModule  # noqa: E402

PROBLEM = "/bench/19_ReLU.py"
PACKAGE = "/runs/19/package"


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
        model = problem.Model(*args, **kwargs)
        super().__init__(PACKAGE, weights=model)
)PY");
}

TEST(KernelBench, CastsAndAllowsWhatThePackageNeeds) {
    const auto text = to_python({"/a \"b\".py", "/p", "/f", "bf16", {"mine", "torchvision"}});
    EXPECT_TRUE(text.starts_with(kSolutionStart));
    for (const char* part : {"import sys\n\nimport torch\n\nsys.path", R"(PROBLEM = "/a \"b\".py")",
                             "Model(*args, **kwargs).to(torch.bfloat16)\n",
                             R"(weights=model, allow=["mine", "torchvision"]))"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_NE(to_python({"/a", "/p", "/f", "fp16"}).find("torch.float16"), std::string::npos);
}

class SolutionOf : public testing::Test {
  protected:
    // Writes a package that was made from `source`.
    void made_from(const std::string& source, nlohmann::json more = nlohmann::json::object()) {
        nlohmann::json manifest{{"kind", "fact package"},
                                {"format", 2},
                                {"source", source},
                                {"files", nlohmann::json::object()},
                                {"namespaces", {"aten", "mine"}},
                                {"calls", nlohmann::json::array()},
                                {"classes", nlohmann::json::array()}};
        manifest.update(more);
        ASSERT_TRUE(write_file_atomic(package() / "manifest.json", manifest.dump()));
    }
    fs::path package() const { return folder_.path() / "package"; }
    std::string problem() const { return (folder_.path() / "problem.py").string(); }
    void SetUp() override { ASSERT_TRUE(write_file_atomic(problem(), "class Model: ...\n")); }

  private:
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-kernelbench-test"};
};

TEST_F(SolutionOf, APackage) {
    made_from(problem(), {{"asked_dtype", "bf16"}, {"training", true}});
    const auto solution = solution_of(package() / "." / "");
    ASSERT_TRUE(solution) << solution.error().text();
    EXPECT_EQ(solution->problem, problem());
    EXPECT_EQ(solution->package, package() / "");
    EXPECT_TRUE(solution->python.is_absolute());
    EXPECT_EQ(solution->python.filename(), "python");
    EXPECT_EQ(solution->dtype, "bf16");
    EXPECT_EQ(solution->allow, std::vector<std::string>{"mine"});
    EXPECT_TRUE(solution->training);
}

TEST_F(SolutionOf, TheProblemHasToBeAFile) {
    const auto refusal = [&](const std::string& given = {}) {
        const auto solution = solution_of(package(), given);
        if (solution) return solution->problem.string();
        EXPECT_TRUE(solution.error().bad_input);
        EXPECT_NE(solution.error().hint.find(given.empty() ? "" : "--source"), std::string::npos);
        return solution.error().message;
    };
    EXPECT_NE(refusal().find("is not a package"), std::string::npos);
    made_from("");
    EXPECT_NE(refusal().find("does not say which source"), std::string::npos);
    made_from("models:block");
    EXPECT_NE(refusal().find("made from models:block, which is not a file"), std::string::npos);
    EXPECT_EQ(refusal(problem()), problem());
    EXPECT_NE(refusal("/nowhere/else.py").find("/nowhere/else.py is not a file"),
              std::string::npos);
}

}  // namespace
}  // namespace fact::driver
