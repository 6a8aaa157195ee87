// What a fused call has to compute: inputs to try, torch's own results, and the exact ones in f64.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/fused.h"
#include "graph/pt2_archive.h"
#include "torch/difference.h"
#include "torch/executor.h"
#include "verify/case_bytes.h"
#include "verify/protocol.h"

namespace fact::exec {

// The errors that are allowed in the slices of each output. Eager's own show most of it. What
// changes by a rounding error do, of inputs and of results on the way, takes several more f64
// results, which are computed for the first result that needs them.
struct AllowedErrors {
    std::vector<Slices> slices;
    bool moved = false;  // whether changed inputs are among what they were made from
};

// Inputs with their results in eager torch and in f64.
struct Numbers {
    Tensors inputs, eager, exact;
    // Per output: eager's error, and the errors that are allowed in its slices.
    std::vector<verify::Difference> eager_difference;
    mutable AllowedErrors allowed;
};

// How to draw inputs. An oracle makes the numbers from that whenever it needs them.
struct Case {
    std::string distribution;
    int seed = 0;
    double far = 1;                 // the factor of activations in `kFar`
    std::optional<int> row_seed{};  // one row of each floating input is changed, at random
    std::shared_ptr<std::optional<Numbers>> made = std::make_shared<std::optional<Numbers>>();
};
// The case for people: "normal, one row changed".
std::string name(const Case& drawn);

class Oracle {
  public:
    // `buffers`: weights that are not parameters, by the name of their value in the call. `tf32`:
    // torch's operands are rounded to TF32, and the kernel's may be. `large`: bytes of a case's
    // numbers from which on there are only those of one case at a time.
    static Result<Oracle> make(const graph::FusedCall& call, c10::Device device,
                               std::map<std::string, graph::Weight> buffers, bool tf32 = false,
                               std::int64_t large = verify::kLargeCase);

    const graph::FusedCall& call() const { return call_; }
    // Is called when the numbers of a case have been made, which may have taken long.
    void after_making(std::function<void()> call) { after_making_ = std::move(call); }

    // Whether only one case's numbers are kept at a time.
    bool large() const { return large_; }
    // Whether there are inputs that `kShifted` shifts.
    bool normalises_inputs() const { return !normalised_.empty(); }
    // Whether there are buffers that `kOtherBuffers` changes.
    bool reads_buffers() const;
    // Inputs like these in `kFar` are beyond the numbers that the call or the text, which was
    // written for it, compares values with, and beyond exp's range. Nothing if torch's own results
    // overflow there.
    std::optional<Case> draw_far(const ir::Kernel& text, int seed) const;
    Case draw(std::string_view distribution, int seed) const;
    // The case's inputs alone, which may be drawn for this call.
    Tensors inputs(const Case& drawn) const;
    // The case's inputs and results. They stay until numbers of another case are asked for; those
    // of small calls for as long as the case.
    const Numbers& numbers(const Case& drawn) const;
    // The case with one row (along the last dimension) of each floating input changed: a kernel
    // that recognises inputs by a few of their values takes it for the same case.
    Case with_one_row_changed(const Case& drawn, int seed) const;
    // Judges results for the case's inputs.
    verify::Check check(const Case& drawn, const Tensors& results) const;
    // Returns a function that runs the original as a module would in every call. What a module
    // computes once for several calls is computed here, before that function is called.
    std::function<Tensors()> baseline(const Tensors& inputs) const;

  private:
    Oracle() = default;
    Tensors run_wide(const GraphExecutor& graph, const Tensors& wide) const;
    void change_one_row(const Tensors& inputs, int seed) const;  // in place
    void compute_results(Numbers& made) const;  // and the allowed errors, for the inputs
    // Allows the errors that changed inputs show as well.
    void allow_moved(const Case& drawn, const Numbers& made) const;
    // Fills `check` with what the results are; returns whether they pass.
    bool judge(const Case& drawn, const Tensors& results, verify::Check& check) const;
    DType type_of_output(std::size_t i) const;
    at::Tensor draw_input(const graph::GraphInput& input, std::string_view distribution,
                          double far) const;

    graph::FusedCall call_;
    c10::Device device_ = c10::kCPU;
    std::map<std::string, graph::Weight> buffers_;
    bool tf32_ = false;
    bool large_ = false;  // the numbers of several cases do not fit into the GPU's memory
    std::function<void()> after_making_;
    mutable std::weak_ptr<std::optional<Numbers>> at_hand_;  // the last ones of a large call
    std::set<std::string> normalised_;  // inputs that reach a norm without a product in between
    std::optional<GraphExecutor> eager_, exact_, rounding_;
    // Run the nodes that FusedCall::copied lists, and all other nodes; empty if it lists none.
    std::optional<GraphExecutor> shared_, rest_;
};

// The archive's buffers and constants among the call's inputs.
std::map<std::string, graph::Weight> buffers_of(const graph::FusedCall& call,
                                                const graph::Archive& archive);

// Fills results with NaN (integers with 1), so that elements which a kernel does not write show.
void poison(const Tensors& results);

}  // namespace fact::exec
