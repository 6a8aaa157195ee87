#include "support/json_depth.h"

#include <algorithm>

namespace fact {

int json_depth(std::string_view text) {
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '\\') {
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '{' || c == '[')) {
            deepest = std::max(deepest, ++depth);
        } else if (!quoted && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return deepest;
}

}  // namespace fact
