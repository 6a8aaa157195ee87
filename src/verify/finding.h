// Why a check rejected a kernel: not only that it is incorrect, but in which way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fact::verify {

// name() says each in words.
enum class Finding {
    none,
    wrong_result,
    unwritten,      // some elements of an output
    wrote_outside,  // of its buffers
    changed_inputs,
    depends_on_output,     // on what was in it before the launch
    depends_on_workspace,  // likewise
    not_deterministic,
    remembers_inputs,      // of an earlier call
    wrong_at_other_sizes,  // right at the sizes of the call, wrong at those of other_sizes()
    idle_when_timed,
    faster_than_light,  // a time below the hard bound
    too_much_memory,    // the worker exceeded its limit
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
