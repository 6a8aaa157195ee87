#!/usr/bin/env bash
# What a language model adds to the rules, on a GPU: bench/agent/run.sh OUT [MODULE...]
#
# Each module of examples/beyond is optimized by the rules alone, and once more with the answers that a
# model gave (bench/agent/MODULE.jsonl, as `fact optimize --agent command:...` recorded them). What was
# found to pay becomes a learned rule; where there is a MODULE_again.py it is optimized with those rules
# and no model, and without them. OUT/agent.json has all reports, OUT/rules the learned rules, OUT/transcripts
# what was asked: questions that the recorded answers do not cover are there without an answer. Runs that
# are there already are kept: the same command goes on where it was stopped. The last lines are a table.
set -uo pipefail

source "$(dirname "$0")/begin.sh"

modules=("$@")
if ((!${#modules[@]})); then
    for transcript in "$root"/bench/agent/*.jsonl; do modules+=("$(basename "$transcript" .jsonl)"); done
fi

# once NAME SPEC ARGUMENTS...: optimizes unless that run has ended already.
once() {
    local name=$1
    shift
    [[ -f $work/$name/report.json ]] || optimize "$name" "$limit" "$@" --dtype bf16 --effort quick --jobs 5 \
        --no-shipped-rules
}

# try MODULE: all runs of a module. Each has its own registry: rules learned from one module must
# not help the next one's "rules alone", nor may shipped ones.
try() {
    local module=$1
    local -x FACT_REGISTRY=$work/registry-$module
    once "rules_$module" "examples/beyond/$module.py"
    once "model_$module" "examples/beyond/$module.py" --agent "replay:$root/bench/agent/$module.jsonl"
    cp "$work/model_$module/agent/transcript.jsonl" "$out/transcripts/$module.jsonl" 2>/dev/null
    cp "$FACT_REGISTRY"/rules/*.rule "$out/rules/" 2>/dev/null
    if [[ -f examples/beyond/${module}_again.py ]]; then
        once "learned_${module}_again" "examples/beyond/${module}_again.py"
        FACT_REGISTRY=$work/registry-none once "rules_${module}_again" "examples/beyond/${module}_again.py"
    fi
}

names=()
mkdir -p "$out/rules"
for module in "${modules[@]}"; do
    [[ -f $root/bench/agent/$module.jsonl ]] || {
        echo "there is no transcript bench/agent/$module.jsonl" >&2
        exit 2
    }
    names+=("rules_$module" "model_$module")
    [[ ! -f examples/beyond/${module}_again.py ]] || names+=("learned_${module}_again" "rules_${module}_again")
    beside 3 try "$module"
    collect --quiet agent.json "${names[@]}"
done
end table.py agent.json "${names[@]}"
