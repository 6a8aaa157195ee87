#include <thread>

#include "fake_compiler.h"
#include "jit/compile_key.h"
#include "jit/compile_log.h"
#include "jit/headers.h"

namespace fact::jit {
namespace {

TEST_F(Jit, ReadsResourcesAndErrors) {
    const Resources resources = resources_in(
        "ptxas info    : Used 24 registers, used 0 barriers\n"
        "    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 8 barriers, 400 bytes cmem[0]\n");
    EXPECT_EQ(resources.registers, 168);
    EXPECT_EQ(resources.spill_bytes, 12);
    EXPECT_EQ(name(resources.fitness()), "spills");
    EXPECT_EQ(name(resources_in("ptxas info : Used 24 registers\n").fitness()), "sound");
    const auto serialized = resources_in(
        "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to non wgmma instructions reading accumulator registers\n");
    EXPECT_EQ(name(serialized.fitness()), "serialized");
    EXPECT_EQ(first_errors("note: x\nkernel.cu(2): error: no such thing\nmore\n"),
              "kernel.cu(2): error: no such thing");
    EXPECT_EQ(first_errors("a\nb\nc\n", 2), "b\nc");
}

TEST_F(Jit, HitsTheStoreAndPublishesWhole) {
    fake_nvcc("echo 'Used 10 registers' >&2; echo once >> ../../count; cp kernel.cu kernel.cubin");
    const Unit unit{"fill", kSource, "sm90a"};
    auto first = compile(unit, toolchain_, store(), Seconds(20));
    ASSERT_TRUE(first.ok()) << first.error().text();
    EXPECT_FALSE(first->cached);
    EXPECT_EQ(first->registers, 10);
    EXPECT_EQ(*read_file(first->cubin), kSource);

    auto second = compile(unit, toolchain_, store(), Seconds(20));
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE(second->cached);
    EXPECT_EQ(second->cubin, first->cubin);
    EXPECT_EQ(second->registers, 10);
    EXPECT_EQ(*read_file(store() / "count"), "once\n");

    // A damaged entry is made again.
    fs::remove(first->cubin);
    auto third = compile(unit, toolchain_, store(), Seconds(20));
    ASSERT_TRUE(third.ok());
    EXPECT_FALSE(third->cached);
    EXPECT_TRUE(fs::exists(third->cubin));
}

TEST_F(Jit, AnEntryThatIsNotWhatWasCompiledIsMadeAgain) {
    fake_nvcc("cp kernel.cu kernel.cubin");
    const Unit unit{"fill", kSource, "sm90a"};
    const auto first = compile(unit, toolchain_, store(), Seconds(20));
    ASSERT_TRUE(first.ok()) << first.error().text();
    std::string edited = kSource;
    edited.back() = ' ';
    const fs::path meta = first->cubin.parent_path() / "meta.json";
    const std::string whole = *read_file(meta);
    const std::vector<std::pair<fs::path, std::string>> damages{
        {first->cubin, std::string(kSource).substr(0, 20)},  // as a full disk cuts it
        {first->cubin, edited},                              // of the same length
        {first->cubin, ""},
        {meta, whole.substr(0, whole.size() / 2)},
        {meta, "{}"},
        {meta, "[]"}};
    for (const auto& [file, content] : damages) {
        write(file, content);
        EXPECT_FALSE(find_compiled(unit, toolchain_, store()).ok()) << file << ": " << content;
        const auto again = compile(unit, toolchain_, store(), Seconds(20));
        ASSERT_TRUE(again.ok()) << again.error().text();
        EXPECT_FALSE(again->cached);
        EXPECT_EQ(*read_file(again->cubin), kSource);
        EXPECT_TRUE(find_compiled(unit, toolchain_, store()).ok());
    }
    for (const auto& entry : fs::directory_iterator(store()))
        EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

// Which headers of others were read only the compiler knows.
TEST_F(Jit, AnEditOfAnyHeaderThatWasReadIsNoticed) {
    const fs::path own = kernels() / "sm90" / "inner.cuh",
                   system = folder_.path() / "system dir/a.h",
                   cutlass = toolchain_.cutlass_include / "cutlass" / "part.h";
    write(system, "one\n");
    write(cutlass, "one\n");
    fake_nvcc("cp kernel.cu kernel.cubin\nprintf 'kernel.cubin : kernel.cu \\\\\\n    " +
              own.string() + " \\\\\\n    " + cutlass.string() + " \\\\\\n    " +
              folder_.path().string() + "/system\\\\ dir/a.h\\n' > headers.d");
    const Unit unit{"fill", kSource, "sm90a"};
    const auto cached = [&] {
        const bool found = find_compiled(unit, toolchain_, store()).ok();
        const auto made = compile(unit, toolchain_, store(), Seconds(20));
        EXPECT_TRUE(made.ok()) << made.error().text();
        EXPECT_EQ(made->cached, found);
        return found;
    };
    EXPECT_FALSE(cached());
    EXPECT_TRUE(cached());
    for (const fs::path& header : {system, cutlass}) {
        write(header, "two\n");  // as long as before
        EXPECT_FALSE(cached()) << header;
        EXPECT_TRUE(cached()) << header;
        write(header, "two\n");  // another time, the same content
        EXPECT_TRUE(cached()) << header;
        fs::remove(header);
        EXPECT_FALSE(find_compiled(unit, toolchain_, store()).ok()) << header;
        write(header, "two\n");
        EXPECT_TRUE(cached()) << header;
    }
    // What was seen long enough ago is not read again, and noticed all the same.
    for (const fs::path& header : {own, system, cutlass})
        fs::last_write_time(header, fs::file_time_type::clock::now() - std::chrono::hours(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    EXPECT_TRUE(cached());
    EXPECT_TRUE(cached());
    write(cutlass, "six\n");
    fs::last_write_time(cutlass, fs::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_FALSE(cached());
    // CUTLASS somewhere else is the same CUTLASS.
    fs::rename(toolchain_.cutlass_include, folder_.path() / "moved");
    toolchain_.cutlass_include = folder_.path() / "moved";
    EXPECT_TRUE(find_compiled(unit, toolchain_, store()).ok());
    // A list that was edited is none.
    for (const auto& file : fs::directory_iterator(store() / "headers"))
        if (file.path().extension() == ".txt") write(file.path(), "");
    EXPECT_FALSE(find_compiled(unit, toolchain_, store()).ok());
}

TEST_F(Jit, AHeaderEditedMeanwhileIsCompiledAgain) {
    const fs::path header = toolchain_.cutlass_include / "part.h", done = folder_.path() / "edited";
    write(header, "one\n");
    fake_nvcc("cat " + header.string() + " > kernel.cubin; sleep 0.1\n[ -e " + done.string() +
              " ] || { touch " + done.string() + "; echo two > " + header.string() +
              "; }\necho 'kernel.cubin : kernel.cu " + header.string() + "' > headers.d");
    const auto made = compile({"fill", kSource, "sm90a"}, toolchain_, store(), Seconds(20));
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(*read_file(made->cubin), "two\n");

    fake_nvcc("cp kernel.cu kernel.cubin; sleep 0.1; date >> " + header.string() +
              "\necho 'kernel.cubin : kernel.cu " + header.string() + "' > headers.d");
    const auto never = compile({"fill", kSource, "sm90a"}, toolchain_, store() / "2", Seconds(20));
    ASSERT_FALSE(never.ok());
    EXPECT_EQ(never.error().message, "the headers of fill were edited while it was compiled");
    EXPECT_FALSE(fs::exists(store() / "2" / compile_key({"fill", kSource, "sm90a"}, toolchain_)));

    // A clock that was set back is no edit.
    fake_nvcc("cp kernel.cu kernel.cubin; echo 'kernel.cubin : kernel.cu " + header.string() +
              "' > headers.d");
    fs::last_write_time(header, fs::file_time_type::clock::now() + std::chrono::hours(1));
    EXPECT_TRUE(compile({"fill", kSource, "sm90a"}, toolchain_, store() / "3", Seconds(20)).ok());
}

TEST(Headers, AreReadFromAMakeRule) {
    EXPECT_EQ(headers_in_make_rule(
                  "kernel.cubin : kernel.cu \\\n    /usr/include/a.h \\\n    /b\\ c/d.h \\\n"
                  "    /usr/include/a.h /x/$$y.h\n"),
              (std::vector<fs::path>{"/b c/d.h", "/usr/include/a.h", "/x/$y.h"}));
    EXPECT_TRUE(headers_in_make_rule("").empty());
    EXPECT_TRUE(headers_in_make_rule("nonsense").empty());
}

TEST_F(Jit, FailureKeepsTheLogAndLeavesNoEntry) {
    fake_nvcc("echo 'kernel.cu(1): error: nonsense'; exit 2");
    const Unit unit{"fill", kSource, "sm90a"};
    auto artifact = compile(unit, toolchain_, store(), Seconds(20));
    ASSERT_FALSE(artifact.ok());
    EXPECT_EQ(artifact.error().message, "fill does not compile:\nkernel.cu(1): error: nonsense");
    const auto kept = store() / "failed" / compile_key(unit, toolchain_) / "log.txt";
    EXPECT_EQ(*read_file(kept), "kernel.cu(1): error: nonsense\n");
    EXPECT_NE(artifact.error().hint.find(kept.parent_path().string()), std::string::npos);
    for (const auto& entry : fs::directory_iterator(store()))
        EXPECT_EQ(entry.path().filename(), "failed");
}

TEST_F(Jit, DeadlineEndsTheCompiler) {
    fake_nvcc("sleep 60");
    auto artifact = compile({"fill", kSource, "sm90a"}, toolchain_, store(), Seconds(0.3));
    ASSERT_FALSE(artifact.ok());
    EXPECT_NE(artifact.error().message.find("took longer than"), std::string::npos);
}

TEST_F(Jit, CompilesSeveralAtATime) {
    // Each waits until all four run, so that one at a time would fail.
    fake_nvcc(
        "touch ../../running.$$\n"
        "for i in $(seq 200); do [ $(ls ../../running.* | wc -l) -eq 4 ] && break; sleep 0.05; "
        "done\n"
        "[ $(ls ../../running.* | wc -l) -eq 4 ] || exit 1\n"
        "grep -q bad kernel.cu && exit 1\n"
        "cp kernel.cu kernel.cubin");
    std::vector<Unit> units;
    for (int i = 0; i < 4; ++i)
        units.push_back({"unit", "// " + std::to_string(i) + (i == 2 ? " bad" : ""), "sm90a"});
    const auto caller = std::this_thread::get_id();
    int reported = 0;
    auto results = compile_all(units, toolchain_, store(), 4, Seconds(20),
                               [&](std::size_t i, const Result<Artifact>& result) {
                                   EXPECT_EQ(std::this_thread::get_id(), caller);
                                   EXPECT_EQ(result.ok(), i != 2);
                                   ++reported;
                               });
    EXPECT_EQ(reported, 4);
    ASSERT_EQ(results.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        ASSERT_EQ(results[i].ok(), i != 2);
        if (i != 2) {
            EXPECT_EQ(*read_file(results[i]->cubin), units[i].source);
        }
    }
}

TEST_F(Jit, RealCompiler) {
    if (!real_nvcc()) GTEST_SKIP() << "no nvcc on this machine";
    auto artifact = compile({"fill", kSource, "sm90a"}, toolchain_, store(), Seconds(60));
    ASSERT_TRUE(artifact.ok()) << artifact.error().text();
    EXPECT_EQ(read_file(artifact->cubin)->substr(1, 3), "ELF");
    EXPECT_GT(artifact->registers, 0);
    EXPECT_EQ(artifact->spill_bytes, 0);

    // A header whose name is put together by a macro, as CUTLASS does it.
    write(toolchain_.cutlass_include / "cutlass" / "part.h", "#define PART 1\n");
    const Unit macro{"macro",
                     "#define HEADER(x) <cutlass/x>\n#include HEADER(part.h)\n"
                     "extern \"C\" __global__ void f(int* out) { *out = PART; }\n",
                     "sm90a"};
    ASSERT_TRUE(compile(macro, toolchain_, store(), Seconds(60)).ok());
    EXPECT_TRUE(find_compiled(macro, toolchain_, store()).ok());
    write(toolchain_.cutlass_include / "cutlass" / "part.h", "#define PART 2\n");
    EXPECT_FALSE(find_compiled(macro, toolchain_, store()).ok());

    auto wrong = compile({"wrong", "__global__ void f() { nonsense; }\n", "sm90a"}, toolchain_,
                         store(), Seconds(60));
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("\"nonsense\" is undefined"), std::string::npos)
        << wrong.error().message;
}

TEST(Toolchain, AWrongNvccIsNamed) {
    setenv("FACT_NVCC", "/no/such/nvcc", 1);
    auto toolchain = find_toolchain();
    unsetenv("FACT_NVCC");
    ASSERT_FALSE(toolchain.ok());
    EXPECT_EQ(toolchain.error().message, "FACT_NVCC names /no/such/nvcc, which is not a program");
}

TEST_F(Jit, ACompilerMayNotTakeAllMemory) {
    fake_nvcc("head -c 1000000000 /dev/zero | tail -n 1 > kernel.cubin || exit 1");
    toolchain_.memory_bytes = 256 << 20;
    const auto result = compile({"greedy", kSource, "sm90a"}, toolchain_, store(), Seconds(60));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "compiling greedy needed more than 256 MiB of memory");
    EXPECT_NE(result.error().hint.find("FACT_COMPILER_MEMORY"), std::string::npos);
}

TEST_F(Jit, AFullDiskIsNamed) {
    fake_nvcc("echo 'cannot write: No space left on device' >&2; exit 1");
    const auto result = compile({"fill", kSource, "sm90a"}, toolchain_, store(), Seconds(20));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message,
              "no space left on the disk of " + store().string() + ": fill was not compiled");
    EXPECT_TRUE(fs::is_empty(store()));
}

TEST_F(Jit, FindsWhatIsCompiledWithoutCompiling) {
    fake_nvcc("touch kernel.cubin");
    const Unit unit{"fill", kSource, "sm90a"};
    EXPECT_FALSE(find_compiled(unit, toolchain_, store()).ok());
    EXPECT_FALSE(fs::exists(store()));
    const auto made = compile(unit, toolchain_, store(), Seconds(10));
    ASSERT_TRUE(made.ok()) << made.error().text();
    fake_nvcc("exit 1");
    const auto found = find_compiled(unit, toolchain_, store());
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(found->cubin, made->cubin);
    EXPECT_TRUE(found->cached);
}

}  // namespace
}  // namespace fact::jit
