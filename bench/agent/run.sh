#!/usr/bin/env bash
# What a language model adds to the rules, on a GPU: bench/agent/run.sh OUT [MODULE...]
#
# Each module of examples/beyond is optimized by the rules alone, and once more with the answers that a
# model gave (bench/agent/MODULE.jsonl, as `fact optimize --agent command:...` recorded them). What was
# found to pay becomes a learned rule; where there is a MODULE_again.py it is optimized with those rules
# and no model, and without them. OUT/agent.json has all reports, OUT/rules the learned rules; the last
# lines are a table. Runs that are there already are kept: the same command goes on where it was stopped.
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: bench/agent/run.sh OUT [MODULE...]}
shift
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
work=${FACT_BENCH_WORK:-$out/work}
logs=$work/logs
limit=${FACT_BENCH_LIMIT:-150} # seconds a run
mkdir -p "$logs"
failures=0
retune=''
command="bench/agent/run.sh OUT"
export FACT_CACHE_DIR=${FACT_CACHE_DIR:-$work/cache} FACT_REGISTRY=$work/registry
export PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
source "$root/bench/lib.sh"

modules=("$@")
if ((!${#modules[@]})); then
    for transcript in "$root"/bench/agent/*.jsonl; do modules+=("$(basename "$transcript" .jsonl)"); done
fi

# once NAME SPEC ARGUMENTS...: unless it has ended already.
once() {
    local name=$1
    shift
    [[ -f $work/$name/report.json ]] || optimize "$name" "$limit" "$@" --dtype bf16 --effort quick
    names+=("$name")
}

cd "$root" || exit 2
note "building"
timeout -k 10 500 "$fact" version || exit 1
names=()
for module in "${modules[@]}"; do
    [[ -f $root/bench/agent/$module.jsonl ]] || {
        echo "there is no transcript bench/agent/$module.jsonl" >&2
        exit 2
    }
    # Rules learned from one module must not help the next one's "rules alone".
    export FACT_REGISTRY=$work/registry-$module
    once "rules_$module" "examples/beyond/$module.py"
    once "model_$module" "examples/beyond/$module.py" --agent "replay:$root/bench/agent/$module.jsonl"
    if [[ -f examples/beyond/${module}_again.py ]]; then
        once "learned_${module}_again" "examples/beyond/${module}_again.py"
        FACT_REGISTRY=$work/registry-none once "rules_${module}_again" "examples/beyond/${module}_again.py"
    fi
    collect --quiet agent.json "${names[@]}"
    mkdir -p "$out/rules"
    cp "$FACT_REGISTRY"/rules/*.rule "$out/rules/" 2>/dev/null
done
"$python" "$root/bench/agent/table.py" "$out/agent.json" || ((++failures))
note "$failures failed"
exit "$((failures > 0))"
