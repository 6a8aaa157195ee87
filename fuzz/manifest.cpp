// Any text is the manifest of a package or refused, and its files stay in the package.
#include "package/manifest.h"

#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fact;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto manifest = package::manifest_from_json(text);
    if (!manifest) {
        fuzz::require(!manifest.error().message.empty(), "refused without a reason");
        return 0;
    }
    for (const auto& [path, file] : manifest->files) {
        const auto whole = std::filesystem::path("/package") / path;
        fuzz::require(whole == whole.lexically_normal() &&
                          whole.string().starts_with("/package/") &&
                          whole != "/package/manifest.json",
                      "leaves the package: " + path);
        fuzz::require(file.sha256.size() == 64, "no hash: " + path);
    }
    return 0;
}
