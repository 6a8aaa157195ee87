// `fact act`; add_act is declared in cli/commands.h.
#include "driver/act.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/json_fields.h"
#include "support/subprocess.h"

namespace fact::cli {

namespace {

struct ActOptions {
    std::string run, action, request;
    bool list = false, serve = false;
};

int list_actions() {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& action : driver::actions())
        list.push_back({{"name", action.name},
                        {"summary", action.summary},
                        {"request", parse_json(action.schema)}});
    print(list.dump(1) + "\n");
    return kDone;
}

// Answers each line {"action": NAME, "request": {...}, "id": ...} with one that has the same id.
int serve(driver::LoadedRun& loaded) {
    for (std::string line; !interrupted() && std::getline(std::cin, line);) {
        if (line.empty()) continue;
        const auto asked = try_parse_json(line).value_or(nlohmann::json());
        const bool valid =
            asked.is_object() && asked.contains("action") && asked["action"].is_string();
        auto reply =
            valid ? parse_json(driver::act(loaded, asked["action"].get<std::string>(),
                                           asked.value("request", nlohmann::json::object()).dump())
                                   .json)
                  : nlohmann::json{
                        {"ok", false},
                        {"error", "a line has to be {\"action\": NAME, \"request\": {...}}"},
                        {"hint", "see `fact act --list`"}};
        if (asked.is_object() && asked.contains("id")) reply["id"] = asked["id"];
        print(reply.dump() + "\n");
        std::cout.flush();
    }
    return interrupted() ? kInterrupted : kDone;
}

int act(const ActOptions& options) {
    if (options.list) return list_actions();
    if (options.run.empty())
        return fail(
            {"no run folder was given", "make one with `fact optimize FILE --run-dir RUN`", true});
    if (options.action.empty() != options.serve)
        return fail({"give one action, or --serve", "`fact act --list` lists the actions", true});
    auto loaded = driver::load_run(driver::RunFolder(options.run));
    if (!loaded) return fail(loaded.error());
    if (options.serve) return serve(*loaded);
    const auto reply = driver::act(*loaded, options.action, options.request);
    print(reply.json + "\n");
    return reply.ok ? kDone : kBadInput;
}

}  // namespace

void add_act(CLI::App& app, Action& action) {
    auto options = std::make_shared<ActOptions>();
    auto* command = app.add_subcommand(
        "act", "What a model or a person can do in a run: look, propose operators, write kernels");
    command->add_option("RUN", options->run, "Run folder of `fact optimize` or `fact discover`");
    command->add_option("NAME", options->action, "The action");
    command->add_option("REQUEST", options->request, "Its request, a JSON object");
    command->add_flag("--list", options->list, "The actions, with the schemas of their requests");
    command->add_flag("--serve", options->serve,
                      "Read actions from standard input, one JSON object per line, and answer "
                      "each with one line");
    command->footer(
        "Example:  fact act RUN propose '{\"nodes\": [\"linear\", \"gelu\"]}'\n"
        "Replies are JSON objects with \"ok\"; if it is false, \"error\" says why, and \"hint\"\n"
        "what to do, where there is something to say.");
    command->callback([&action, options] { action = [options] { return act(*options); }; });
}

}  // namespace fact::cli
