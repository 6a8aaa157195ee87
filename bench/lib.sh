# What tests/gpu/run.sh and bench/all.sh share. Both set root, out (results), logs and work (folders),
# failures=0, retune ('' or --retune) and command (how they were called).
fact=${FACT_PROGRAM:-$root/fact}
python=${FACT_PYTHON:-python3}

note() { printf '== %s (%s s)\n' "$*" "$SECONDS"; }

# optimize NAME SECONDS SPEC ARGUMENTS...: one run of all stages; if it fails, the end of its log is
# shown.
optimize() {
    local name=$1 limit=$2
    shift 2
    note "$name: fact optimize $*"
    timeout -k 10 "$limit" "$fact" optimize "$@" --run-dir "$work/$name" $retune \
        >"$logs/$name.log" 2>&1 </dev/null
    local status=$?
    if ((status)); then
        ((++failures))
        echo "FAILED with status $status:"
        tail -n 15 "$logs/$name.log"
    fi
}

# beside N COMMAND...: in the background, once fewer than N are running. Runs take turns on the GPU,
# so one can trace or compile while another measures without costing time or accuracy.
beside() {
    local most=$1
    shift
    while (($(jobs -rp | wc -l) >= most)); do wait -n; done
    "$@" &
}

# collect [OPTION...] FILE NAME...: the reports of those runs as one results file.
collect() {
    local options=()
    while [[ $1 == --* ]]; do options+=("$1") && shift; done
    local file=$1
    shift
    FACT_COMMAND=$command "$python" "$root/bench/collect.py" "${options[@]}" "$out/$file" \
        "${@/#/$work/}" || ((++failures))
}
