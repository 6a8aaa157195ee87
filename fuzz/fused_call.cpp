// Any text is a fused call or refused; a call survives printing, and the executor may lay out its
// results and look at its tensors as the kernel does.
#include "graph/fused.h"
#include "graph/graph_json.h"
#include "require.h"
#include "verify/binding_view.h"

namespace fact {
namespace {

void look_at(const graph::FusedCall& call) {
    for (const auto* bindings : {&call.params, &call.results})
        for (const auto& binding : *bindings)
            for (const auto& value : call.original.values)
                if (value.name == binding.value && value.type)
                    (void)verify::view_through(binding, value.type->sizes, value.type->strides);
    std::size_t outputs = 0;
    for (const auto& together : graph::group_outputs(call)) outputs += together.outputs.size();
    fuzz::require(outputs >= call.original.outputs.size(), "an output that is nowhere");
}

}  // namespace
}  // namespace fact

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fact;
    const auto call = graph::fused_call_from_json({reinterpret_cast<const char*>(data), size});
    if (!call) return 0;
    const std::string text = graph::to_json(*call);
    const auto again = graph::fused_call_from_json(text);
    fuzz::require(again && graph::to_json(*again) == text, "does not survive printing:\n" + text);
    look_at(*call);
    return 0;
}
