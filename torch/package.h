// A package folder, loaded: the composed graph with its kernels, ready to run on any device.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "graph/pt2_archive.h"
#include "torch/executor.h"

namespace fact::exec {

struct LoadOptions {
    // Namespaces of operators that the package may call beside torch's own (package/operators.h).
    std::vector<std::string> allow;
};

class Package {
  public:
    // Checks every file against the manifest and every operator against what it may call; reads
    // graph, calls and kernels, and touches no GPU. An exported archive (a file) is a package
    // without kernels and without a manifest.
    static Result<std::shared_ptr<Package>> open(const std::filesystem::path& folder,
                                                 const LoadOptions& options = {});
    ~Package();

    // SHA-256 of its manifest, which stands for every byte of it; of an archive, that of its graph
    // and weights.
    const std::string& identity() const;
    // The same without opening it; "" for an archive.
    static Result<std::string> identity_of(const std::filesystem::path& folder);

    // An Error where the package calls operators that these options do not allow.
    Result<> permits(const LoadOptions& options) const;

    const graph::Graph& graph() const;

    // Parameters, buffers and constants of the model, on the CPU, those at these places of the
    // archive, whose order is signature_json's; aliases are one tensor.
    Tensors weights(const std::vector<std::int64_t>& which) const;

    // What a caller has to know, as JSON: in_spec, out_spec, inputs, outputs, names of weights and
    // of the buffers it has to write.
    std::string signature_json() const;

    // `inputs`: the graph's tensor inputs in order, weights among them. Gives results, and behind
    // them what the caller has to write to buffers; none of them shares memory with an input or
    // with another. Throws where sizes are not those that were traced, or where a buffer does not
    // hold what kernels have built in. `strict`: a call that its kernel does not run throws, too.
    Tensors run(const Tensors& inputs, bool strict = false);

    // Loads the kernels onto a GPU before they are called there: a call that is captured into a
    // CUDA graph cannot.
    void load_on(c10::DeviceIndex device);

    // Makes anew, at the next call, all that kernels made of weights.
    void refresh();

    // Of every fused call, as JSON: whether its kernel can run on the device, what ran so far.
    std::string status_json(c10::Device device) const;

    // What run() would give for such inputs, as tensors without memory. `inputs` may have none,
    // either, and symbolic sizes.
    Tensors shapes(const Tensors& inputs);

    // How messages call the tensor input at this place.
    const std::string& input_name(std::size_t place) const;

    // The same from C++ alone: the weights are those of the archive, moved once to the device of
    // the first tensor. A package without weights has none to run with.
    Tensors run_with_own_weights(const Tensors& user_inputs);

  private:
    static Result<std::shared_ptr<Package>> open_archive(const std::filesystem::path& file,
                                                         const LoadOptions& options);
    struct State;
    explicit Package(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace fact::exec
