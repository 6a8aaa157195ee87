#include "driver/memo.h"

#include <fmt/format.h>

#include "support/files.h"
#include "support/hash.h"
#include "support/version.h"

namespace fact::driver {

namespace {

std::filesystem::path file_of(const Environment& environment, const std::string& stage,
                              const std::string& inputs) {
    const auto gpu = environment.gpu ? fmt::format("{}, driver {}", environment.gpu->name,
                                                   environment.gpu->driver_version)
                                     : std::string();
    const auto key = short_hash(fmt::format("{}\n{}\n{}", kVersion, gpu, inputs));
    return environment.store / "results" / fmt::format("{}-{}.json", stage, key);
}

}  // namespace

std::optional<std::string> find_memo(const Environment& environment, const std::string& stage,
                                     const std::string& inputs) {
    auto text = read_file(file_of(environment, stage, inputs));
    if (!text) return std::nullopt;
    return std::move(*text);
}

Result<> store_memo(const Environment& environment, const std::string& stage,
                    const std::string& inputs, const std::string& result) {
    return write_file_atomic(file_of(environment, stage, inputs), result);
}

}  // namespace fact::driver
