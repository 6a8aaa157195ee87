// The checked form of a kernel text: typed expressions over named dimensions.
//
// Meaning, shared by interpreter and emitters: floating expressions are computed in f32 by kernels
// (f64 by the interpreter); nothing is rounded to a narrower type except at Cast and at outputs.
// Products and sums accumulate in f32. Comparisons give bool; NaN compares false (but != true).
// Dimensions match by id: broadcasting an operand means that it lacks some of the result's dims.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/functions.h"
#include "ir/source_text.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "target/dtype.h"

namespace fact::ir {

enum class ExprId : std::uint32_t {};
enum class DimId : std::uint32_t {};
constexpr std::size_t index(ExprId id) {
    return static_cast<std::size_t>(id);
}
constexpr std::size_t index(DimId id) {
    return static_cast<std::size_t>(id);
}

// What the places of a window are made of: at place p, tap t is the element p * stride + t *
// dilation - before of dimension `of`. `before` and `after` count the elements outside of it that
// windows may cover, or if negative those inside that they do not see; `taps` has a constant
// extent.
struct WindowRule {
    DimId of{}, taps{};
    std::int64_t stride = 1, dilation = 1, before = 0, after = 0;
    bool operator==(const WindowRule&) const = default;
};

// A symbol bound at run time, a constant extent (its name is its digits, or a word for one of
// several dimensions of the same extent: R = 3), or a factored dimension ("8*D"), which a View can
// split. A factored one may have its own name (N = 8*D); with a single factor it is an alias
// (N = D). The places of a window are a symbol with a rule.
struct Dim {
    std::string name;
    std::optional<std::int64_t> extent;
    std::vector<DimId> factors = {};
    std::optional<WindowRule> window = {};
    bool operator==(const Dim&) const = default;
};

struct Multiple {  // the extent of `dim` must be a multiple of `of`
    DimId dim{};
    std::int64_t of = 1;
    bool operator==(const Multiple&) const = default;
};

struct Type {
    DType dtype = DType::f32;
    std::vector<DimId> dims;
    bool operator==(const Type&) const = default;
};

struct Param {  // a parameter of the kernel, as stored
    std::uint32_t index = 0;
    bool operator==(const Param&) const = default;
};
struct Literal {  // f32, i32 or bool by the expression's type; may be infinite
    double value = 0;
    bool operator==(const Literal&) const = default;
};
struct Index {  // the coordinate along a dimension, i32
    DimId dim{};
    bool operator==(const Index&) const = default;
};
struct Extent {  // how many elements a dimension has, i32
    DimId dim{};
    bool operator==(const Extent&) const = default;
};
struct Unary {
    UnaryOp op{};
    ExprId x{};
    bool operator==(const Unary&) const = default;
};
struct Binary {
    BinaryOp op{};
    ExprId a{}, b{};
    bool operator==(const Binary&) const = default;
};
struct Select {  // where(condition, a, b): the value not selected has no effect, even if it is NaN
    ExprId condition{}, a{}, b{};
    bool operator==(const Select&) const = default;
};
struct Cast {  // rounds to nearest even; to an integer: toward zero; to bool: != 0
    ExprId x{};
    bool operator==(const Cast&) const = default;
};
struct Permute {  // the same elements, dimensions in the order of the expression's type
    ExprId x{};
    bool operator==(const Permute&) const = default;
};

// x repeated along the dimensions of the expression's type that it lacks; dimensions in any order.
struct Expand {
    ExprId x{};
    bool operator==(const Expand&) const = default;
};

// The same elements in the same order under the dimensions of the expression's type: factored
// dimensions are split, neighbours merged.
struct View {
    ExprId x{};
    bool operator==(const View&) const = default;
};

// x reversed along a dimension of constant extent: the element at i is x's at extent - 1 - i.
struct Flip {
    ExprId x{};
    DimId dim{};
    bool operator==(const Flip&) const = default;
};

// x seen through windows: each dimension that the rule of one of `places` is made of becomes these
// places, and the taps follow as the last dimensions. Elements outside of x are `outside`.
struct Window {
    ExprId x{};
    std::vector<DimId> places;  // each has a WindowRule
    double outside = 0;
    bool operator==(const Window&) const = default;
};

// Reduces over dimensions that the result then lacks. The sum, max and min of no elements are 0,
// -inf and inf.
struct Reduce {
    ReduceOp op{};
    ExprId x{};
    std::vector<DimId> over;
    bool operator==(const Reduce&) const = default;
};

// Each element with all that come before it along `over`, whose last dimension runs fastest;
// backwards: with all that come after it.
struct Scan {
    ScanOp op{};
    ExprId x{};
    std::vector<DimId> over;
    bool backwards = false;
    bool operator==(const Scan&) const = default;
};

// How a product of f32 operands is computed. 16-bit operands are always `exact`: their products
// are exact in f32.
enum class Precision { exact, tf32 };

// a[..., M, K] @ b[..., K, N] -> [batch..., M, N]; batch dimensions match by id, a missing one
// broadcasts. The f32 sum of exact products; for f32 operands `exact` promises the accuracy of f32
// arithmetic except for extreme ranges (kernels split each operand into two parts).
struct Product {
    ExprId a{}, b{};
    Precision precision = Precision::exact;
    bool operator==(const Product&) const = default;
};

// softmax(scale * q @ k.T + bias) @ v over q[..., M, D], k[..., N, D], v[..., N, E]: batch
// dimensions match by id, and k and v may lack some of q's (grouped heads). With a cap, scaled
// scores s become cap * tanh(s / cap) before the bias is added. Causal: row i sees columns 0 to i.
// With a window w, row i sees only columns less than w away from i (on both sides unless causal).
// A row that sees no column, its scores all -inf, is NaN or, if `empty_rows_are_zero`, 0. Scores
// and sums are f32; kernels round the probabilities to the type of v before dividing by their sum.
// `precision` applies to both products if the operands are f32.
struct Attention {
    ExprId q{}, k{}, v{};
    std::optional<ExprId> bias;
    bool causal = false;
    double scale = 1;
    bool empty_rows_are_zero = false;
    Precision precision = Precision::exact;
    std::optional<double> cap = {};           // positive
    std::optional<std::int64_t> window = {};  // from 1 to kMaxWindow
    bool operator==(const Attention&) const = default;

    bool sees(std::int64_t row, std::int64_t column) const {
        if (causal && column > row) return false;
        return !window || std::abs(row - column) < *window;
    }
};
inline constexpr std::int64_t kMaxWindow = std::int64_t{1} << 30;  // row + window fits i32

// logsumexp of an attention's scores, after scale, cap, bias and mask: one f32 per row, -inf for a
// row that sees no column. One kernel computes it together with the attention.
struct LogSumExp {
    ExprId attention{};
    bool operator==(const LogSumExp&) const = default;
};

using Node = std::variant<Param, Literal, Index, Extent, Unary, Binary, Select, Cast, Permute,
                          Expand, View, Flip, Window, Reduce, Scan, Product, Attention, LogSumExp>;

struct Expr {
    Node node;
    Type type;
    std::string name;  // what the text calls it; "" for an unnamed subexpression
    Span span;
    bool stored = false;  // an intermediate that one kernel of a pipeline must write to memory
};

struct Tensor {  // a parameter or an output: dims in memory order, the last one contiguous
    std::string name;
    Type type;
    Span span;
};

struct Output {
    Tensor tensor;
    // Has the tensor's dims in the tensor's order; rounded to its dtype when stored.
    ExprId value{};
    bool ragged = false;  // set when lowering: its rows are no multiples of 16 bytes
};

struct Kernel {
    std::string name;
    std::vector<Dim> dims;
    std::vector<Tensor> params;
    std::vector<Output> outputs;
    std::vector<Expr> exprs;  // operands precede users
    std::vector<Multiple> multiples = {};
    // The text that spans refer to; null if line numbers are not needed.
    std::shared_ptr<const SourceText> source = {};
    Span span = {};  // of its name
    // The kernel itself is written in CUDA (dsl/cuda_text.h): ignore what the exprs compute.
    bool only_interface = false;

    const Expr& operator[](ExprId id) const { return exprs[index(id)]; }
    const Dim& operator[](DimId id) const { return dims[index(id)]; }
    ExprId add(Expr expr) {
        exprs.push_back(std::move(expr));
        return static_cast<ExprId>(exprs.size() - 1);
    }
    DimId dim(const std::string& name_or_digits);  // finds or adds
    // Finds or adds their product; a single dim is returned as it is.
    DimId factored_dim(const std::vector<DimId>& dims);
    // "8*D": the name of a factored dimension unless it has its own.
    std::string factored_name(const std::vector<DimId>& factors) const;
    bool is_named_factored_dim(const Dim& dim) const {
        return !dim.factors.empty() && dim.name != factored_name(dim.factors);
    }
    bool is_named_constant(const Dim& dim) const {
        return dim.extent && dim.name != std::to_string(*dim.extent);
    }
    // Whether the dimensions split into the same factors; constants of one extent are the same.
    bool same_factors(const std::vector<DimId>& a, const std::vector<DimId>& b) const;
    // "mlp.fact:3" for a place in the source; "" if it is not known.
    std::string line_of(Span span) const { return source ? source->line_of(span) : ""; }
    // The dimensions with every factored one replaced by its factors.
    std::vector<DimId> factors(const std::vector<DimId>& dims) const;
};

// Calls `visit` with a reference to each operand's ExprId (mutable if the node is): the one place
// that knows every node's operands.
template <class AnyNode, class Visit>
void for_each_operand(AnyNode& node, Visit visit) {
    std::visit(
        overloaded{
            [](one_of<Param, Literal, Index, Extent> auto&) {},
            [&](one_of<Unary, Cast, Permute, Expand, View, Flip, Window, Reduce, Scan> auto& n) {
                visit(n.x);
            },
            [&](one_of<Binary, Product> auto& n) { visit(n.a), visit(n.b); },
            [&](one_of<Select> auto& n) { visit(n.condition), visit(n.a), visit(n.b); },
            [&](one_of<Attention> auto& n) {
                visit(n.q), visit(n.k), visit(n.v);
                if (n.bias) visit(*n.bias);
            },
            [&](one_of<LogSumExp> auto& n) { visit(n.attention); },
        },
        node);
}

// The same for dimensions stored in the node itself, not in its type.
template <class AnyNode, class Visit>
void for_each_dim(AnyNode& node, Visit visit) {
    std::visit(overloaded{
                   [&](one_of<Index, Extent, Flip> auto& n) { visit(n.dim); },
                   [&](one_of<Window> auto& n) {
                       for (auto& dim : n.places) visit(dim);
                   },
                   [&](one_of<Reduce, Scan> auto& n) {
                       for (auto& dim : n.over) visit(dim);
                   },
                   [](one_of<Param, Literal, Unary, Binary, Select, Cast, Permute, Expand, View,
                             Product, Attention, LogSumExp> auto&) {},
               },
               node);
}

// Typed construction, used by the checker and by the rules. Each function returns the new
// expression with its type, or throws InternalError if the operands do not fit (the checker tests
// first).
class Builder {
  public:
    explicit Builder(Kernel& kernel) : kernel_(kernel) {}
    const Kernel& kernel() const { return kernel_; }
    ExprId param(std::uint32_t index);
    ExprId literal(double value, DType dtype = DType::f32);
    ExprId index(DimId dim);
    ExprId unary(UnaryOp op, ExprId x);
    ExprId binary(BinaryOp op, ExprId a, ExprId b);
    ExprId select(ExprId condition, ExprId a, ExprId b);
    ExprId cast(DType dtype, ExprId x);
    // permute, expand and view return x itself if it already has these dimensions.
    ExprId permute(ExprId x, std::vector<DimId> dims);
    ExprId transpose(ExprId x);  // swaps the last two
    ExprId expand(ExprId x, std::vector<DimId> dims);
    ExprId view(ExprId x, std::vector<DimId> dims);
    ExprId flip(ExprId x, DimId dim);
    ExprId window(ExprId x, std::vector<DimId> places, double outside = 0);
    ExprId extent(DimId dim);
    ExprId reduce(ReduceOp op, ExprId x, std::vector<DimId> over);
    ExprId scan(ScanOp op, ExprId x, std::vector<DimId> over, bool backwards = false);
    ExprId product(ExprId a, ExprId b, Precision precision = Precision::exact);
    ExprId attention(const Attention& node);
    ExprId log_sum_exp(ExprId attention);

  private:
    Kernel& kernel_;
};

// Dimensions of an elementwise result, or nullopt if neither operand's dims contain the other's
// (then one operand must be an Index, which adds its dimension to those of the other).
std::optional<std::vector<DimId>> broadcast(const std::vector<DimId>& a,
                                            const std::vector<DimId>& b);
// The element type of arithmetic on a and b: f32 if either is floating, else i64 if either is i64,
// else i32. Operands of a Binary or Select are converted to it.
DType arithmetic_type(DType a, DType b);

// Says what is ill-formed in the kernel; "" if nothing is.
std::string verify(const Kernel& kernel);

// Whether an expression reads the parameter. A parameter that is not read only supplies extents.
bool is_read(const Kernel& kernel, std::size_t param);
// Which expressions the outputs need.
std::vector<bool> reachable(const Kernel& kernel);
// Which dimensions occur in tensors, reachable expressions and `multiples`. Factors of a used
// dimension do not count as used.
std::vector<bool> used_dims(const Kernel& kernel);
// Removes expressions that no output needs; the rest keep their order.
void drop_dead(Kernel& kernel);

}  // namespace fact::ir
