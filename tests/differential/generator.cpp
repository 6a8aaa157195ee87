#include "generator.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "ir/extents.h"
#include "scans.h"
#include "support/result.h"

namespace fact::differential {
namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::UnaryOp;

class Generator : Scans {
  public:
    explicit Generator(std::uint32_t seed) : Scans(seed) {
        program_.kernel.name = fmt::format("program_{}", seed);
    }

    Program run() {
        using Family = void (Generator::*)();
        constexpr std::pair<const char*, Family> kFamilies[] = {
            {"product", &Generator::product_with_epilogue},
            {"product", &Generator::product_with_epilogue},
            {"batched product", &Generator::batched_product},
            {"rows", &Generator::rows},
            {"norm of a product", &Generator::reduction_after_product},
            {"product of a norm", &Generator::norm_before_product},
            {"gate", &Generator::gate},
            {"groups", &Generator::groups},
            {"attention", &Generator::attention},
            {"rotary", &Generator::rotary},
            {"pipeline", &Generator::two_layers},
            {"columns", &Generator::column_statistics},
            {"windows", &Generator::windows},
            {"windows", &Generator::windows},
            {"convolution", &Generator::convolution},
            {"phases", &Generator::phases},
            {"scans", &Generator::scans},
            {"pointwise", &Generator::pointwise}};
        const auto& [name, make] = kFamilies[below(std::size(kFamilies))];
        program_.family = name;
        (this->*make)();
        tell_extents();
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        if (auto why = ir::verify(kernel()); !why.empty()) throw InternalError(why);
        if (auto why = ir::solve_extents(kernel(), program_.extents); !why.empty())
            throw InternalError(why);
        return std::move(program_);
    }

  private:
    void product_with_epilogue() {
        const DType dtype = floating();
        output(epilogue(product(dtype), 0, 12, dtype), chance(70) ? dtype : DType::f32);
    }

    // One operand has the whole batch, the other some of it, in any order.
    void batched_product() {
        const DType dtype = floating();
        const Dims all = batch();
        const Dims part = chance(40) ? shuffled(some(all, 60)) : all;
        const bool left = chance(60);
        ExprId y = epilogue(product(dtype, left ? all : part, left ? part : all), 0, 5, dtype);
        if (chance(40)) y = b_.permute(y, shuffled(kernel()[y].type.dims));
        output(y, dtype);
    }

    void rows() {
        const DType dtype = floating();
        const ExprId x = epilogue(param("x", dtype, {m(), n()}), 0, 3, dtype);
        ExprId y = reduced(x, {n()});
        if (chance(60)) y = epilogue(y, 1, 3, dtype);
        output(y, chance(60) ? dtype : DType::f32);
        if (chance(30)) output(mean(x, {n()}), DType::f32);
    }

    void reduction_after_product() {
        const DType dtype = floating();
        const ExprId x = epilogue(product(dtype), 0, 4, dtype);
        output(epilogue(reduced(x, {n()}), 0, 2, dtype), dtype);
    }

    void norm_before_product() {
        const DType dtype = floating();
        const ExprId x = layer_norm(param("x", dtype, {m(), k()}), {k()});
        const ExprId w = laid_out("w", dtype, {k(), n()});
        const double depth = extent(k());
        const ExprId acc = b_.product(b_.cast(dtype, x), w);
        output(
            epilogue(b_.binary(BinaryOp::mul, acc, b_.literal(1 / std::sqrt(depth))), 0, 3, dtype),
            dtype);
    }

    void gate() {
        const DType dtype = floating();
        const ExprId x = param("x", dtype, {m(), k()});
        const double depth = extent(k());
        const auto arm = [&] {
            return b_.binary(BinaryOp::mul, b_.product(x, laid_out("w", dtype, {k(), n()})),
                             b_.literal(1 / std::sqrt(depth)));
        };
        const ExprId left = arm(), right = arm();
        output(b_.binary(BinaryOp::mul, b_.unary(UnaryOp::silu, left), right), dtype);
    }

    void groups() {
        const DType dtype = floating();
        const DimId g = kernel().dim("4"), d = dim("D", {3, 16, 40});
        const DimId channels = kernel().factored_dim({g, d});
        const DimId rows = m();
        const ExprId x = b_.view(param("x", dtype, {rows, channels}), {rows, g, d});
        const ExprId normal = layer_norm(x, {d});
        const ExprId w = b_.view(param("w", dtype, {channels}), {g, d});
        output(b_.view(b_.binary(BinaryOp::mul, normal, w), {rows, channels}), dtype);
    }

    // Heads turned by halves or by pairs, of a product or of a parameter.
    void rotary() {
        const DType dtype = floating();
        const DimId rows = m(), heads = dim("H", {1, 3, 8}), two = kernel().dim("2");
        const DimId half = kernel().dim(pick({"4", "8", "24", "64"}));
        const bool pairs = chance(40);
        const Dims apart{rows, heads, pairs ? half : two, pairs ? two : half};
        const DimId whole = kernel().factored_dim({apart.begin() + 1, apart.end()});
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        ExprId x;
        if (chance(50)) {
            const double depth = extent(k());
            const ExprId a = param("x", dtype, {rows, k()});
            const ExprId w = b_.transpose(param("w", dtype, {whole, k()}));
            x = b_.binary(BinaryOp::mul, b_.product(a, w), b_.literal(1 / std::sqrt(depth)));
        } else {
            x = param("x", dtype, {rows, whole});
        }
        x = b_.view(x, apart);
        if (chance(20)) x = layer_norm(x, {apart[2], apart[3]});
        const Dims angles = chance(50) ? Dims{rows, half} : Dims{rows, apart[2], apart[3]};
        const ExprId cosine = param("c", dtype, angles), sine = param("s", dtype, angles);
        const ExprId index = b_.index(two), zero = b_.literal(0, DType::i32);
        const ExprId first = b_.binary(BinaryOp::eq, index, zero);
        const ExprId less = b_.literal(-1), more = b_.literal(1);
        const ExprId turned =
            b_.binary(BinaryOp::mul, b_.flip(x, two), b_.select(first, less, more));
        const ExprId straight = b_.binary(BinaryOp::mul, x, cosine);
        ExprId y = b_.binary(BinaryOp::add, straight, b_.binary(BinaryOp::mul, turned, sine));
        if (chance(30)) y = b_.permute(y, {heads, rows, apart[2], apart[3]});
        output(chance(50) && kernel()[y].type.dims == apart ? b_.view(y, {rows, whole}) : y, dtype);
    }

    void attention() {
        const DType dtype = floating();
        const Dims all = batch();
        const DimId rows = m(), columns = n();
        const DimId depth = dim("D", {16, 32, 64}), width = dim("E", {16, 48});
        const auto with = [&](Dims dims, DimId a, DimId c) {
            dims.insert(dims.end(), {a, c});
            return dims;
        };
        // Grouped heads share k and v; a mask may be the same for some of the batch.
        const Dims shared = chance(40) ? some(all, 60) : all;
        ir::Attention node;
        node.q = attended("q", dtype, with(all, rows, depth));
        node.k = attended("k", dtype, with(shared, columns, depth));
        node.v = attended("v", dtype, with(shared, columns, width));
        node.scale = 1 / std::sqrt(extent(depth));
        node.causal = chance(50);
        if (chance(30))  // wide enough that no row sees nothing
            node.window =
                std::max(pick({1, 5, 40}), static_cast<int>(extent(rows) - extent(columns)) + 1);
        if (chance(40)) {
            const Dims own = with(chance(50) ? some(all, 50) : Dims{}, rows, columns);
            node.bias =
                b_.permute(param("bias", DType::f32, chance(30) ? shuffled(own) : own), own);
            if (!all.empty() && chance(40))
                node.bias =
                    b_.binary(BinaryOp::add, b_.expand(*node.bias, with(all, rows, columns)),
                              param("keys", dtype, {all.front(), columns}));
        }
        if (chance(30)) node.cap = pick({0.5, 2.0, 50.0});
        ExprId y = b_.attention(node);
        if (chance(25)) output(b_.log_sum_exp(y), DType::f32);
        if (chance(30)) y = b_.permute(b_.cast(dtype, y), shuffled(kernel()[y].type.dims));
        output(y, dtype);
    }
    // Mostly as the skeleton wants it, with the features last.
    ExprId attended(const std::string& stem, DType dtype, Dims dims) {
        if (chance(15)) return laid_out(stem, dtype, std::move(dims));
        Dims memory(dims.begin(), dims.end() - 1);
        if (chance(40)) memory = shuffled(memory);
        memory.push_back(dims.back());
        return b_.permute(param(stem, dtype, std::move(memory)), std::move(dims));
    }

    void two_layers() {
        const DType dtype = pick({DType::bf16, DType::f16});
        const ExprId hidden = b_.cast(dtype, epilogue(product(dtype), 1, 3, dtype));
        kernel().exprs[ir::index(hidden)].stored = true;
        kernel().exprs[ir::index(hidden)].name = "hidden";
        const ExprId w = laid_out("w", dtype, {n(), dim("P", {16, 40, 128})});
        const double depth = extent(n());
        output(b_.binary(BinaryOp::mul, b_.product(hidden, w), b_.literal(1 / std::sqrt(depth))),
               dtype);
    }

    void column_statistics() {
        const DType dtype = floating();
        const ExprId x = product(dtype);
        output(epilogue(layer_norm(x, {m()}), 0, 2, dtype), dtype);
    }

    // A tensor seen through windows along one to three dimensions, with channels first or last.
    struct Windowed {
        ExprId x{};
        DimId batch{}, channels{};
        Dims places, taps;
        bool channels_last = false;
        bool few_channels = false;  // a constant number, and mostly windows side by side
    };
    Windowed windowed(DType dtype, double outside, bool some_pointwise) {
        Windowed w;
        w.batch = dim("B", {1, 2, 5});
        w.few_channels = chance(60);
        w.channels =
            w.few_channels ? add_dim({"C", pick({1, 3, 8, 16})}) : dim("C", {1, 3, 8, 24, 64});
        w.channels_last = chance(50);
        constexpr const char* kNames[][3] = {{"H", "P", "R"}, {"W", "Q", "S"}, {"D", "O", "T"}};
        Dims space;
        for (int i = 0, count = pick({1, 2, 2, 3}); i < count; ++i) {
            const auto& [of, places, taps] = kNames[i];
            space.push_back(dim(of, {7, 12, 19}));
            w.taps.push_back(
                add_dim({taps, w.few_channels ? pick({1, 2, 3, 3}) : pick({1, 2, 3})}));
            ir::WindowRule rule{space.back(),    w.taps.back(),      pick({1, 1, 2, 3}),
                                pick({1, 1, 2}), pick({0, 0, 1, 2}), pick({0, 1, 2})};
            if (chance(50)) rule.after = rule.before;
            if (w.few_channels && chance(90)) rule.stride = rule.dilation = 1;
            // Every window has an element inside.
            const std::int64_t reach = rule.dilation * (*kernel()[rule.taps].extent - 1);
            rule.before = std::min(rule.before, reach), rule.after = std::min(rule.after, reach);
            w.places.push_back(add_dim({places, {}, {}, rule}));
        }
        Dims dims{w.batch};
        if (!w.channels_last) dims.push_back(w.channels);
        dims.insert(dims.end(), space.begin(), space.end());
        if (w.channels_last) dims.push_back(w.channels);
        ExprId x = param("x", dtype, dims);
        if (some_pointwise && chance(w.few_channels ? 20 : 50))
            x = chance(40) ? scaled_norm(x, w.channels) : epilogue(x, 1, 2, dtype);
        w.x = b_.window(x, w.places, outside);
        return w;
    }

    void windows() {
        const DType dtype = floating();
        const bool largest = chance(40);
        const Windowed w = windowed(dtype, largest ? -HUGE_VAL : 0, true);
        ExprId y = w.x;
        if (largest) {
            y = b_.reduce(ir::ReduceOp::max, y, w.taps);
        } else {
            Dims weights{w.channels};
            weights.insert(weights.end(), w.taps.begin(), w.taps.end());
            if (chance(50)) y = b_.binary(BinaryOp::mul, y, param("w", dtype, weights));
            y = b_.reduce(ir::ReduceOp::sum, y, w.taps);
        }
        if (chance(30)) y = mean(y, w.places);
        output(y, dtype);
    }

    // Places are rows of the product, image by image, or its columns with a batch of images.
    void convolution() {
        const DType dtype = floating();
        const Windowed w = windowed(dtype, 0, true);
        const DimId features = dim("F", {8, 40});
        Dims depth = w.taps;
        depth.insert(w.channels_last || w.few_channels || chance(70) ? depth.end() : depth.begin(),
                     w.channels);
        const DimId sum = kernel().factored_dim(depth);
        const ExprId weights =
            b_.view(param("w", dtype, joined({features}, depth)), {features, sum});
        const bool are_columns = w.channels_last ? chance(20) : chance(60);
        const Dims rows = joined({w.batch}, w.places);
        const Dims order =
            are_columns ? joined(joined({w.batch}, depth), w.places) : joined(rows, depth);
        const ExprId windows = b_.cast(dtype, b_.permute(w.x, order));
        const auto precision =
            dtype == DType::f32 && chance(60) ? ir::Precision::tf32 : ir::Precision::exact;
        ExprId y;
        if (are_columns) {
            const ExprId b = b_.view(windows, {w.batch, sum, kernel().factored_dim(w.places)});
            y = b_.product(weights, b, precision);
        } else {
            const ExprId a = b_.view(windows, {kernel().factored_dim(rows), sum});
            y = b_.product(a, b_.transpose(weights), precision);
        }
        y = b_.binary(BinaryOp::mul, y, b_.literal(0.1));
        y = b_.view(y,
                    are_columns ? joined({w.batch, features}, w.places) : joined(rows, {features}));
        if (chance(30)) y = mean(y, w.places);
        output(chance(50) ? b_.permute(y, shuffled(kernel()[y].type.dims)) : y, dtype);
    }

    // A product seen under dimensions that rows and columns have factors of, like a transposed
    // convolution or a shuffle of pixels. The ends of these may be cut off.
    void phases() {
        const DType dtype = floating();
        const DimId batch = dim("B", {1, 2, 3}), features = dim("F", {4, 8, 20});
        constexpr const char* kNames[][4] = {
            {"A", "I", "P", "E"}, {"A2", "I2", "Q", "E2"}, {"A3", "I3", "O", "E3"}};
        Dims rows{features}, columns, apart, mixed{batch, features}, places, taps;
        const int count = pick({1, 2, 2, 3});
        for (int i = 0; i < count; ++i) {
            kernel().dims.push_back({kNames[i][0], pick({1, 2, 2, 2, 3, 4})});
            rows.push_back(static_cast<DimId>(kernel().dims.size() - 1));
            columns.push_back(dim(kNames[i][1], {5, 8, 13}));
            apart.insert(apart.end(), {columns.back(), rows.back()});
        }
        const DimId m = kernel().factored_dim(rows), n = kernel().factored_dim(columns);
        for (std::size_t i = 0; i < columns.size(); ++i)
            mixed.push_back(kernel().factored_dim({columns[i], rows[i + 1]}));
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        const ExprId x = param("x", dtype, joined(joined({batch}, columns), {k()}));
        ExprId y =
            b_.product(param("w", dtype, {m, k()}), b_.transpose(b_.view(x, {batch, n, k()})));
        y = b_.binary(BinaryOp::mul, y, b_.literal(1 / std::sqrt(extent(k()))));
        if (chance(30)) y = epilogue(y, 1, 2, dtype);
        y = b_.view(y, joined(joined({batch}, rows), columns));
        y = b_.view(b_.permute(y, joined({batch, features}, apart)), mixed);
        for (int i = 0; chance(50) && i < count; ++i) {
            const auto end = [&] { return -pick<std::int64_t>({0, 1, 2}); };
            kernel().dims.push_back({kNames[i][3], 1});
            taps.push_back(static_cast<DimId>(kernel().dims.size() - 1));
            kernel().dims.push_back({kNames[i][2],
                                     {},
                                     {},
                                     ir::WindowRule{mixed[2 + static_cast<std::size_t>(i)],
                                                    taps.back(), 1, 1, end(), end()}});
            places.push_back(static_cast<DimId>(kernel().dims.size() - 1));
        }
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        if (!places.empty())
            y = b_.reduce(pick({ir::ReduceOp::max, ir::ReduceOp::sum}), b_.window(y, places), taps);
        const Dims own = kernel()[y].type.dims;
        for (int i = 0; chance(60) && i < 3; ++i) {
            const bool per_feature = chance(70);
            const ExprId more =
                per_feature ? param("p", DType::f32, {features}) : operand(own, dtype);
            y = tame(b_.binary(BinaryOp::add, y, more));
        }
        if (chance(30)) y = reduced(y, {own[below(own.size())]});
        output(chance(20) ? b_.permute(y, shuffled(kernel()[y].type.dims)) : y, dtype);
    }

    static Dims joined(Dims list, const Dims& more) {
        list.insert(list.end(), more.begin(), more.end());
        return list;
    }

    void pointwise() {
        const DType dtype = floating();
        const ExprId x = param("x", dtype, {m(), n()});
        output(epilogue(x, 1, 10, dtype), dtype);
        if (chance(40)) output(tame(x), floating());
    }
};

}  // namespace

Program random_program(std::uint32_t seed) {
    return Generator(seed).run();
}

Program small_program(std::uint32_t seed) {
    Program program = random_program(seed);
    for (std::size_t d = 0; d < program.extents.size(); ++d) {
        const ir::Dim& dim = program.kernel.dims[d];
        if (dim.extent) continue;
        const bool derived = !dim.factors.empty() || dim.window;
        program.extents[d] = derived ? ir::kUnknownExtent : program.extents[d] % 7 + 1;
    }
    for (const ir::Dim& dim : program.kernel.dims)  // one window fits at least
        if (const auto& rule = dim.window)
            program.extents[ir::index(program.kernel.factors({rule->of}).front())] +=
                rule->dilation * *ir::constant_extent(program.kernel, rule->taps) +
                std::max<std::int64_t>(0, -rule->before) + std::max<std::int64_t>(0, -rule->after);
    if (auto why = ir::solve_extents(program.kernel, program.extents); !why.empty())
        throw InternalError(why);
    return program;
}

}  // namespace fact::differential
