// Writes C++ text: only this class handles indentation and line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::emit {

class CodeWriter {
  public:
    // `origin`, the line of kernel text that this line comes from ("mlp.fact:3"), is appended as a
    // comment.
    void line(std::string_view text = {}, std::string_view origin = {});
    // Writes "text {" now, and "}" plus `closing` when the returned guard is destroyed.
    class Block {
      public:
        ~Block();
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;

      private:
        friend class CodeWriter;
        Block(CodeWriter& writer, std::string closing);
        CodeWriter& writer_;
        std::string closing_;
    };
    [[nodiscard]] Block block(std::string_view text, std::string_view closing = {},
                              std::string_view origin = {});
    // A parameter or argument list, broken after commas so that lines have at most 100 columns:
    // `head` ends with the opening bracket, `tail` begins with the closing one.
    void list(std::string_view head, const std::vector<std::string>& items, std::string_view tail);

    const std::string& text() const { return text_; }

  private:
    std::string text_;
    int depth_ = 0;
};

// The name, with "_" appended if C++ reserves the word.
std::string identifier(std::string_view name);

// A literal that C++ reads back as the same float: "0.5f", "-INFINITY".
std::string float_literal(double value);

}  // namespace fact::emit
