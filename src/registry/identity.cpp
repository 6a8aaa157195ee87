#include "registry/identity.h"

#include <fmt/format.h>

#include <cctype>

#include "support/hash.h"
#include "target/gpu_spec.h"

namespace fact::registry {

namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c));
}

// Replaces each identifier and number by what `replace(word, is_number)` returns, and copies all
// other characters. A number may have a point and an exponent.
std::string map_words(std::string_view text, auto&& replace) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_word(text[at])) {
            out += text[at++];
            continue;
        }
        const std::size_t begin = at;
        const bool number = is_digit(text[at]);
        while (at < text.size()) {
            const char c = text[at], last = at > begin ? text[at - 1] : ' ';
            const bool sign = (c == '-' || c == '+') && (last == 'e' || last == 'E');
            if (!is_word(c) && !(number && (c == '.' || sign))) break;
            ++at;
        }
        out += replace(text.substr(begin, at - begin), number);
    }
    return out;
}

// Length first, so that no two lists of parts give the same bytes.
void add(std::string& bytes, std::string_view part) {
    bytes += fmt::format("{}:{}\n", part.size(), part);
}

void add(std::string& bytes, std::int64_t number) {
    add(bytes, std::to_string(number));
}

// All of the work except the subgraph it was checked against.
std::string bytes_of(const Work& work) {
    std::string bytes;
    add(bytes, without_kernel_name(work.text));
    for (const auto& part : {work.dtype, work.output, work.arch, work.gpu}) add(bytes, part);
    for (const bool flag : {work.split, work.allow_tf32, work.a_along_k, work.b_along_k})
        add(bytes, static_cast<std::int64_t>(flag));
    for (const auto extent : {work.m, work.n, work.k, work.batch}) add(bytes, extent);
    add(bytes, static_cast<std::int64_t>(work.extents.size()));
    for (const auto& [name, extent] : work.extents) add(bytes, name), add(bytes, extent);
    for (const auto& tensor : work.tensors) {
        add(bytes, tensor.name);
        add(bytes, static_cast<std::int64_t>(tensor.constant));
        add(bytes, tensor.alignment);
        add(bytes, static_cast<std::int64_t>(tensor.dims.size()));
        for (const int dim : tensor.dims) add(bytes, dim);
    }
    return bytes;
}

}  // namespace

std::string without_kernel_name(std::string_view text) {
    std::string_view name, previous;
    map_words(text, [&](std::string_view word, bool) {
        if (name.empty() && previous == "kernel") name = word;
        previous = word;
        return std::string();
    });
    return map_words(
        text, [&](std::string_view word, bool) { return std::string(word == name ? "_" : word); });
}

std::string rule_identity(std::string_view text) {
    const std::string plain = without_kernel_name(text);
    return short_hash(map_words(plain, [](std::string_view word, bool number) {
        return std::string(number ? "#" : word);
    }));
}

std::string key(const Work& work, std::string_view toolchain_versions) {
    std::string bytes;
    add(bytes, fmt::format("fact record {}", kFormat));
    add(bytes, toolchain_versions);
    add(bytes, work.call);
    return short_hash(bytes + bytes_of(work));
}

std::string gpu_folder(std::string_view gpu) {
    if (const auto row = gpu_of_device(gpu)) return std::string(row->name);
    std::string out;
    for (const char c : gpu)
        out += is_word(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
    return out.empty() ? "unknown" : out;
}

bool same_work(const Work& a, const Work& b) {
    return bytes_of(a) == bytes_of(b);
}

}  // namespace fact::registry
