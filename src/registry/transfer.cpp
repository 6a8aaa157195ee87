#include "registry/transfer.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "registry/identity.h"
#include "support/json_fields.h"

namespace fact::registry {

namespace {

std::string lower_case(std::string_view text) {
    std::string out;
    for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace

bool passes(const Record& record, const Filter& filter) {
    const auto& work = record.work;
    if (!filter.gpu.empty() && gpu_folder(work.gpu) != lower_case(filter.gpu) &&
        lower_case(work.gpu).find(lower_case(filter.gpu)) == std::string::npos)
        return false;
    if (!filter.rule.empty() && work.rule != filter.rule && record.kernel != filter.rule)
        return false;
    return filter.dtype.empty() || work.dtype == filter.dtype;
}

std::string to_lines(const std::vector<Entry>& entries) {
    std::string out;
    for (const auto& entry : entries) out += to_json(entry.record, -1);
    return out;
}

Result<Imported> import_lines(const Registry& registry, std::string_view text) {
    Imported imported;
    std::vector<Record> good;
    if (auto whole = record_from_json(text)) {  // a file of the registry itself
        good.push_back(std::move(*whole));
    } else if (try_parse_json(text)) {  // a single object, but no valid record
        imported.refused.push_back({1, whole.error().message});
    } else {
        int number = 0;
        for (std::size_t begin = 0; begin < text.size();) {
            const auto end = std::min(text.find('\n', begin), text.size());
            const auto line = text.substr(begin, end - begin);
            begin = end + 1;
            ++number;
            if (blank(line)) continue;
            if (auto record = record_from_json(line))
                good.push_back(std::move(*record));
            else
                imported.refused.push_back({number, record.error().message});
        }
    }
    for (const auto& record : good) {
        const auto put = registry.put(record);
        if (!put) return put.error();
        switch (*put) {
            case Registry::Put::added:
                ++imported.added;
                break;
            case Registry::Put::replaced:
                ++imported.replaced;
                break;
            case Registry::Put::kept:
                ++imported.kept;
                break;
        }
    }
    return imported;
}

}  // namespace fact::registry
