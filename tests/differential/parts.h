// What random programs are put together from: dimensions, parameters, and values of them.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "generator.h"

namespace fact::differential {

using Dims = std::vector<ir::DimId>;

class Parts {
  public:
    explicit Parts(std::uint32_t seed) : random_(seed) {}

  protected:
    ir::Kernel& kernel() { return program_.kernel; }
    std::size_t below(std::size_t n) { return random_() % n; }
    bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
    template <class T>
    T pick(std::initializer_list<T> all) {
        return all.begin()[below(all.size())];
    }
    // Some of them, in their order.
    Dims some(const Dims& dims, int percent_each);
    Dims shuffled(Dims dims);

    ir::DimId dim(const std::string& name, std::initializer_list<std::int64_t> extents);
    ir::DimId add_dim(ir::Dim dim);  // whose extent is no choice
    ir::DimId m() { return dim("M", {1, 7, 64, 100, 128, 193}); }
    ir::DimId n() { return dim("N", {8, 24, 64, 104, 128, 200, 333}); }
    ir::DimId k() { return dim("K", {8, 16, 72, 128, 256, 31}); }
    double extent(ir::DimId id) const {
        return static_cast<double>(program_.extents[ir::index(id)]);
    }
    // One to four of them, small.
    Dims batch();

    DType floating() { return pick({DType::bf16, DType::f16, DType::f32}); }
    ir::ExprId param(const std::string& stem, DType dtype, Dims dims);
    void output(ir::ExprId value, DType dtype);
    // A parameter that nothing reads, with the dimensions that no other tells.
    void tell_extents();
    // A parameter used with these dimensions, which may lie in memory in another order, or with two
    // of them as one.
    ir::ExprId laid_out(const std::string& stem, DType dtype, Dims dims);

    // Smooth functions whose results stay within a few units of 0 when x does.
    ir::ExprId tame(ir::ExprId x);
    // Something that broadcasts to `dims`: a matrix, a row, a column, a scalar, a literal.
    ir::ExprId operand(const Dims& dims, DType dtype);
    ir::ExprId mask(ir::ExprId x);
    // A DAG of pointwise operations on top of x.
    ir::ExprId epilogue(ir::ExprId x, int least, int most, DType dtype);
    // Of a[..., M, K] and b[..., K, N], divided by sqrt(K) so that sums stay tame.
    ir::ExprId product(DType dtype, Dims a_batch = {}, Dims b_batch = {});

    ir::ExprId mean(ir::ExprId x, const Dims& over);
    ir::ExprId layer_norm(ir::ExprId x, const Dims& over);
    // Normalised over all but one dimension, along which gains and shifts are.
    ir::ExprId scaled_norm(ir::ExprId x, ir::DimId along);
    ir::ExprId running(ir::ExprId x, const Dims& over);  // sum or product
    ir::ExprId softmax(ir::ExprId x, const Dims& over);
    ir::ExprId reduced(ir::ExprId x, const Dims& over);

    Program program_;
    ir::Builder b_{program_.kernel};

  private:
    std::mt19937 random_;
};

}  // namespace fact::differential
