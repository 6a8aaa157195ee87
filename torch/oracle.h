// What a fused call has to compute: inputs to try, torch's own results, and the f64 truth.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/fused.h"
#include "graph/pt2_archive.h"
#include "torch/difference.h"
#include "torch/executor.h"
#include "verify/protocol.h"

namespace fact::exec {

// Inputs with what eager and f64 make of them.
struct Case {
    std::string distribution;
    int seed = 0;
    Tensors inputs, eager, exact;
    // Per output: eager's error, and what is allowed in parts of it.
    std::vector<verify::Difference> eager_difference;
    std::vector<Slices> slices;
};

class Oracle {
  public:
    // `buffers`: weights that are no parameters, by the name of their value in the call. `tf32`:
    // torch's own results are rounded so, and a kernel's may be.
    static Result<Oracle> make(const graph::FusedCall& call, c10::Device device,
                               std::map<std::string, graph::Weight> buffers, bool tf32 = false);

    const graph::FusedCall& call() const { return call_; }

    // Whether there are inputs that `kShifted` shifts.
    bool normalises_inputs() const { return !normalised_.empty(); }
    // Whether there are buffers that `kOtherBuffers` changes, and numbers that only `kFar` reaches.
    bool reads_buffers() const;
    bool has_far_thresholds() const;
    Case draw(std::string_view distribution, int seed) const;
    // The case with one row (along the last dimension) of each floating input changed: so little
    // that whoever recognises inputs by a few of their values takes it for the same.
    Case touched(const Case& drawn, int seed) const;
    // Judges results for the case's inputs.
    verify::Check check(const Case& drawn, const Tensors& results) const;
    // The original as a module would run it over and over: what it computes once for several calls
    // is computed here, and not again.
    std::function<Tensors()> repeated(const Tensors& inputs) const;

  private:
    Oracle() = default;
    void answer(Case& drawn) const;
    double far() const;  // what `kFar` multiplies activations by
    at::Tensor draw_input(const graph::GraphInput& input, std::string_view distribution) const;

    graph::FusedCall call_;
    c10::Device device_ = c10::kCPU;
    std::map<std::string, graph::Weight> buffers_;
    bool tf32_ = false;
    std::set<std::string> normalised_;  // inputs of norms with no product between
    std::optional<GraphExecutor> eager_, exact_;
    std::optional<GraphExecutor> shared_, rest_;  // the copied nodes of the call, and all others
};

// The archive's buffers and constants among the call's inputs.
std::map<std::string, graph::Weight> buffers_of(const graph::FusedCall& call,
                                                const graph::Archive& archive);

// Fills results with NaN (integers with 1), so that what a kernel does not write shows.
void poison(const Tensors& results);

}  // namespace fact::exec
