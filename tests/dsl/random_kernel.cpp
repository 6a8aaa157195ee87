#include "random_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace fact::dsl {
namespace {

using ir::ExprId;

constexpr std::size_t kMaxRank = 8;  // the language's own limit

class Generator {
  public:
    explicit Generator(std::uint32_t seed) : random_(seed) {
        kernel_.name = fmt::format("random{}", seed);
    }

    ir::Kernel run() {
        const char* names[] = {"B", "H", "M", "N", "K", "8", "D0"};
        for (const char* name : names) kernel_.dim(name);
        // Some products have a name of their own.
        for (const auto& [a, b] : {std::pair{"H", "K"}, {"8", "D0"}, {"M", "8"}}) {
            const std::vector<ir::DimId> factors{kernel_.dim(a), kernel_.dim(b)};
            if (below(3) == 0)
                kernel_.dims.push_back({fmt::format("P{}", kernel_.dims.size()), {}, factors});
            else
                kernel_.factored_dim(factors);
        }
        for (int rules = below(3); rules > 0; --rules)
            kernel_.multiples.push_back({kernel_.dim(names[below(5)]), 1 + below(9)});
        const int params = 2 + below(5);
        for (int i = 0; i < params; ++i) {
            kernel_.params.push_back({fmt::format("p{}", i), {any_dtype(), some_dims()}, {}});
            values_.push_back(builder_.param(static_cast<std::uint32_t>(i)));
        }
        add_matrices();
        if (below(3) == 0) add_attention();
        const int steps = 3 + below(40);
        for (int i = 0; i < steps; ++i) grow();
        const int outputs = 1 + below(3);
        for (int i = 0; i < outputs; ++i) add_output(fmt::format("out{}", i));
        return std::move(kernel_);
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
    ExprId any() { return values_[below(static_cast<int>(values_.size()))]; }
    const ir::Type& type(ExprId id) const { return kernel_[id].type; }

    DType any_dtype() { return static_cast<DType>(below(9)); }  // f64 is the last, left out

    std::vector<ir::DimId> some_dims() {
        std::vector<ir::DimId> dims;
        for (std::size_t i = 0; i < kernel_.dims.size(); ++i)
            if (below(kernel_.dims[i].factors.empty() ? 2 : 4) == 0)
                dims.push_back(static_cast<ir::DimId>(i));
        std::shuffle(dims.begin(), dims.end(), random_);
        if (dims.size() > kMaxRank) dims.resize(kMaxRank);
        return dims;
    }

    ir::DimId d(const char* name) { return kernel_.dim(name); }
    ExprId add_param(std::string name, DType dtype, std::vector<ir::DimId> dims) {
        kernel_.params.push_back({std::move(name), {dtype, std::move(dims)}, {}});
        return builder_.param(static_cast<std::uint32_t>(kernel_.params.size() - 1));
    }

    // Operands that fit a product, which random shapes hardly ever do.
    void add_matrices() {
        const DType dtype = below(2) ? DType::bf16 : DType::f32;
        const auto add = [&](std::string name, std::vector<ir::DimId> dims) {
            return add_param(std::move(name), dtype, std::move(dims));
        };
        add("grid", {d("D0"), d("8")});
        const auto x = add("x", {d("B"), d("H"), d("M"), d("K")});
        const auto w = add("w", {d("N"), d("K")});
        const auto v = add("v", {d("H"), d("K"), d("N")});
        const auto precision =
            dtype == DType::f32 && below(2) ? ir::Precision::tf32 : ir::Precision::exact;
        values_.push_back(builder_.product(x, builder_.transpose(w), precision));
        if (below(2)) kernel_.exprs.back().name = "acc";
        values_.push_back(builder_.product(x, v));
        values_.insert(values_.end(), {x, w, v});
    }

    void add_attention() {
        ir::Attention node;
        node.q = add_param("q", DType::bf16, {d("B"), d("H"), d("M"), d("K")});
        node.k = add_param("k", DType::bf16, {d("H"), d("N"), d("K")});
        node.v = add_param("v2", DType::bf16, {d("B"), d("N"), d("D0")});
        if (below(2)) node.bias = builder_.index(d("N"));
        node.causal = below(2);
        if (below(2)) node.window = 1 + below(5000);
        node.empty_rows_are_zero = below(2);
        node.scale = below(2) ? 1 : std::ldexp(static_cast<double>(random_()), -35);
        if (below(2)) node.cap = std::ldexp(static_cast<double>(random_()) + 1, -30);
        const ir::ExprId attention = builder_.attention(node);
        push(attention);
        if (below(2)) push(builder_.log_sum_exp(attention));
    }

    void grow() {
        switch (below(16)) {
            case 0:
                return push(builder_.literal(any_number()));
            case 1:
                return push(builder_.literal(below(200) - 100, DType::i32));
            case 2:
                return push(builder_.index(
                    static_cast<ir::DimId>(below(static_cast<int>(kernel_.dims.size())))));
            case 3:
                return push(builder_.cast(any_dtype(), any()));
            case 4: {
                auto dims = type(values_.back()).dims;
                std::shuffle(dims.begin(), dims.end(), random_);
                return push(builder_.permute(values_.back(), dims));
            }
            case 5:
                return unary();
            case 6:
                return select();
            case 7:
                return push(builder_.extent(
                    static_cast<ir::DimId>(below(static_cast<int>(kernel_.dims.size())))));
            case 8:
                return reduce();
            case 9:
            case 10:
                return view();
            case 11:
                return flip();
            case 12:
                return expand();
            default:
                return binary();
        }
    }

    void reduce() {
        const ExprId x = any();
        std::vector<ir::DimId> over;
        for (const ir::DimId dim : type(x).dims)
            if (below(2)) over.push_back(dim);
        std::shuffle(over.begin(), over.end(), random_);
        const auto& reduction = ir::kReductions[below(static_cast<int>(ir::kReductions.size()))];
        if (over.empty()) return;
        const auto& scan = ir::kScans[below(static_cast<int>(ir::kScans.size()))];
        push(below(3) ? builder_.reduce(reduction.op, x, over)
                      : builder_.scan(scan.op, x, over, below(2) == 0));
    }

    void flip() {
        const ExprId x = any();
        for (const ir::DimId dim : type(x).dims)
            if (kernel_[dim].extent) return push(builder_.flip(x, dim));
    }

    void expand() {
        const ExprId x = any();
        auto dims = type(x).dims;
        for (const ir::DimId dim : some_dims())
            if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
        std::shuffle(dims.begin(), dims.end(), random_);
        if (dims.size() <= kMaxRank) push(builder_.expand(x, dims));
    }

    // Takes a product of dimensions apart, or puts two neighbours together.
    void view() {
        const ExprId x = any();
        auto dims = type(x).dims;
        if (dims.empty()) return;
        const auto at = dims.begin() + below(static_cast<int>(dims.size()));
        if (!kernel_[*at].factors.empty()) {
            const auto factors = kernel_[*at].factors;
            dims.insert(dims.erase(at), factors.begin(), factors.end());
        } else if (at + 1 != dims.end()) {
            if (kernel_.factors({at[0], at[1]}).size() > kMaxRank) return;
            at[0] = kernel_.factored_dim({at[0], at[1]});
            dims.erase(at + 1);
        }
        const std::set<ir::DimId> distinct(dims.begin(), dims.end());
        if (dims.size() <= kMaxRank && distinct.size() == dims.size()) push(builder_.view(x, dims));
    }

    double any_number() {
        const double special[] = {0.0,
                                  -0.0,
                                  1.0,
                                  0.5,
                                  1e-3,
                                  1e30,
                                  0.7978845608028654,
                                  std::numeric_limits<double>::infinity()};
        if (below(2)) return special[below(8)];
        return std::ldexp(static_cast<double>(random_()) - 2e9, below(80) - 60);
    }

    void unary() {
        const auto op = static_cast<ir::UnaryOp>(below(static_cast<int>(ir::kUnary.size())));
        const ExprId x = any();
        if (op != ir::UnaryOp::logical_not || type(x).dtype == DType::boolean)
            push(builder_.unary(op, x));
    }

    void binary() {
        auto op = static_cast<ir::BinaryOp>(below(static_cast<int>(ir::kBinary.size())));
        const ExprId a = any(), b = any();
        const bool logical = op == ir::BinaryOp::logical_and || op == ir::BinaryOp::logical_or;
        const bool both = type(a).dtype == DType::boolean && type(b).dtype == DType::boolean;
        if (logical && !both) op = ir::BinaryOp::sub;
        if (ir::broadcast(type(a).dims, type(b).dims)) push(builder_.binary(op, a, b));
    }

    void select() {
        const ExprId a = any(), b = any(), c = any();
        if (type(c).dtype != DType::boolean) return;
        const auto dims = ir::broadcast(type(a).dims, type(b).dims);
        if (dims && ir::broadcast(*dims, type(c).dims)) push(builder_.select(c, a, b));
    }

    void push(ExprId id) {
        if (below(8) == 0 && kernel_[id].name.empty()) {
            const char* names[] = {"t", "acc", "exp", "p0", "M", "out0", "x y", "t1"};
            kernel_.exprs[ir::index(id)].name = names[below(8)];
        }
        if (below(16) == 0 && !std::holds_alternative<ir::Param>(kernel_[id].node))
            kernel_.exprs[ir::index(id)].stored = true;
        values_.push_back(id);
    }

    void add_output(std::string name) {
        const ExprId value = below(3) ? values_.back() : any();
        const ir::Type stored{type(value).dtype, type(value).dims};
        const bool rounds = info(stored.dtype).floating && below(2);
        kernel_.outputs.push_back(
            {{std::move(name), {rounds ? DType::bf16 : stored.dtype, stored.dims}, {}}, value});
    }

    std::mt19937 random_;
    ir::Kernel kernel_;
    ir::Builder builder_{kernel_};
    std::vector<ExprId> values_;
};

}  // namespace

ir::Kernel random_kernel(std::uint32_t seed) {
    return Generator(seed).run();
}

}  // namespace fact::dsl
