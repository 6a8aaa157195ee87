// What comes from a language model is read as untrusted input.
#include "agent/answer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "agent/prompt.h"
#include "agent/provider.h"
#include "support/files.h"

namespace fact::agent {
namespace {

TEST(Answer, ProposalsAreFoundAmongProse) {
    const auto found = read_proposals(
        "Let me think {not json}. Here:\n```json\n{\"proposals\": [{\"nodes\": [\"a\", \"b}\"], "
        "\"why\": \"one pass\"}, {\"nodes\": []}, 7, {\"nodes\": [1, \"c\"]}]}\n```\nGood luck!");
    ASSERT_TRUE(found) << found.error().text();
    ASSERT_EQ(found->size(), 4u);
    EXPECT_EQ((*found)[0].nodes, (std::vector<std::string>{"a", "b}"}));
    EXPECT_EQ((*found)[0].why, "one pass");
    EXPECT_EQ((*found)[0].mistake, "");
    EXPECT_TRUE(read_proposals("{\"proposals\": []}")->empty());
    // What cannot be read is not left out, and says why.
    EXPECT_EQ((*found)[1].mistake, "the list of names is empty");
    EXPECT_EQ((*found)[2].mistake, "7 is not an object with \"nodes\"");
    EXPECT_EQ((*found)[3].mistake, "1 is not a name");
    EXPECT_TRUE((*found)[3].nodes.empty());
    EXPECT_EQ((*read_proposals("{\"proposals\": [{\"nodes\": \"a\"}]}"))[0].mistake,
              "\"a\" is not a list of names");
}

// Models show the form first, then their answer; a last one that is cut off does not count.
TEST(Answer, TheLastObjectIsTheAnswer) {
    const std::string example = "As in {\"proposals\": [{\"nodes\": [\"name\", \"name\"]}]}:\n",
                      answer = "```json\n{\"proposals\": [{\"nodes\": [\"a\"]}]}\n```\n";
    for (const auto& text :
         {example + answer, example + answer + "Not {\"sets\": 3}, but {\"proposals\": [{\"nod",
          example + std::string(40, '{') + "}\n" + answer,
          "{\"answer\": " + example.substr(6, example.size() - 8) + "}" + answer}) {
        const auto found = read_proposals(text);
        ASSERT_TRUE(found) << text;
        ASSERT_EQ(found->size(), 1u) << text;
        EXPECT_EQ((*found)[0].nodes, (std::vector<std::string>{"a"})) << text;
    }
}

TEST(Answer, WhatIsNoAnswerIsAnError) {
    for (const std::string& text :
         {std::string(), std::string("I cannot help with that."), std::string(100'000, '{'),
          std::string("{\"proposals\": 3}"), std::string("{\"proposals\": [{\"nodes\": [\"a\"]}"),
          std::string(1 << 20, 'x'), std::string("\xff\xfe{\"\xff")}) {
        EXPECT_FALSE(read_proposals(text)) << text.substr(0, 40);
    }
    for (const std::string& text :
         {std::string(), std::string("I cannot help with that."), std::string(1 << 20, 'x')})
        EXPECT_FALSE(read_kernel_text(text)) << text.substr(0, 40);
}

TEST(Answer, TheLastCodeBlockIsTheText) {
    EXPECT_EQ(*read_kernel_text("First\n```\nkernel a\n```\nbetter:\n```fact\nkernel b\n```\nend"),
              "kernel b\n");
    EXPECT_EQ(*read_kernel_text("Sure: kernel f() -> () {}"), "kernel f() -> () {}");
}

TEST(Prompt, PlacesAreFilledOnceAndNoneIsForgotten) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-prompt");
    const auto file = folder.path() / "p.md";
    std::ofstream(file) << "a {{x}} b {{y}}\n";
    EXPECT_EQ(*fill_prompt(file, {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2\n");
    EXPECT_NE(fill_prompt(file, {{"x", "1"}}).error().message.find("there is no value for {{y}}"),
              std::string::npos);
    EXPECT_LT(fill_prompt(file, {{"x", std::string(1 << 20, 'x')}, {"y", ""}})->size(), 50'000u);
    EXPECT_EQ(bounded({"one", "two", "three"}, 8), "one\ntwo\n... and 1 more");
    EXPECT_EQ(bounded({}, 8), "");
}

TEST(Transcript, IsReplayedByWhatWasAsked) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-transcript");
    const auto file = folder.path() / "t.jsonl";
    setenv("SOME_API_KEY", "sk-12345678", 1);
    ASSERT_TRUE(append_transcript(
        file, {{"find", "", 0, "prompt with sk-12345678"}, {"sets", 10, 2, 0.5}, ""}));
    ASSERT_TRUE(append_transcript(file, {{"write", "a_1", 1, "p"}, {"text\n", 3, 4, 1}, ""}));
    ASSERT_TRUE(append_transcript(file, {{"write", "a_1", 0, "p"}, {}, "no answer within 5 s"}));
    unsetenv("SOME_API_KEY");
    EXPECT_EQ(read_file(file)->find("sk-1234"), std::string::npos);
    auto replay = replay_provider(file);
    ASSERT_TRUE(replay) << replay.error().text();
    EXPECT_EQ((*replay)->ask({"write", "a_1", 1, "another prompt"}, Seconds(5))->text, "text\n");
    EXPECT_EQ((*replay)->ask({"find", "", 0, ""}, Seconds(5))->tokens_in, 10);
    EXPECT_EQ((*replay)->ask({"write", "a_1", 0, ""}, Seconds(5)).error().message,
              "no answer within 5 s");
    EXPECT_FALSE((*replay)->ask({"write", "a_2", 0, ""}, Seconds(5)));
    std::ofstream(file, std::ios::app) << "{\"stage\": 3}\n";
    EXPECT_NE(replay_provider(file).error().message.find("t.jsonl:4: not a line"),
              std::string::npos);
}

// As a process that is killed while it writes leaves it.
TEST(Transcript, ALastLineThatWasCutOffIsIgnored) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-transcript");
    const auto file = folder.path() / "t.jsonl";
    const Exchange first{{"find", "", 0, "p"}, {"sets"}, ""},
        second{{"write", "a", 0, "q"}, {}, ""};
    ASSERT_TRUE(append_transcript(file, first));
    const auto whole = *read_file(file);
    std::ofstream(file, std::ios::app) << "{\"stage\": \"wri";
    std::string warning;
    const auto read = read_transcript(file, &warning);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->size(), 1u);
    EXPECT_NE(warning.find("t.jsonl:2: the last line was cut off"), std::string::npos) << warning;
    EXPECT_TRUE(replay_provider(file));

    ASSERT_TRUE(append_transcript(file, second));
    warning.clear();
    EXPECT_EQ(read_transcript(file, &warning)->size(), 2u);
    EXPECT_EQ(warning, "");
    // A whole line is kept, even if only its end is missing.
    std::ofstream(file, std::ios::trunc) << whole.substr(0, whole.size() - 1);
    ASSERT_TRUE(append_transcript(file, second));
    EXPECT_EQ(read_transcript(file)->size(), 2u);
    // Elsewhere such a line is damage, and a file without any other line is no transcript.
    std::ofstream(file, std::ios::trunc) << "{\"stage\": \"wri\n" << whole;
    EXPECT_NE(read_transcript(file).error().message.find("t.jsonl:1: not a line"),
              std::string::npos);
    std::ofstream(file, std::ios::trunc) << "some notes";
    EXPECT_FALSE(read_transcript(file));
}

TEST(Transcript, OnlySecretsAreRedacted) {
    const std::vector<std::pair<std::string, std::string>> ordinary{
        {"A_KEY", "softmax"},          {"A_TOKEN", "residual"},      {"A_SECRET", "Attention"},
        {"A_PASSWORD", "16777216"},    {"KEYMAP_X", "us-intl-2"},    {"TOKENIZER_X", "fast-bpe-1"},
        {"A_KEY_FILE", "/home/me/id"}, {"MAX_TOKENS_X", "8192-4096"}};
    const std::vector<std::pair<std::string, std::string>> secret{
        {"B_API_KEY", "sk-12345678"}, {"B_APIKEY", "qWeRtZuIoP"}, {"B_TOKEN_2", "hunter22"}};
    for (const auto* list : {&ordinary, &secret})
        for (const auto& [name, value] : *list) setenv(name.c_str(), value.c_str(), 1);
    for (const auto& [name, value] : ordinary)
        EXPECT_EQ(redacted("the " + value), "the " + value) << name;
    for (const auto& [name, value] : secret)
        EXPECT_EQ(redacted("the " + value), "the [redacted]") << name;
    for (const auto* list : {&ordinary, &secret})
        for (const auto& [name, value] : *list) unsetenv(name.c_str());
}

// Ids that another version of torch would give: the prompt decides, then the id, then the order.
TEST(Transcript, IsReplayedUnderOtherIds) {
    const TemporaryFolder folder(std::filesystem::temp_directory_path(), "fact-transcript");
    const auto file = folder.path() / "t.jsonl";
    for (const auto& [about, attempt, text] : {std::tuple{"a_1", 0, "first"},
                                               {"a_1", 1, "first again"},
                                               {"a_2", 0, "second"},
                                               {"a_3", 0, "third"},
                                               {"a_4", 0, "fourth"}})
        ASSERT_TRUE(append_transcript(
            file, {{"write", about, attempt, "prompt " + std::string(text)}, {text}, ""}));
    auto replay = replay_provider(file);
    ASSERT_TRUE(replay) << replay.error().text();
    const auto ask = [&](const char* about, int attempt, const char* prompt) {
        const auto answer = (*replay)->ask({"write", about, attempt, prompt}, Seconds(5));
        return answer ? std::pair{answer->text, answer->other_prompt} : std::pair{"none", false};
    };
    using Given = std::pair<std::string, bool>;
    EXPECT_EQ(ask("b_3", 0, "prompt third"), Given("third", false));  // whatever its id
    EXPECT_EQ(ask("b_1", 0, "?"), Given("first", true));              // the order
    EXPECT_EQ(ask("b_2", 0, "?"), Given("second", true));  // not what was said of b_1 again
    EXPECT_EQ(ask("b_1", 1, "?"), Given("first again", true));
    EXPECT_EQ(ask("b_2", 1, "?"), Given("none", false));
    EXPECT_EQ(ask("a_4", 0, "?"), Given("fourth", true));
    EXPECT_EQ(ask("b_5", 0, "?"), Given("none", false));
    EXPECT_EQ(ask("b_6", 0, "prompt second"), Given("second", false));  // its own after all
    EXPECT_FALSE((*replay)->ask({"find", "", 0, "?"}, Seconds(5)));
}

TEST(Command, AnswersOrSaysWhyNot) {
    const auto ask = [](const char* script, Question question = {}, double patience = 20) {
        Command shell;
        shell.argv = {"/bin/sh", "-c", script};
        return command_provider(shell)->ask(question, Seconds(patience));
    };
    const auto answer = ask("cat", {"find", "", 0, "what was asked"});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->text, "what was asked");
    EXPECT_EQ(answer->tokens_in, 4);
    EXPECT_EQ(ask("echo no; echo why >&2; exit 4").error().message,
              "the answering program ended with exit code 4: why\n");
    EXPECT_EQ(ask("exit 3").error().message, "the answering program ended with exit code 3");
    EXPECT_EQ(ask("sleep 60", {}, 0.2).error().message, "no answer within 0 s");
    EXPECT_EQ(ask("yes").error().message, "the answer has more than 4 MB");
    EXPECT_EQ(ask("echo").error().message, "the answer is empty");
}

TEST(Answer, SetsOfPatterns) {
    const auto sets =
        read_sets("Perhaps {\"sets\": [[\"p00\", \"a_1\"], [3], \"p01\", [\"p02\"]]} then.");
    ASSERT_TRUE(sets);
    ASSERT_EQ(sets->size(), 4u);
    EXPECT_EQ((*sets)[0].patterns, (std::vector<std::string>{"p00", "a_1"}));
    EXPECT_EQ((*sets)[1].mistake, "3 is not a name");
    EXPECT_EQ((*sets)[2].mistake, "\"p01\" is not a list of names");
    EXPECT_EQ((*sets)[3].patterns, (std::vector<std::string>{"p02"}));
    EXPECT_TRUE(read_sets("{\"sets\": []}")->empty());
    EXPECT_FALSE(read_sets("none is better"));
}

TEST(Answer, MayGiveUp) {
    EXPECT_TRUE(gives_up("STOP"));
    EXPECT_TRUE(gives_up("\n`STOP`: the kernel is at its bound."));
    EXPECT_FALSE(gives_up("STOP\n```\nkernel f(x: f32[M]) -> (y: f32[M]) { y = x }\n```"));
    EXPECT_FALSE(gives_up("It should STOP."));
    EXPECT_FALSE(gives_up(""));
}

}  // namespace
}  // namespace fact::agent
