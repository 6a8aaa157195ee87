// Writes C++ text: the one owner of indentation and line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::emit {

class CodeWriter {
  public:
    // `origin`, the line of kernel text it comes from ("mlp.fact:3"), follows as a comment.
    void line(std::string_view text = {}, std::string_view origin = {});
    // "text {" now, "}" with `closing` after it when the returned guard goes.
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
    // A parameter or argument list broken after commas so that lines stay under 100 columns:
    // `head` opens the bracket, `tail` closes it.
    void list(std::string_view head, const std::vector<std::string>& items, std::string_view tail);

    const std::string& text() const { return text_; }

  private:
    std::string text_;
    int depth_ = 0;
};

// The name, or one close to it where C++ has taken the word.
std::string identifier(std::string_view name);

// A float as C++ reads it back to the same bits: "0.5f", "-INFINITY".
std::string float_literal(double value);

}  // namespace fact::emit
