#include "scans.h"

namespace fact::differential {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;

void Scans::scans() {
    const DType dtype = floating();
    const DimId b = dim("B", {1, 3, 5}), c = kernel().dim(pick({"5", "33", "128"}));
    program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
    const Dims over = pick<Dims>({{c}, {c}, {m()}, {b}, {m(), c}, {c, m()}, {b, m(), c}});
    ExprId x = epilogue(laid_out("x", dtype, {b, m(), c}), 0, 2, dtype);
    if (chance(30)) x = layer_norm(x, over);
    const bool turned = chance(30);
    ExprId y = running(turned ? b_.flip(x, c) : x, over);
    if (turned) y = b_.flip(y, c);
    if (chance(20)) y = running(y, pick<Dims>({{c}, {m()}}));
    if (chance(15)) y = b_.binary(BinaryOp::sub, y, b_.flip(y, c));
    y = epilogue(y, 0, 3, dtype);
    output(chance(30) ? b_.permute(y, shuffled(kernel()[y].type.dims)) : y, dtype);
    if (chance(25)) output(mean(x, over), DType::f32);
    if (chance(15)) output(mean(y, over), DType::f32);
}

}  // namespace fact::differential
