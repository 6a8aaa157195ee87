// What a package takes and returns, as its graph says: checked at every call, and known to
// torch.compile before the first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/pt2_archive.h"
#include "torch/built_in_buffers.h"
#include "torch/executor.h"
#include "torch/results.h"

namespace fact::exec {

class Contract {
  public:
    // `weights`: those of the archive, for the values that are built into kernels.
    static Result<Contract> make(const graph::Graph& graph,
                                 const std::vector<graph::Weight>& weights,
                                 const std::map<std::string, const graph::FusedCall*>& calls);

    // Throws if a tensor has other sizes than were traced, and says which one. A symbolic size
    // becomes the traced one.
    void check_sizes(const Tensors& inputs) const;
    // Throws if a buffer does not have the values that are built into kernels.
    void check_buffers(const Tensors& inputs) const;
    // Makes the next check compare all of these buffers, even if torch has counted no change.
    void refresh() const;
    bool has_traced_dtypes(const Tensors& inputs) const;

    // The layouts of results, then of what is written to buffers.
    const std::vector<std::optional<Layout>>& layouts() const { return layouts_; }
    // The fqns of the buffers that the graph writes to.
    const std::vector<std::string>& written() const { return written_; }
    // The fqn of a weight; "an input" for the user's inputs.
    const std::string& input_name(std::size_t place) const { return inputs_.at(place).fqn; }

  private:
    struct Input {
        std::string name, fqn;
        std::optional<graph::TensorType> type;    // absent: unknown, or varies from call to call
        std::shared_ptr<BuiltInBuffer> built_in;  // null: no kernel was made for its values
    };
    std::vector<Input> inputs_;  // the graph's, without plain values
    std::vector<std::optional<Layout>> layouts_;
    std::vector<std::string> written_;
};

}  // namespace fact::exec
