#include "random_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace fact::dsl {
namespace {

using ir::ExprId;

class Generator {
  public:
    explicit Generator(std::uint32_t seed) : random_(seed) {
        kernel_.name = fmt::format("random{}", seed);
    }

    ir::Kernel run() {
        const char* names[] = {"B", "H", "M", "N", "K", "8", "D0"};
        for (const char* name : names) kernel_.dim(name);
        const int params = 2 + below(5);
        for (int i = 0; i < params; ++i) {
            kernel_.params.push_back({fmt::format("p{}", i), {any_dtype(), some_dims()}, {}});
            values_.push_back(builder_.param(static_cast<std::uint32_t>(i)));
        }
        add_matrices();
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
            if (below(2)) dims.push_back(static_cast<ir::DimId>(i));
        std::shuffle(dims.begin(), dims.end(), random_);
        return dims;
    }

    // Operands that fit a product, which random shapes hardly ever do.
    void add_matrices() {
        const auto d = [&](const char* name) { return kernel_.dim(name); };
        const DType dtype = below(2) ? DType::bf16 : DType::f32;
        const auto add = [&](std::string name, std::vector<ir::DimId> dims) {
            kernel_.params.push_back({std::move(name), {dtype, std::move(dims)}, {}});
            const auto position = static_cast<std::uint32_t>(kernel_.params.size() - 1);
            return builder_.param(position);
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

    void grow() {
        switch (below(10)) {
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
            default:
                return binary();
        }
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
