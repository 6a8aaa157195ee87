// The output of `fact kernel run --json`.
#include <nlohmann/json.hpp>

#include "tools/run.h"

namespace fact::tools {

std::string to_json(const ir::Kernel& kernel, const RunReport& report) {
    using Json = nlohmann::ordered_json;
    Json extents = Json::object();
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (!kernel.dims[d].extent) extents[kernel.dims[d].name] = report.extents.of[d];
    const auto tensors = [](const std::vector<RunReport::Line>& lines) {
        Json all = Json::array();
        for (const RunReport::Line& line : lines)
            all.push_back({{"name", line.name}, {"type", line.type}, {"about", line.about}});
        return all;
    };
    Json verdicts = Json::array();
    // JSON has no infinities: 1e300 stands for an infinite error.
    for (const RunReport::Verdict& verdict : report.verdicts)
        verdicts.push_back({{"output", verdict.output},
                            {"file", verdict.file},
                            {"agrees", verdict.comparison.agrees},
                            {"error", std::min(verdict.comparison.error, 1e300)},
                            {"allowed", verdict.comparison.allowed},
                            {"about", verdict.comparison.what}});
    return Json{{"kernel", kernel.name},
                {"extents", extents},
                {"inputs", tensors(report.inputs)},
                {"outputs", tensors(report.outputs)},
                {"expected", verdicts},
                {"agrees", report.agrees()},
                {"notes", report.notes}}
               .dump(2, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

}  // namespace fact::tools
