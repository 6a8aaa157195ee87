#include "support/npy_header.h"

#include <fmt/format.h>

#include <charconv>

namespace fact {
namespace {

constexpr std::size_t kMaxDims = 32;  // as in NumPy

// Reads one token after the other; stops at the first mistake.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    Result<NpyHeader> run() {
        NpyHeader header;
        bool has_descr = false, has_order = false, has_shape = false;
        bool good = take("{");
        while (good && !take("}")) {
            std::string key;
            good = quoted(key) && take(":");
            if (!good) break;
            if (key == "descr" && !has_descr)
                good = has_descr = quoted(header.descr);
            else if (key == "fortran_order" && !has_order)
                good = has_order = truth(header.fortran_order);
            else if (key == "shape" && !has_shape)
                good = has_shape = tuple(header.shape);
            else
                good = false;
            // Only the last entry may lack a comma.
            good = good && (take(",") || next() == '}');
        }
        if (!good || next() != '\0' || !has_descr || !has_order || !has_shape)
            return Error{"its header cannot be read", {}};
        return header;
    }

  private:
    // The next character that is not blank; '\0' at the end.
    char next() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
            text_.remove_prefix(1);
        return text_.empty() ? '\0' : text_[0];
    }

    bool take(std::string_view word) {
        next();
        if (!text_.starts_with(word)) return false;
        text_.remove_prefix(word.size());
        return true;
    }

    bool quoted(std::string& out) {
        const char quote = next();
        if (quote != '\'' && quote != '"') return false;
        const auto end = text_.find(quote, 1);
        if (end == text_.npos) return false;
        out = text_.substr(1, end - 1);
        text_.remove_prefix(end + 1);
        return true;
    }

    bool truth(bool& out) {
        out = take("True");
        return out || take("False");
    }

    bool tuple(std::vector<std::int64_t>& out) {
        if (!take("(")) return false;
        while (!take(")")) {
            next();
            std::int64_t extent = 0;
            const auto [stop, failure] =
                std::from_chars(text_.data(), text_.data() + text_.size(), extent);
            if (failure != std::errc() || extent < 0 || out.size() == kMaxDims) return false;
            text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
            take("L");  // Python 2 wrote it after long integers
            out.push_back(extent);
            if (!take(",") && next() != ')') return false;
        }
        return true;
    }

    std::string_view text_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) {
    return Reader(text).run();
}

}  // namespace fact
