// Any text is a record of the registry or refused; a record survives printing, key and all.
#include "registry/identity.h"
#include "registry/record.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fact;
    const std::string_view given(reinterpret_cast<const char*>(data), size);
    // What a text of the language would be reduced to is asked of anything.
    (void)registry::rule_identity(given);
    const auto record = registry::record_from_json(given);
    if (!record) return 0;
    const std::string text = registry::to_json(*record);
    const auto again = registry::record_from_json(text);
    fuzz::require(again && registry::key(*again) == registry::key(*record),
                  "does not survive printing:\n" + text);
    return 0;
}
