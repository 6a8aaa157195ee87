// What a check found wrong with a kernel: not only that it is incorrect, but which rule it broke.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fact::verify {

// Spelled out by name().
enum class Finding {
    none,
    wrong_result,
    unwritten,
    outside,
    changed_inputs,
    depends_on_output,
    depends_on_workspace,
    not_deterministic,
    remembers,
    other_sizes,
    idle_when_timed,
    faster_than_light,
    too_much_memory,
};

// A stable name in words: "wrote outside its buffers"; "" for none.
std::string_view name(Finding finding);
std::optional<Finding> finding_from_name(std::string_view name);

// The result of one step of the proof; `why` has the details.
struct Verdict {
    Finding finding = Finding::none;
    std::string why;
    bool passed() const { return finding == Finding::none; }
};
// "wrote outside its buffers: 12 bytes after y"; "" if passed.
std::string text(const Verdict& verdict);

}  // namespace fact::verify
