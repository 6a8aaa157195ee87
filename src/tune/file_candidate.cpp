// Candidates from CUDA files that the user gave: file_candidate() of tune/candidates.h.
#include <fmt/format.h>

#include <regex>
#include <set>

#include "support/files.h"
#include "tune/candidates.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

// The file's text with the files that it includes from its own folder inlined, so that the compile
// key depends on all of it. A file that is in `included` already is not inlined again.
Result<std::string> inlined(const fs::path& file, std::set<fs::path>& included) {
    auto text = read_file(file);
    if (!text) return text.error();
    static const std::regex pattern("^[ \\t]*#[ \\t]*include[ \\t]*\"([^\"]+)\"[^\\n]*",
                                    std::regex::multiline);
    std::string out;
    auto from = text->cbegin();
    for (std::sregex_iterator it(text->begin(), text->end(), pattern), end; it != end; ++it) {
        const fs::path beside = file.parent_path() / (*it)[1].str();
        if (!fs::is_regular_file(beside)) continue;  // the compiler finds it in its include folders
        out.append(from, (*it)[0].first);
        from = (*it)[0].second;
        if (!included.insert(beside.lexically_normal()).second) continue;
        auto part = inlined(beside, included);
        if (!part) return part.error();
        out += *part;
    }
    out.append(from, text->cend());
    return out;
}

// One tensor's part of PlainArguments of kernels/common/plain.cuh: a pointer, four strides of 8
// bytes, four extents of 4 bytes.
void add_tensor(StructParam& arguments, int tensor, int rank) {
    constexpr int kMaxDims = 4, kBytes = 56;
    const int start = tensor * kBytes;
    arguments.bytes = start + kBytes;
    arguments.members.push_back({start, PointerField{tensor}});
    for (int d = 0; d < kMaxDims; ++d) {
        arguments.members.push_back(
            {start + 8 + 8 * d, StrideField{tensor, d < rank ? d : kNoDim}});
        ExtentField size;
        if (d < rank) size.dims = {{tensor, d}};
        arguments.members.push_back({start + 40 + 4 * d, size});
    }
}

// The number in a comment "fact-per-block: 128"; the default suits the kernels in tests/gpu/faults.
int elements_per_block(const std::string& text) {
    static const std::regex pattern("fact-per-block: ([1-9][0-9]{0,6})(?![0-9])");
    std::smatch found;
    return std::regex_search(text, found, pattern) ? std::stoi(found[1]) : 64 * 64;
}

// The record with the same tensors and alignments, but with one launch, which has plain arguments,
// and with one workspace, which has the sizes of the first output.
Result<LaunchRecord> with_plain_arguments(LaunchRecord record, int per_block) {
    const int first_output = static_cast<int>(record.params.size());
    const int num_bound = record.num_bound();
    std::erase_if(record.alignments, [&](const Alignment& a) { return a.tensor >= num_bound; });
    Workspace scratch;
    LinearGrid grid;
    grid.per_block = per_block;
    for (int d = 0; d < record.outputs.front().rank; ++d) {
        scratch.sizes.push_back(ExtentField{{{first_output, d}}});
        grid.count.dims.push_back({first_output, d});
    }
    record.workspaces = {scratch};
    record.views.clear();

    StructParam arguments;
    for (int tensor = 0; tensor <= num_bound; ++tensor) {  // the last one is the workspace
        const int rank = record.spec(tensor < num_bound ? tensor : first_output).rank;
        if (rank > 4)
            return Error{
                fmt::format("tensor {} has {} dimensions; at most 4 are possible", tensor, rank),
                ""};
        add_tensor(arguments, tensor, rank);
    }
    Launch launch;
    launch.entry = record.launches.back().entry;
    launch.grid = grid;
    launch.block = 256;
    launch.params = {arguments};
    record.launches = {launch};
    return record;
}

}  // namespace

Result<Candidate> file_candidate(const fs::path& file, const LaunchRecord& record) {
    std::set<fs::path> included;
    auto text = inlined(file, included);
    if (!text) return text.error();
    Candidate candidate;
    candidate.name = file.stem().string();
    candidate.from_file = true;
    candidate.record = record;
    if (text->find("fact-arguments: plain") != text->npos) {
        auto plain = with_plain_arguments(record, elements_per_block(*text));
        if (!plain)
            return Error{fmt::format("{} cannot take plain arguments: {}", file.string(),
                                     plain.error().message),
                         plain.error().hint};
        candidate.record = std::move(*plain);
    }
    candidate.record.schedule = file.filename().string();
    std::string entries, types;
    for (const auto& launch : candidate.record.launches)
        entries += fmt::format(" X({})", launch.entry);
    for (int i = 0; i < record.num_bound(); ++i)
        types += fmt::format("#define FACT_TYPE_{} {}\n", i, info(record.spec(i).dtype).cuda);
    candidate.source = fmt::format(
        "#define FACT_ENTRY {}\n#define FACT_ENTRIES(X){}\n#define FACT_TENSORS {}\n{}{}",
        candidate.record.launches.back().entry, entries, candidate.record.num_tensors(), types,
        *text);
    std::smatch found;
    static const std::regex pattern("fact-fault: ([a-z_]+)");
    if (std::regex_search(*text, found, pattern)) candidate.fault = found[1];
    return candidate;
}

}  // namespace fact::tune
