// Texts with one mistake each, its span between backticks, and its code.
#pragma once

#include <string>

namespace fact::dsl {
namespace {

struct Case {
    std::string_view code, marked;
};

// A kernel with the usual parameters around a body, so that a case is one line.
#define BODY(text)                                                                            \
    "kernel f(x: bf16[M, K], w: bf16[N, K], b: bf16[N], c: f32[M, N], m: bool[M, N], s: f32)" \
    " -> (y: f32[M, N]) {\n  " text "\n}\n"
#define SCHEDULE(header, entries)                                                     \
    "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n" \
    "kernel g(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"                              \
    "schedule " header " {\n  " entries "\n}\n"

// A header's constraints.
#define WHERE(text) "kernel f(x: f32[M, K]) -> (y: f32[M, K]) where " text " {\n  y = x\n}\n"

// Kernels to call, and a pipeline around a body.
#define PIPELINE(text)                                                                    \
    "kernel up(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n"    \
    "kernel two(x: bf16[M, 64]) -> (a: bf16[M], b: f32[M]) {\n  a = sum(x, over: 64)\n"   \
    "  b = max(x, over: 64)\n}\n"                                                         \
    "kernel group(x: bf16[M, G*D], s: f32[D]) -> (y: bf16[M, G]) {\n"                     \
    "  y = sum(x.view(M, G, D) * s, over: D)\n}\n"                                        \
    "pipeline p(x: bf16[M, K], w: bf16[N, K], v: bf16[M, 64], c: bf16[64, K], g: f32[K])" \
    " -> (y: bf16[M, N]) {\n  " text "\n}\n"

const Case kCases[] = {
    {"F0102", BODY("y = c `$` ")},
    {"F0102", BODY("y = c  `\xc3\x97`")},
    {"F0102", "`;`"},
    {"F0103", BODY("y = c * `2x`")},
    {"F0103", BODY("y = c * `1.5f`")},
    {"F0103", BODY("y = c * `3abc`")},
    {"F0104", BODY("y = c * `2147483648`")},
    {"F0104", BODY("y = c * `1e999`")},
    {"F0105", BODY("y = c `c`")},
    {"F0105", BODY("y = c `+`")},
    {"F0105", BODY("y = `=` c")},
    {"F0105", BODY("y = c\n  `+` c")},
    {"F0105", BODY("y = c\n  t`t`")},
    {"F0105", BODY("y = where(m, c `=` c)")},
    {"F0105", BODY("y = c + `not` m")},
    {"F0105", BODY("y = c.permute(M, `)`")},
    {"F0105", BODY("y = index(`*`)")},
    {"F0105", "`foo`"},
    {"F0105", "kernel `(`x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0105", "kernel f(x: f32[M]) `{`\n  y = x\n}\n"},
    {"F0105", "kernel f(x`,` y: f32[M]) -> (z: f32[M]) {\n  z = x\n}\n"},
    {"F0105", "kernel f(x: f32[`)` -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0105", "kernel f(x: f32[8*`]`) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0105", BODY("y = sum(c, over: `-`1)")},
    {"F0105", BODY("y = c.`(`M)")},
    {"F0105", BODY("a`,`\n  y = c")},
    {"F0105", BODY("stored a`,` b = c\n  y = c")},
    {"F0105", "pipeline `=` {\n}\n"},
    {"F0105", SCHEDULE("f `at` sm90a", "stages 2")},
    {"F0105", SCHEDULE("f on sm90a", "stages `:`")},
    {"F0107", BODY("y = where(s < c `<` s, c, c)")},
    {"F0108", BODY("y = max`(`c, c")},
    {"F0108", BODY("y = c * `(`c + c")},
    {"F0108", BODY("t = c + c\n  y = exp`(`t")},
    {"F0108", "kernel f(x: f32[M]) -> (y: f32[M]) `{`\n  y = x\n"},
    {"F0110", "kernel f(x: f32[M]) -> `(`) {\n}\n"},

    {"F0201", BODY("y = c + `bb`")},
    {"F0201", BODY("y = c + `N`")},
    {"F0201", BODY("y = c + `exp`")},
    {"F0201", BODY("t = `y` + c\n  y = t")},
    {"F0201", BODY("y = `t` + c\n  t = c + y\n")},
    {"F0202", BODY("y = `gelu_tan`(c)")},
    {"F0202", BODY("y = `softmaks`(c)")},
    {"F0202", PIPELINE("y = `upp`(x, w)")},
    {"F0203", "kernel f(x: `bf17`[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0204", BODY("y = c\n  `y` = c")},
    {"F0204", BODY("`b` = c\n  y = c")},
    {"F0204", BODY("`M` = c\n  y = c")},
    {"F0204", "kernel f(x: f32[M], `x`: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0204", "kernel f(x: f32[M]) -> (`x`: f32[M]) {\n}\n"},
    {"F0204",
     "kernel f(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"
     "kernel `f`(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0205", BODY("`exp` = c\n  y = c")},
    {"F0205", "kernel f(`inf`: f32[M]) -> (y: f32[M]) {\n  y = -1.0 * index(M)\n}\n"},
    {"F0205", "kernel f(x: f32[`bf16`]) -> (y: f32[bf16]) {\n  y = x\n}\n"},
    {"F0205", "kernel `where`(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0205", "kernel `softmax`(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0205", BODY("`stored` = c\n  y = c")},
    {"F0206", "kernel f(x: f32[M]) -> (`y`: f32[M]) {\n}\n"},
    {"F0207", BODY("`t` = c\n  y = c")},
    {"F0208", BODY("y = c + index(`Q`)")},
    {"F0208", BODY("y = c.permute(`Q`, M)")},
    {"F0208", "kernel f(x: f32[M]) -> (y: f32[`N`]) {\n  y = x\n}\n"},
    {"F0209", BODY("y = matmul(x, w.T, `accuracy`: tf32)")},
    {"F0209", BODY("y = matmul(x, w.T, precision: `half`)")},
    {"F0209", BODY("y = cumsum(c, over: N, from: `middle`)")},
    {"F0209", BODY("y = exp(c, `precision`: tf32)")},
    {"F0209", BODY("y = sum(c, `ower`: N) + c")},
    {"F0209", BODY("y = elu(c, `beta`: 1.0)")},
    {"F0209", BODY("t = bf16(c)\n  y = attention(t, t, t, mask: `triangle`, scale: 1.0)")},
    {"F0209", BODY("t = bf16(c)\n  y = attention(t, t, t, unseen: `one`, scale: 1.0)")},
    {"F0209", BODY("y = attention(c, c, c, scale: 1.0, precision: `half`)")},
    {"F0209", PIPELINE("y = up(x, `ww`: w)")},
    {"F0210", BODY("y = c.`t`")},
    {"F0210", BODY("y = c.`reshape`(M, N)")},
    {"F0211", BODY("y = elu(c, alpha: 1.0, `alpha`: 2.0)")},
    {"F0211", BODY("y = elu(c, 1.0, `alpha`: 2.0)")},
    {"F0211", BODY("y = c + sum(c, over: N, `over`: M)")},
    {"F0212", BODY("y = `softmax(c)`")},
    {"F0212", BODY("y = c + `sum(c)`")},
    {"F0212", BODY("y = `clamp(c, 0.0)`")},
    {"F0212", BODY("y = `rms_norm(c, over: N)`")},
    {"F0213", BODY("y = elu(c, alpha: `[N]`)")},
    {"F0213", BODY("y = softmax(c, over: `[]`)")},
    {"F0213", BODY("y = matmul(x, w.T, precision: `1.0`)")},
    {"F0213", BODY("y = attention(c, c, c, scale: `1.0 / s`)")},
    {"F0213", BODY("y = attention(c, c, c, scale: `rsqrt(extent(K))`)")},
    {"F0213", BODY("y = attention(c, c, c, scale: `s`)")},

    {"F0105", BODY("y = softmax(c, dim`=`1)")},
    {"F0105", BODY("y = leaky_relu(c, slope`=`0.1)")},
    {"F0105", BODY("y = c *`*` 2")},
    {"F0105", BODY("y = c`[`:, 0]")},
    {"F0105", "kernel f(x: f32[M, N`/`16]) -> (y: f32[M]) {\n  y = sum(x, over: N)\n}\n"},
    {"F0202", BODY("y = `swish`(c)")},
    {"F0209", BODY("y = gelu(c, `approximate`: tanh)")},
    {"F0210", BODY("y = torch.`tanh`(c)")},
    {"F0304", "kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = `x @ w.T`\n}\n"},
    {"F0326", BODY("y = c + `b.as(M, N)`")},
    {"F0326",
     "kernel f(x: f32[A*B, C], z: f32[A, B]) -> (y: f32[Q, C]) {\n"
     "  y = `x.as(Q, C)` + sum(z, over: [A, B])\n}\n"},
    {"F0302", BODY("y = c + sum(`x.as(M, M)`, over: M)")},
    {"F0322", BODY("t = `index(Q)` + b.as(Q)\n  y = c + t")},

    {"F0301", BODY("y = `c + b + x`")},
    {"F0301", BODY("y = `c + x`")},
    {"F0301", BODY("y = `where(m, c, x)`")},
    {"F0302", "kernel f(x: f32[M, `M`]) -> (y: f32[M]) {\n  y = 1.0 * index(M)\n}\n"},
    {"F0301", BODY("y = `leaky_relu(c, slope: x)`")},
    {"F0301", BODY("y = c + `batch_norm(b, mean: c.T, var: x)`")},
    {"F0302", "kernel f(x: f32[64, `64`]) -> (y: f32[64]) {\n  y = 1.0 * index(64)\n}\n"},
    {"F0302", "kernel f(x: f32[2*D, `2*D`]) -> (y: f32[2*D]) {\n  y = 1.0 * index(2*D)\n}\n"},
    {"F0302",
     "kernel f(x: f32[N*N], s: f32[N]) -> (y: f32[N*N]) {\n  y = sum(`x.view(N, N)`, over: N) * x\n"
     "}\n"},
    {"F0105", WHERE("`+`")},
    {"F0105", WHERE("K % `M` == 0")},
    {"F0105", WHERE("K % 8 == `1`")},
    {"F0105", WHERE("K `==` 8*D")},
    {"F0105", WHERE("K % 8 == 0 `and` M % 8 == 0")},
    {"F0204", WHERE("K = 2*D, `K` = 3*D")},
    {"F0205", WHERE("K = 2*`exp`")},
    {"F0207", WHERE("`Q` = 2*K")},
    {"F0208", WHERE("`Q` % 8 == 0")},
    {"F0316", WHERE("K % `0` == 0")},
    {"F0316", WHERE("K % `99999999999` == 0")},
    {"F0322", WHERE("K = D*E, `E` % 2 == 0")},
    {"F0323", WHERE("`8` = K")},
    {"F0323", WHERE("`2*K` = M")},
    {"F0323", WHERE("`K = 2*K`")},
    {"F0323", WHERE("K = 2*M, `M` = 2*D")},
    {"F0323", WHERE("K = 2*D, `M = 2*D`")},
    {"F0302", "kernel f(x: f32[K, `2*D`], s: f32[D]) -> (y: f32[D]) where K = 2*D {\n  y = s\n}\n"},
    {"F0504",
     PIPELINE("y = up(x, w)\n}\n"
              "kernel even(x: bf16[M, N]) -> (y: bf16[M, N]) where N % 7 == 0 {\n  y = x\n}\n"
              "pipeline q(v: bf16[M, 64]) -> (y: bf16[M, 64]) {\n  y = `even(v)`")},
    {"F0303", BODY("y = `x @ b`")},
    {"F0304", BODY("y = `x @ w`")},
    {"F0304", BODY("y = `w @ x`")},
    {"F0305",
     "kernel f(x: f32[M, K], z: f32[K, M]) -> (y: f32[M, K]) {\n  t = `x @ z`\n  y = x * t\n}\n"},
    {"F0305", "kernel f(x: f32[M, K], z: f32[M, K, N]) -> (y: f32[M, N]) {\n  y = `x @ z`\n}\n"},
    {"F0306", "kernel f(x: f32[A, M, K], z: f32[B, K, N]) -> (y: f32[M, N]) {\n  y = `x @ z`\n}\n"},
    {"F0307", BODY("y = `c @ (w)` * s + c")},
    {"F0307", BODY("y = `exp(x) @ w.T`")},
    {"F0307", "kernel f(x: i32[M, K], z: i32[K, N]) -> (y: f32[M, N]) {\n  y = `x @ z`\n}\n"},
    {"F0308", BODY("y = `matmul(x, w.T, precision: tf32)`")},
    {"F0309", BODY("y = `where(c, c, c)`")},
    {"F0309", BODY("y = where(`not c`, c, c)")},
    {"F0309", BODY("y = where(`m and c`, c, c)")},
    {"F0310", BODY("y = `exp(c, c)`")},
    {"F0310", BODY("y = `where(m, c)`")},
    {"F0310", BODY("y = `max()`")},
    {"F0310", BODY("y = `f32()`")},
    {"F0311", BODY("y = `c.permute(M)`")},
    {"F0311", BODY("y = `c.permute(M, M)`")},
    {"F0311", BODY("y = `c.permute(M, K)`")},
    {"F0325", BODY("y = `b.expand(M)` + c")},
    {"F0302", BODY("y = `b.expand(M, N, M)` + c")},
    {"F0208", BODY("y = b.expand(`Q`, N) + c")},
    {"F0312", BODY("y = c + `b.T`")},
    {"F0313", BODY("y = `b`")},
    {"F0313", BODY("y = `c.T`")},
    {"F0314", BODY("y = `c < s`")},
    {"F0314", "kernel f(x: f32[M]) -> (y: i32[M]) {\n  y = `x + 1`\n}\n"},
    {"F0314", "kernel f(x: i32[M]) -> (y: f32[M]) {\n  y = `x + 1`\n}\n"},
    {"F0315", BODY("y = `f64(c)`")},
    {"F0315", "kernel f(x: `f64`[M]) -> (y: f32[M]) {\n  y = 0.5 * index(M)\n}\n"},
    {"F0316", "kernel f(x: f32[`0`]) -> (y: f32[4]) {\n  y = 0.5 * index(4)\n}\n"},
    {"F0316", BODY("y = c + index(`99999999999`)")},
    {"F0316", "kernel f(x: f32[`65536*65536`]) -> (y: f32[4]) {\n  y = 0.5 * index(4)\n}\n"},
    {"F0317",
     "kernel f(x: f32[A, B, C], y: f32[D, E, F], z: f32[G, H, I]) -> (o: f32[A]) {\n"
     "  o = sum(`index(A) + index(B) + index(C) + index(D) + index(E) + index(F) + index(G) + "
     "index(H) + index(I)`, over: B)\n}\n"},
    {"F0317",
     "kernel f(`x: f32[A, B, C, D, E, F, G, H, I]`) -> (y: f32[A]) {\n  y = 0.5 * index(A)\n}\n"},

    {"F0318", BODY("y = `c.view(N, M)`")},
    {"F0318", BODY("y = c + `c.view(M*K)`")},
    {"F0319", BODY("y = c + `sum(b, over: M)`")},
    {"F0319", BODY("y = c + `max(c, over: [N, N])`")},
    {"F0319", BODY("y = `softmax(c, over: K)`")},
    {"F0319", BODY("y = `cumsum(c, over: K)`")},
    {"F0319", BODY("y = `cumprod(c, over: [N, N])`")},
    {"F0212", BODY("y = `cumsum(c)`")},
    {"F0324", BODY("y = `flip(c, over: N)`")},
    {"F0324", BODY("y = `flip(c, over: 2)`")},
    {"F0324", BODY("y = `flip(c, over: [M, N])`")},
    {"F0324", "kernel f(x: f32[M, 2*8]) -> (y: f32[M, 2*8]) {\n  y = `flip(x, over: 2*8)`\n}\n"},
    {"F0212", BODY("y = `flip(c)`")},
    {"F0327", BODY("y = max(`c.window(K: P by 3)`, over: 3)")},
    {"F0327", BODY("y = max(`c.window(M: P by N)`, over: N)")},
    {"F0327", BODY("y = max(c.window(M: `M` by 3), over: 3)")},
    {"F0327", BODY("y = max(c.window(M: P by 3, outside: `s`), over: 3)")},
    {"F0320", BODY("y = `attention(b, w, w, scale: 1.0)`")},
    {"F0320", BODY("y = `attention(x, w, c, scale: 1.0)`")},
    {"F0320", BODY("y = `attention(x, w, x, scale: 1.0)`")},
    {"F0320",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M, E]) {\n"
     "  y = `attention(q, k, v, scale: 1.0, cap: -50.0)`\n}\n"},
    {"F0320",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M, E]) {\n"
     "  y = `attention(q, k, v, scale: 1.0, window: 0)`\n}\n"},
    {"F0320",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M, E]) {\n"
     "  y = `attention(q, k, v, scale: 1.0, window: 2.5)`\n}\n"},
    {"F0320",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E], m: bool[M, N]) -> (y: f32[M, E]) {\n"
     "  y = `attention(q, k, v, bias: m, scale: 1.0)`\n}\n"},
    {"F0320", BODY("y = c + `scores_logsumexp(c)`")},
    {"F0320",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M]) {\n"
     "  o = bf16(attention(q, k, v, scale: 1.0))\n  y = `scores_logsumexp(o)`\n}\n"},
    {"F0321",
     "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M, E]) {\n"
     "  y = `attention(q, k, v)`\n}\n"},
    {"F0321", BODY("y = `attention(x, w, w, scale: inf)`")},
    {"F0322", "kernel f(x: f32[M, G*D]) -> (y: f32[M, G, D]) {\n  y = `x.view(M, G, D)`\n}\n"},
    {"F0322", "kernel f(x: f32[G*D]) -> (y: f32[G*D]) {\n  y = x * `extent(D)`\n}\n"},
    {"F0322", "kernel f(x: f32[G*D]) -> (y: f32[G*D]) {\n  y = x + sum(`index(G)`, over: G)\n}\n"},

    {"F0401", SCHEDULE("`h` on sm90a", "stages 2")},
    {"F0402", SCHEDULE("f.`acc` on sm90a", "stages 2")},
    {"F0402", SCHEDULE("`g` on sm90a", "stages 2")},
    {"F0403",
     "kernel f(x: f32[M, K], w: f32[K, N], v: f32[K, N]) -> (y: f32[M, N]) {\n"
     "  a = x @ w\n  y = a + x @ v\n}\nschedule `f` on sm90a {\n}\n"},
    {"F0404", SCHEDULE("f on `sm70`", "stages 2")},
    {"F0405", SCHEDULE("f on sm90a", "`stage` 2")},
    {"F0405", SCHEDULE("f on sm90a", "scheduler persistent(`order`: m)")},
    {"F0406", SCHEDULE("f on sm90a", "stages 2\n  `stages` 3")},
    {"F0406", SCHEDULE("f on sm90a", "scheduler persistent(raster: m, `raster`: n)")},
    {"F0405", SCHEDULE("f on sm80", "`tiles` 128x128x32")},
    {"F0407", SCHEDULE("f on sm90a", "tile `128x64`")},
    {"F0407", SCHEDULE("f on sm90a", "epilogue `direct`")},
    {"F0407", SCHEDULE("f on sm90a", "tile `128x64x0`")},
    {"F0407", SCHEDULE("f on sm90a", "cluster {1x1, `2`}")},
    {"F0407", SCHEDULE("f on sm90a", "mainloop `simple`")},
    {"F0407", SCHEDULE("f on sm90a", "stages `many`")},
    {"F0407", SCHEDULE("f on sm90a", "stages 2(`n`: m)")},
    {"F0407", SCHEDULE("f on sm90a", "scheduler `static`")},
    {"F0407", SCHEDULE("f on sm90a", "scheduler persistent(swizzle: `m`)")},
    {"F0409",
     "kernel f(q: f16[M, 64], k: f16[N, 64], v: f16[N, 64]) -> (y: f16[M, 64]) {\n"
     "  y = attention(q, k, v)\n}\nschedule `f` on sm80 {\n}\n"},
    {"F0409",
     "kernel f(q: f16[M, 64], k: f16[N, 64], v: f16[N, 64]) -> (y: f16[M, 64]) {\n"
     "  y = attention(q, k, v)\n}\nschedule f.`y` on sm90a {\n}\n"},

    {"F0501", BODY("y = `f`(x, w, b, c, m, s)")},
    {"F0501",
     "kernel a(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"
     "kernel b(x: f32[M]) -> (y: f32[M]) {\n  y = exp(`a`(x))\n}\n"},
    {"F0502", PIPELINE("y = `p`(x, w, v, c, g)")},
    {"F0502",
     "pipeline a(x: f32[M]) -> (y: f32[M]) {\n  y = `b`(x)\n}\n"
     "pipeline b(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"},
    {"F0503", PIPELINE("y = up(x, `f32(w)`)")},
    {"F0503", PIPELINE("y = up(x, w: `f32(w)`)")},
    {"F0503", PIPELINE("a, b = two(v)\n  y = bf16(up(x, w) * group(x, `a`))")},
    {"F0504", PIPELINE("y = up(x, `w.T`)")},
    {"F0504", PIPELINE("y = up(`x.view(M*K)`, w)")},
    {"F0504", PIPELINE("a, b = two(`x`)\n  y = bf16(up(x, w) + b)")},
    {"F0504", PIPELINE("y = group(`x`, sum(f32(w), over: K))")},
    {"F0504",
     "kernel mul(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = x @ w\n}\n"
     "pipeline p(a: f32[A, B]) -> (y: f32[A, B]) {\n  y = a * sum(`mul(a, a.T)`, over: B)\n}\n"},
    {"F0505", PIPELINE("a = `two(v)`\n  y = up(x, w)")},
    {"F0505", PIPELINE("a, b, d = `two(v)`\n  y = up(x, w)")},
    {"F0505", PIPELINE("a, b = `up(x, w)`\n  y = up(x, w)")},
    {"F0505", PIPELINE("y = up(x, w) + `two(v)`")},
    {"F0505", BODY("y, t = `c + c`")},
    {"F0212", PIPELINE("y = `up(x)`")},
    {"F0310", PIPELINE("y = `up(x, w, w)`")},
};

}  // namespace
}  // namespace fact::dsl
