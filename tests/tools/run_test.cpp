#include "tools/run.h"

#include <cmath>
#include <limits>

#include "ir/number.h"
#include "kernels.h"
#include "support/files.h"

namespace fact::tools {
namespace {

HostTensor tensor(DType dtype, const std::vector<double>& values) {
    HostTensor out = empty_tensor(dtype, {static_cast<std::int64_t>(values.size())});
    ir::store(out.data.data(), dtype, 0, 1, out.count(), values.data());
    return out;
}

NpyArray floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    return {NpyType::f4, std::move(shape), {bytes, bytes + values.size() * sizeof(float)}};
}

TEST(Statistics, OfOrdinaryAndOddNumbers) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const auto plain = statistics_of(tensor(DType::f32, {1, -2, 4}));
    EXPECT_EQ(plain.min, -2);
    EXPECT_EQ(plain.max, 4);
    EXPECT_EQ(plain.mean, 1);
    EXPECT_EQ(to_string(plain).substr(0, 25), "min -2  max 4  mean 1  ch");
    const auto odd = statistics_of(tensor(DType::f32, {NAN, kInf, 3, -1}));
    EXPECT_EQ(odd.nans, 1);
    EXPECT_EQ(odd.infinities, 1);
    EXPECT_EQ(odd.max, kInf);
    EXPECT_EQ(odd.mean, 1);
    EXPECT_NE(to_string(odd).find("NaN 1  infinite 1"), std::string::npos);
    EXPECT_EQ(to_string(statistics_of(tensor(DType::f32, {NAN}))).substr(0, 7), "all NaN");
    EXPECT_EQ(to_string(statistics_of(tensor(DType::f32, {}))).substr(0, 5), "empty");
}

TEST(Statistics, ChecksumsFollowTypeSizesAndValues) {
    const auto one = tensor(DType::f32, {1, 2}), same = tensor(DType::f32, {1, 2});
    EXPECT_EQ(statistics_of(one).checksum, statistics_of(same).checksum);
    EXPECT_NE(statistics_of(one).checksum, statistics_of(tensor(DType::f32, {1, 3})).checksum);
    HostTensor other = one;
    other.sizes = {2, 1};
    EXPECT_NE(statistics_of(one).checksum, statistics_of(other).checksum);
}

TEST(RandomTensor, IsNormalRoundedAndTheSameForASeed) {
    const auto a = random_tensor(DType::bf16, {100, 100}, 3, "x");
    EXPECT_EQ(a.data, random_tensor(DType::bf16, {100, 100}, 3, "x").data);
    EXPECT_NE(a.data, random_tensor(DType::bf16, {100, 100}, 4, "x").data);
    EXPECT_NE(a.data, random_tensor(DType::bf16, {100, 100}, 3, "w").data);
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < a.count(); ++i) {
        double value = 0;
        ir::load(a.data.data(), a.dtype, i, 1, 1, &value);
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / 1e4, 0, 0.05);
    EXPECT_NEAR(squares / 1e4, 1, 0.05);
    const auto flags = statistics_of(random_tensor(DType::boolean, {1000}, 1, "m"));
    EXPECT_NEAR(flags.mean, 0.5, 0.1);
    const auto counts = statistics_of(random_tensor(DType::i32, {1000}, 1, "i"));
    EXPECT_LT(counts.min, -5);
    EXPECT_GT(counts.max, 5);
}

TEST(FromNpy, ConvertsOnlyWhatKeepsItsMeaning) {
    const auto rounded = tensor_from_npy(floats({2}, {1, 1.001f}), DType::bf16, "x.npy");
    ASSERT_TRUE(rounded);
    EXPECT_TRUE(rounded->rounded);
    EXPECT_EQ(rounded->tensor.data.size(), 4u);
    const auto exact = tensor_from_npy(floats({2}, {1, NAN}), DType::f16, "x.npy");
    ASSERT_TRUE(exact);
    EXPECT_FALSE(exact->rounded);
    const auto wrong = tensor_from_npy(floats({1}, {1}), DType::i32, "x.npy");
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().text().find("save it as int32"), std::string::npos);
    const NpyArray wide{NpyType::i2, {1}, std::string("\x00\x02", 2)};
    EXPECT_FALSE(tensor_from_npy(wide, DType::u8, "x.npy"));
    EXPECT_TRUE(tensor_from_npy(wide, DType::i64, "x.npy"));
    EXPECT_FALSE(tensor_from_npy({NpyType::u1, {1}, "\1"}, DType::boolean, "x.npy"));
}

class RunKernel : public testing::Test {
  protected:
    TemporaryFolder folder_{testing::TempDir(), "run"};
    dsl::Program program_ = compiled(
        "kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N]) -> (y: bf16[M, N], z: f32[M, N]) {\n"
        "  acc = x @ w.T\n"
        "  y = relu(acc + b)\n"
        "  z = acc\n"
        "}\n");
    const ir::Kernel& kernel_ = program_.kernels[0];
    std::filesystem::path in(const char* name) const { return folder_.path() / name; }
};

TEST_F(RunKernel, ComputesGivenTensorsAndWritesOutputs) {
    ASSERT_TRUE(write_npy(in("x.npy"), floats({2, 2}, {1, 2, 3, 4})));
    ASSERT_TRUE(write_npy(in("w.npy"), floats({1, 2}, {1, -1})));
    ASSERT_TRUE(write_npy(in("b.npy"), floats({1}, {1.5})));
    RunRequest request;
    request.inputs = {{"x", in("x.npy")}, {"w", in("w.npy")}, {"b", in("b.npy")}};
    request.outputs = {{"y", in("y.npy")}, {"z", in("z.npy")}};
    const auto report = run_kernel(kernel_, request);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(*read_npy(in("y.npy")), floats({2, 1}, {0.5, 0.5}));
    EXPECT_EQ(*read_npy(in("z.npy")), floats({2, 1}, {-1, -1}));
    const std::string text = to_text(kernel_, *report);
    EXPECT_TRUE(text.starts_with("kernel f: M = 2, K = 2, N = 1\n")) << text;
    EXPECT_NE(text.find("out y  bf16[2, 1]  min 0.5  max 0.5  mean 0.5  checksum "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("y.npy as float32: NumPy has no bf16"), std::string::npos);
    EXPECT_EQ(text.find("z.npy as float32"), std::string::npos);
}

TEST_F(RunKernel, FillsInWhatIsNotGiven) {
    RunRequest request;
    request.settings = {{"M", 3, "--set M=3"}};
    const auto once = run_kernel(kernel_, request);
    ASSERT_TRUE(once) << once.error().text();
    const auto twice = run_kernel(kernel_, request);
    EXPECT_EQ(once->outputs[0].about, twice->outputs[0].about);
    EXPECT_EQ(once->outputs[0].type, "bf16[3, 16]");
    request.seed = 1;
    EXPECT_NE(run_kernel(kernel_, request)->outputs[0].about, once->outputs[0].about);
    EXPECT_NE(to_text(kernel_, *once).find("M = 3, K = 16 (assumed), N = 16 (assumed)"),
              std::string::npos);
}

TEST_F(RunKernel, EmptyTensorsAreFine) {
    ASSERT_TRUE(write_npy(in("x.npy"), floats({0, 4}, {})));
    RunRequest request;
    request.inputs = {{"x", in("x.npy")}};
    const auto report = run_kernel(kernel_, request);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->outputs[0].about.substr(0, 5), "empty");
}

TEST_F(RunKernel, SaysWhatDoesNotFit) {
    const auto refused = [&](const RunRequest& request) {
        const auto report = run_kernel(kernel_, request);
        EXPECT_FALSE(report);
        EXPECT_TRUE(report || report.error().bad_input);
        return report ? std::string() : report.error().text();
    };
    ASSERT_TRUE(write_npy(in("x.npy"), floats({2, 2}, {1, 2, 3, 4})));
    RunRequest unknown;
    unknown.inputs = {{"q", in("x.npy")}};
    EXPECT_EQ(refused(unknown), "--in q: the kernel has no parameter 'q'\n  it has x, w, b");
    RunRequest output;
    output.outputs = {{"x", in("x.npy")}};
    EXPECT_NE(refused(output).find("no output 'x'"), std::string::npos);
    RunRequest twice;
    twice.inputs = {{"x", in("x.npy")}, {"x", in("x.npy")}};
    EXPECT_NE(refused(twice).find("given twice"), std::string::npos);
    RunRequest rank;
    rank.inputs = {{"b", in("x.npy")}};
    EXPECT_NE(refused(rank).find("has 2 dimensions, 'b' has 1"), std::string::npos);
    RunRequest extent;
    extent.inputs = {{"x", in("x.npy")}};
    extent.settings = {{"K", 3, "--set K=3"}};
    EXPECT_NE(refused(extent).find("K is 3 according to --set K=3, but 2 according to"),
              std::string::npos);
    RunRequest large;
    large.settings = {{"M", 1 << 20, ""}, {"N", 1 << 20, ""}};
    EXPECT_NE(refused(large).find("choose smaller extents"), std::string::npos);
    RunRequest missing;
    missing.inputs = {{"x", in("missing.npy")}};
    EXPECT_NE(refused(missing).find("missing.npy"), std::string::npos);
}

TEST(ParseFiles, NamesAndFiles) {
    const auto files = parse_files({"x=a=b.npy"}, "--in");
    ASSERT_TRUE(files);
    EXPECT_EQ((*files)[0].tensor, "x");
    EXPECT_EQ((*files)[0].file, "a=b.npy");
    for (const char* word : {"", "x", "=a", "x="}) EXPECT_FALSE(parse_files({word}, "--in"));
}

}  // namespace
}  // namespace fact::tools
