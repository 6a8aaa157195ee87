// Mistakes in a text that the user wrote: collected, then rendered with a caret or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fact {

// Half-open byte range in one source text.
struct Span {
    std::uint32_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
};

enum class Severity { warning, error };

struct Diagnostic {
    Severity severity = Severity::error;
    std::string code;  // stable, e.g. "F0203": tests and agents key on it
    Span span;
    std::string message;  // what is wrong, in one sentence
    std::string fix;      // how to fix it, in one sentence; may be empty
};

class Diagnostics {
  public:
    void error(std::string_view code, Span at, std::string message, std::string fix = {});
    void warning(std::string_view code, Span at, std::string message, std::string fix = {});
    void add(Diagnostic item) { items_.push_back(std::move(item)); }
    bool ok() const;  // there are no errors; there may be warnings
    const std::vector<Diagnostic>& items() const { return items_; }

  private:
    std::vector<Diagnostic> items_;
};

struct LineColumn {
    int line = 1, column = 1;  // from 1; columns count bytes
};
LineColumn locate(std::string_view text, std::uint32_t offset);

// "name:3:7: error[F0203]: ..." with the line, a caret under the span, and the fix. `name` is the
// file's name, `text` its content.
std::string render(const Diagnostic& diagnostic, std::string_view name, std::string_view text);
std::string render_all(const Diagnostics& diagnostics, std::string_view name,
                       std::string_view text);
// The same as a JSON array, for programs; "begin" and "end" are bytes from the start of the text.
std::string render_json(const Diagnostics& diagnostics, std::string_view name,
                        std::string_view text);

// The candidate nearest to `word` by edit distance, or "" if none is near. Long words, and all but
// the first 1000 candidates, are ignored.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fact
