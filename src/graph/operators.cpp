#include "graph/operators.h"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "graph/identity.h"
#include "graph/products.h"
#include "support/result.h"

namespace fact::graph {

namespace {

using OperatorTable = std::map<std::string_view, OperatorFacts>;

OperatorTable make_table() {
    OperatorTable table;
    using Names = std::initializer_list<std::string_view>;
    const auto add = [&](OperatorKind kind, double flops, Names names,
                         Along along = Along::nothing) {
        for (const std::string_view name : names)
            table.emplace(name, OperatorFacts{kind, flops, Motion::none, along});
    };
    const auto move = [&](OperatorKind kind, Motion motion, Names names) {
        for (const std::string_view name : names)
            table.emplace(name, OperatorFacts{kind, 0, motion, Along::nothing});
    };
    move(OperatorKind::view, Motion::same, {"alias", "detach", "contiguous", "lift_fresh"});
    move(OperatorKind::view, Motion::reshape,
         {"view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"});
    move(OperatorKind::view, Motion::permute, {"permute", "transpose", "t"});
    move(OperatorKind::view, Motion::expand, {"expand"});
    move(OperatorKind::view, Motion::slice, {"slice"});
    move(OperatorKind::view, Motion::select, {"select"});
    move(OperatorKind::view, Motion::split, {"split", "split_with_sizes", "chunk", "unbind"});
    // Views the same bytes as numbers of another type.
    move(OperatorKind::view, Motion::none, {"view.dtype"});
    move(OperatorKind::view, Motion::none,
         {"_reshape_alias", "adjoint",  "as_strided",   "broadcast_to", "diagonal",
          "expand_as",      "flatten",  "hsplit",       "mH",           "mT",
          "movedim",        "narrow",   "numpy_T",      "ravel",        "reshape_as",
          "swapaxes",       "swapdims", "tensor_split", "to",           "type_as",
          "unflatten",      "unfold",   "view_as",      "vsplit",       "dsplit"});
    move(OperatorKind::pointwise, Motion::same, {"clone", "lift_fresh_copy"});
    add(OperatorKind::product, 0,
        {"mv", "dot", "vdot", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d",
         "conv_transpose2d", "conv_transpose3d"});
    add(OperatorKind::attention, 0,
        {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
         "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention"});
    add(OperatorKind::pointwise, 0,
        {"_to_copy", "copy", "cat", "stack", "repeat", "roll", "constant_pad_nd", "pad", "hstack",
         "vstack", "pixel_shuffle"});
    add(OperatorKind::pointwise, 0, {"tril", "triu"}, Along::matrix);
    add(OperatorKind::pointwise, 1, {"cumsum", "cumprod"}, Along::dims);
    add(OperatorKind::pointwise, 0, {"flip"}, Along::dims);
    // One flop per element, however many instructions an exponential takes.
    add(OperatorKind::pointwise, 1,
        {"abs",          "acos",        "add",         "asin",
         "atan",         "atan2",       "bitwise_and", "bitwise_not",
         "bitwise_or",   "bitwise_xor", "ceil",        "celu",
         "clamp",        "clamp_max",   "clamp_min",   "copysign",
         "cos",          "cosh",        "div",         "dropout",
         "elu",          "eq",          "erf",         "erfc",
         "exp",          "exp2",        "expm1",       "floor",
         "floor_divide", "fmod",        "frac",        "ge",
         "gelu",         "glu",         "gt",          "hardsigmoid",
         "hardswish",    "hardtanh",    "isfinite",    "isinf",
         "isnan",        "le",          "leaky_relu",  "lerp",
         "log",          "log10",       "log1p",       "log2",
         "log_sigmoid",  "logical_and", "logical_not", "logical_or",
         "logical_xor",  "lt",          "masked_fill", "maximum",
         "minimum",      "mish",        "mul",         "native_dropout",
         "ne",           "neg",         "pow",         "prelu",
         "reciprocal",   "relu",        "relu6",       "remainder",
         "round",        "rsqrt",       "rsub",        "selu",
         "sgn",          "sigmoid",     "sign",        "silu",
         "sin",          "sinh",        "softplus",    "sqrt",
         "square",       "sub",         "tan",         "tanh",
         "threshold",    "trunc",       "where",       "softsign",
         "xlogy",        "hypot",       "nan_to_num",  "masked_scatter"});
    add(OperatorKind::pointwise, 2, {"addcmul", "addcdiv"});
    add(OperatorKind::reduction, 1,
        {"all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min",
         "prod", "sum", "median", "nanmean", "nansum"},
        Along::dims);
    add(OperatorKind::pointwise, 1, {"max.other", "min.other"});
    add(OperatorKind::reduction, 2,
        {"linalg_vector_norm", "norm", "std", "var", "var_mean", "std_mean", "logsumexp"},
        Along::dims);
    add(OperatorKind::reduction, 1, {"avg_pool1d", "max_pool1d"}, Along::window);
    add(OperatorKind::reduction, 1,
        {"aminmax", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d",
         "adaptive_max_pool2d", "avg_pool2d", "avg_pool3d", "max_pool2d", "max_pool3d",
         "max_pool2d_with_indices"});
    add(OperatorKind::reduction, 2, {"cosine_similarity"}, Along::dims);
    add(OperatorKind::loss, 2, {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"},
        Along::dims);
    add(OperatorKind::loss, 4,
        {"kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits"}, Along::dims);
    add(OperatorKind::loss, 5, {"cross_entropy_loss"}, Along::classes);
    add(OperatorKind::loss, 1, {"nll_loss_nd"}, Along::classes);
    add(OperatorKind::loss, 8, {"triplet_margin_loss"}, Along::vectors);
    add(OperatorKind::reduction, 4, {"pairwise_distance"}, Along::vectors);
    add(OperatorKind::softmax, 5,
        {"softmax", "_softmax", "log_softmax", "_log_softmax", "_safe_softmax"}, Along::dims);
    add(OperatorKind::norm, 7, {"layer_norm"}, Along::last);
    add(OperatorKind::norm, 4, {"rms_norm"}, Along::last);
    add(OperatorKind::norm, 7, {"group_norm"}, Along::group);
    add(OperatorKind::norm, 7, {"instance_norm"}, Along::channel);
    add(OperatorKind::norm, 7, {"_native_batch_norm_legit.no_stats"}, Along::batch);
    add(OperatorKind::norm, 4, {"_native_batch_norm_legit_no_training"}, Along::running);
    add(OperatorKind::norm, 7,
        {"native_layer_norm", "native_group_norm", "batch_norm", "_native_batch_norm_legit",
         "_native_batch_norm_legit_functional", "native_batch_norm"});
    add(OperatorKind::norm, 4, {"_fused_rms_norm"});
    add(OperatorKind::gather, 0,
        {"embedding", "gather", "index", "index_select", "take", "take_along_dim"});
    add(OperatorKind::scatter, 0,
        {"slice_scatter", "select_scatter", "index_put", "index_copy", "scatter",
         "diagonal_scatter"});
    add(OperatorKind::fill, 0,
        {"full",          "full_like", "zeros",        "zeros_like",  "ones",       "ones_like",
         "new_zeros",     "new_ones",  "new_full",     "arange",      "linspace",   "eye",
         "scalar_tensor", "rand",      "randn",        "rand_like",   "randn_like", "bernoulli",
         "fill",          "zero",      "tril_indices", "triu_indices"});
    add(OperatorKind::nothing, 0,
        {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
         "new_empty_strided"});
    return table;
}

}  // namespace

std::string_view name(OperatorKind kind) {
    switch (kind) {
        case OperatorKind::nothing:
            return "nothing";
        case OperatorKind::view:
            return "view";
        case OperatorKind::product:
            return "product";
        case OperatorKind::attention:
            return "attention";
        case OperatorKind::pointwise:
            return "pointwise";
        case OperatorKind::reduction:
            return "reduction";
        case OperatorKind::loss:
            return "loss";
        case OperatorKind::softmax:
            return "softmax";
        case OperatorKind::norm:
            return "norm";
        case OperatorKind::gather:
            return "gather";
        case OperatorKind::scatter:
            return "scatter";
        case OperatorKind::fill:
            return "fill";
        case OperatorKind::unknown:
            return "unknown";
    }
    throw InternalError("a kind without a name");
}

OperatorFacts facts_of(const Node& node) {
    static const OperatorTable table = make_table();
    if (node.outputs.empty() || is_inert_check(node)) return {OperatorKind::nothing, 0};
    if (find_product(node)) return {OperatorKind::product, 0};
    const std::string_view name = aten_name(node.target);
    if (name.empty()) return {};
    const auto full_name = std::string_view(node.target).substr(name.data() - node.target.data());
    for (const auto key : {full_name, name})
        if (const auto row = table.find(key); row != table.end()) return row->second;
    return {};
}

}  // namespace fact::graph
