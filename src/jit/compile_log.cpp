#include "jit/compile_log.h"

#include <algorithm>
#include <regex>
#include <vector>

#include "support/result.h"

namespace fact::jit {

Resources resources_in(const std::string& log) {
    static const std::regex registers(R"(Used (\d+) registers)");
    static const std::regex spills(R"((\d+) bytes spill (stores|loads))");
    Resources resources;
    for (std::sregex_iterator it(log.begin(), log.end(), registers), end; it != end; ++it)
        resources.registers = std::max(resources.registers, std::stoi((*it)[1]));
    for (std::sregex_iterator it(log.begin(), log.end(), spills), end; it != end; ++it)
        resources.spill_bytes += std::stoi((*it)[1]);
    resources.serialized = log.find("wgmma.mma_async instructions are serialized") != log.npos;
    return resources;
}

std::string_view name(Fitness fitness) {
    switch (fitness) {
        case Fitness::sound:
            return "sound";
        case Fitness::spills:
            return "spills";
        case Fitness::serialized:
            return "serialized";
    }
    throw InternalError("a fitness without a name");
}

std::string first_errors(std::string_view log, int max_lines) {
    std::vector<std::string_view> lines, errors;
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        if (end > 0) lines.push_back(log.substr(0, end));
        log.remove_prefix(std::min(end + 1, log.size()));
    }
    for (auto line : lines)
        if (line.find("error") != line.npos || line.find("fatal") != line.npos)
            errors.push_back(line);
    const auto limit = static_cast<std::size_t>(max_lines);
    if (errors.empty() && lines.size() > limit)
        errors.assign(lines.end() - max_lines, lines.end());
    else if (errors.empty())
        errors = lines;
    if (errors.size() > limit) errors.resize(limit);
    std::string text;
    for (auto line : errors) {
        if (!text.empty()) text += '\n';
        text += line;
    }
    return text;
}

}  // namespace fact::jit
