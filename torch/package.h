// A package folder, loaded: the composed graph with its kernels, ready to run on any device.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "graph/pt2_archive.h"
#include "torch/executor.h"

namespace fact::exec {

struct LoadOptions {
    // Namespaces of operators that the package may call besides torch's own (package/operators.h).
    std::vector<std::string> allow;
};

class Package {
  public:
    // Checks every file against the manifest, and that every operator may be called. Reads the
    // graph, the fused calls and the kernels, and touches no GPU. An exported archive (a file) is a
    // package without kernels and without a manifest.
    static Result<std::shared_ptr<Package>> open(const std::filesystem::path& folder,
                                                 const LoadOptions& options = {});
    ~Package();

    // The SHA-256 of the manifest, which covers every byte of the package; for an archive, that of
    // its graph and weights.
    const std::string& identity() const;
    // The identity() of a folder without opening it; "" for an archive.
    static Result<std::string> identity_of(const std::filesystem::path& folder);

    // An Error if the package calls operators that these options do not allow.
    Result<> permits(const LoadOptions& options) const;

    const graph::Graph& graph() const;

    // Parameters, buffers and constants of the model on the CPU, by their numbers in the archive,
    // which are also their order in signature_json(); aliases are one tensor.
    Tensors weights(const std::vector<std::int64_t>& which) const;

    // What a caller has to know, as JSON: in_spec, out_spec, inputs, outputs, the names of weights
    // and of the buffers that the caller has to write.
    std::string signature_json() const;

    // `inputs`: the graph's tensor inputs in order, including weights. Returns the results, then
    // what the caller has to write to buffers; none of these tensors shares memory with an input
    // or with another of them. Throws if sizes are not the traced ones, or if a buffer does not
    // have the values that are built into kernels; if `strict`, also if a call is not run by its
    // kernel.
    Tensors run(const Tensors& inputs, bool strict = false);

    // Loads the kernels onto a GPU before they are called there: a call that is being captured into
    // a CUDA graph cannot load them.
    void load_on(c10::DeviceIndex device);

    // At the next call, everything that kernels prepared from weights is prepared again, and all
    // buffers whose values are built into kernels are compared again.
    void refresh();

    // As JSON, for every fused call: whether its kernel can run on the device, and how often the
    // kernel, the interpreter and torch's operators have run it so far.
    std::string status_json(c10::Device device) const;

    // What run() would return for these inputs, as tensors without memory. `inputs` need no memory
    // either, and may have symbolic sizes.
    Tensors shapes(const Tensors& inputs);

    // The name in messages of the tensor with this index in run()'s `inputs`.
    const std::string& input_name(std::size_t place) const;

    // run() for callers in C++: with the archive's weights, moved once to the device of the first
    // tensor. Throws if the package was written without weights.
    Tensors run_with_own_weights(const Tensors& user_inputs);

  private:
    static Result<std::shared_ptr<Package>> open_archive(const std::filesystem::path& file,
                                                         const LoadOptions& options);
    struct State;
    explicit Package(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec
