#include "support/become.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fact {

Error become(const Command& command) {
    if (command.argv.empty()) throw InternalError("a command without a program");
    for (const auto& [name, value] : command.environment)
        ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
    std::vector<char*> argv;
    for (const auto& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    std::fflush(nullptr);  // so that output in buffers is not lost
    ::execvp(argv[0], argv.data());
    const int code = errno;
    return {fmt::format("cannot start {}: {}", command.argv[0], std::strerror(code)),
            code == ENOENT ? "install it, or give its full path" : ""};
}

}  // namespace fact
