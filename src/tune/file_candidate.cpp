#include <fmt/format.h>

#include <regex>

#include "support/files.h"
#include "tune/candidates.h"

namespace fact::tune {

Result<Candidate> file_candidate(const std::filesystem::path& file, const LaunchRecord& record) {
    auto text = read_file(file);
    if (!text) return text.error();
    Candidate candidate;
    candidate.name = file.stem().string();
    candidate.record = record;
    candidate.record.schedule = file.filename().string();
    std::string entries;
    for (const auto& launch : record.launches) entries += fmt::format(" X({})", launch.entry);
    candidate.source = fmt::format("#define FACT_ENTRY {}\n#define FACT_ENTRIES(X){}\n{}",
                                   record.launches.back().entry, entries, *text);
    std::smatch found;
    static const std::regex pattern("fact-fault: (hang|crash|wrong)");
    if (std::regex_search(*text, found, pattern)) candidate.fault = found[1];
    return candidate;
}

}  // namespace fact::tune
