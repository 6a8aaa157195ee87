// Any text is the graph of a package or refused; a graph survives printing, and what is asked of it
// before it runs has an answer.
#include "graph/graph_json.h"

#include "graph/printer.h"
#include "package/classes.h"
#include "package/operators.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fact;
    const auto graph = graph::graph_from_json({reinterpret_cast<const char*>(data), size});
    if (!graph) return 0;
    const std::string text = graph::to_json(*graph);
    const auto again = graph::graph_from_json(text);
    fuzz::require(again && graph::to_json(*again) == text, "does not survive printing:\n" + text);
    graph::print(*graph);
    (void)package::classes_of({graph->in_spec, graph->out_spec});
    const auto called = package::namespaces(*graph);
    fuzz::require(
        package::check_operators(*graph, called, called) || text.find("aten.") != std::string::npos,
        "allows what it calls, and is refused:\n" + text);
    return 0;
}
