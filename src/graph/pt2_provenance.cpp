#include "graph/pt2_provenance.h"

#include <charconv>
#include <string>

namespace fact::graph {

namespace {

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    for (auto found = text.find(from); found != text.npos; found = text.find(from)) {
        result.append(text.substr(0, found)).append(to);
        text.remove_prefix(found + from.size());
    }
    return result.append(text);
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

bool is_torch(std::string_view file) {
    return file.find("-packages/torch/") != std::string_view::npos || file.starts_with("torch/");
}

// Whether `line` is a frame's head: File "model.py", line 41, in forward
bool read_frame(std::string_view line, Provenance& frame) {
    constexpr std::string_view kHead = "File \"", kMiddle = "\", line ";
    if (!line.starts_with(kHead)) return false;
    line.remove_prefix(kHead.size());
    const auto middle = line.find(kMiddle);
    if (middle == std::string_view::npos) return false;
    frame.file = std::string(line.substr(0, middle));
    frame.line = 0;
    frame.code.clear();
    const std::string_view number = line.substr(middle + kMiddle.size());
    std::from_chars(number.data(), number.data() + number.size(), frame.line);
    return true;
}

// Calls `visit` with every frame, outermost first.
template <class Visit>
void for_each_frame(std::string_view trace, Visit visit) {
    Provenance frame;
    bool in_frame = false;
    while (!trace.empty()) {
        const auto end = trace.find('\n');
        const std::string_view line = trim(trace.substr(0, end));
        trace.remove_prefix(end == std::string_view::npos ? trace.size() : end + 1);
        Provenance next;
        if (read_frame(line, next)) {
            if (in_frame) visit(frame);
            frame = next;
            in_frame = true;
        } else if (in_frame && frame.code.empty()) {
            frame.code = std::string(line);
        }
    }
    if (in_frame) visit(frame);
}

// Strict tracing writes L['self'].blocks[0] or getattr(L['self'].blocks, '0') for blocks.0.
std::string plain_path(std::string_view written) {
    std::string path(written);
    for (const std::string_view root : {"L['self']", "L__self__"})
        path = replace_all(path, root, "");
    path = replace_all(path, "getattr(", "");
    path = replace_all(path, ", '", ".");
    path = replace_all(path, "')", "");
    path = replace_all(path, "._modules", "");
    for (const std::string_view mark : {"['", "[\"", "["}) path = replace_all(path, mark, ".");
    for (const std::string_view mark : {"']", "\"]", "]"}) path = replace_all(path, mark, "");
    // A module called again is recorded as "blocks.0@1".
    if (const auto again = path.find('@'); again != std::string::npos) path.resize(again);
    const auto start = path.find_first_not_of('.');
    return start == std::string::npos ? std::string() : path.substr(start);
}

void read_module(std::string_view stack, Provenance& where) {
    const auto last = stack.rfind(';');
    const std::string_view entry = last == std::string_view::npos ? stack : stack.substr(last + 1);
    const auto first_comma = entry.find(','), last_comma = entry.rfind(',');
    if (first_comma == std::string_view::npos || first_comma == last_comma) return;
    if (entry.starts_with("_empty_nn_module_stack")) return;  // nodes that torch itself added
    where.module_path = plain_path(entry.substr(first_comma + 1, last_comma - first_comma - 1));
    std::string_view type = entry.substr(last_comma + 1);
    if (const auto dot = type.rfind('.'); dot != std::string_view::npos)
        type.remove_prefix(dot + 1);
    if (type.ends_with("'>")) type.remove_suffix(2);
    where.module_type = std::string(type);
}

}  // namespace

Provenance read_provenance(std::string_view stack_trace, std::string_view module_stack) {
    Provenance where, user;
    for_each_frame(stack_trace, [&](const Provenance& frame) {
        where = frame;
        if (!is_torch(frame.file)) user = frame;
    });
    if (!user.file.empty()) where = user;
    read_module(module_stack, where);
    return where;
}

}  // namespace fact::graph
