// Any text is a launch record or refused; a record survives printing.
#include "target/launch_record.h"

#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fact;
    const auto record = launch_record_from_json({reinterpret_cast<const char*>(data), size});
    if (!record) return 0;
    const std::string text = to_json(*record);
    const auto again = launch_record_from_json(text);
    fuzz::require(again && *again == *record, "does not survive printing:\n" + text);
    return 0;
}
