# Sourced by ./fact: runs every test that needs no GPU and ends in "N passed, N failed".

passed=0 failed=0 skipped=0 sanitize=
under=()  # the command that starts test programs, such as setarch -R

test_help() {
    cat <<'TEXT'
Builds what has changed and runs every test that needs no GPU; ends in "N passed, N failed".
Usage: ./fact test [--sanitize]

  --sanitize    the C++ tests once more with address and undefined-behaviour sanitizers, what has
                threads once more with the thread sanitizer, and each fuzzer for 20 seconds
                (always done where CI=true)
  -h, --help    this text
TEXT
}

# Called before anything is set up or built.
read_test_options() {
    local argument
    [[ ${CI:-} != true ]] || sanitize=1
    for argument in "$@"; do
        case $argument in
            --sanitize) sanitize=1 ;;
            -h | --help) test_help && exit ;;
            *) fail "unknown option '$argument' of test; see ./fact test --help" ;;
        esac
    done
}

# tally NAME PASSED FAILED SKIPPED LOG: one line, and the log where something failed.
tally() {
    ((passed += $2, failed += $3, skipped += $4)) || true
    local line="$1: $2 passed"
    if (($3)); then line+=", $3 failed"; fi
    if (($4)); then line+=", $4 skipped"; fi
    if (($3)) && [[ -s $5 ]]; then
        tail -n 200 "$5"
    fi
    printf '%s\n' "$line"
}

# The cases of every C++ test program of a build folder: run_programs FOLDER SUFFIX.
run_programs() {
    local names name log=$1/tests.log status good bad skips
    names=$(ctest --test-dir "$1" -N 2>&1 | tee "$log" | sed -n 's/^ *Test *#[0-9]*: //p') || names=
    # A build without tests is a failure.
    if [[ -z $names ]]; then
        echo "ctest lists no tests in $1" >>"$log"
        tally "C++ tests$2" 0 1 0 "$log"
        return
    fi
    for name in $names; do
        log=$1/tests/$name.log status=0
        timeout -k 10 900 "${under[@]}" "$1/tests/${name}_test" --gtest_color=no >"$log" 2>&1 </dev/null || status=$?
        good=$(grep -c '^\[       OK \] ' "$log") || true
        bad=$(grep -c '^\[  FAILED  \] .* ms)$' "$log") || true
        skips=$(grep -c '^\[  SKIPPED \] .* ms)$' "$log") || true
        # A program that died in the middle has one failure more than it could report.
        if ((status != 0 && bad == 0)); then
            bad=1
            echo "the program ended with status $status" >>"$log"
        fi
        tally "$name$2" "$good" "$bad" "$skips" "$log"
    done
}

# A package for the tests in which several threads or processes use one; without it they skip that.
make_test_package() {
    local folder=$build/tests/package
    rm -rf "$folder" && mkdir -p "$folder"
    if PYTHONPATH=$root/tests/python${PYTHONPATH:+:$PYTHONPATH} "$FACT_PYTHON" - "$folder" >"$folder.log" 2>&1 <<'PYTHON'
import pathlib, sys, torch
from packages import Up, write_package
write_package(pathlib.Path(sys.argv[1]), Up().eval(), torch.ones(2, 8, 32))
PYTHON
    then
        export FACT_TEST_PACKAGE=$folder
    else
        tail -n 5 "$folder.log"
    fi
}

# Each file runs in its own process, as many at a time as there are cores.
run_python_tests() {
    local folder=$build/python_tests file log summary total bad skips word
    rm -rf "$folder" && mkdir -p "$folder"
    (cd "$root/tests/python" && printf '%s\n' test_*.py |
        FOLDER=$folder xargs -P "$(nproc)" -I{} bash -c \
            'timeout -k 10 1200 "$FACT_PYTHON" -m unittest -v "${0%.py}" >"$FOLDER/$0.log" 2>&1 </dev/null' {}) ||
        true
    for file in "$root"/tests/python/test_*.py; do
        log=$folder/${file##*/}.log bad=0
        total=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$log" | tail -n 1)
        summary=$(grep -E '^(OK|FAILED|NO TESTS RAN)' "$log" | tail -n 1) || true
        for word in $(grep -oE '(failures|errors|successes)=[0-9]+' <<<"$summary"); do
            ((bad += ${word##*=})) || true
        done
        skips=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' <<<"$summary")
        # A process that died in the middle has no summary.
        if [[ -z $total || -z $summary ]]; then total=1 bad=1 skips=0; fi
        word=${file##*/}
        tally "python ${word%.py}" "$((total > bad + ${skips:-0} ? total - bad - ${skips:-0} : 0))" "$bad" \
            "${skips:-0}" "$log"
    done
}

check_format() {
    local log=$build/format.log
    if ! type -P clang-format-19 >/dev/null; then
        tally "format (no clang-format-19)" 0 0 1 ""
        return
    fi
    if find "$root/src" "$root/torch" "$root/tests" "$root/fuzz" "$root/kernels" \
        -name '*.cpp' -o -name '*.h' -o -name '*.cuh' |
        xargs clang-format-19 --dry-run --Werror >"$log" 2>&1; then
        tally format 1 0 0 "$log"
    else
        tally format 0 1 0 "$log"
    fi
}

run_fuzzers() {
    local log=$root/build/fuzz_run.log status=0 good bad
    : >"$log"
    quietly "$log" "fuzzing" timeout -k 10 1200 "$root/fuzz/run.sh" 20 || status=$?
    good=$(grep -c ', no crash$' "$log") || true
    bad=$(grep -c ', crashed: ' "$log") || true
    # A failure without a crash, such as one of the build, counts as one.
    if ((status != 0 && bad == 0)); then bad=1; fi
    tally fuzz "$good" "$bad" 0 ""
}

run_sanitized() {
    local folder=$root/build/sanitize options=(-DFACT_SANITIZE=ON) targets=(fact_tests) fuzz=
    # The fuzzers' build has the tests, too: clang builds both faster than GCC builds the tests
    # alone.
    if install_fuzzing_compiler; then
        fuzz=1 folder=$root/build/fuzz targets+=(fuzzers)
        options=(-DFACT_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++-19)
    fi
    # With sanitizers GCC gives false warnings; the ordinary build has checked the code.
    if ! build_in "$folder" "building with sanitizers" \
        -DFACT_TORCH=OFF -DFACT_WERROR=OFF "${options[@]}" -- "${targets[@]}"; then
        tally "build with sanitizers" 0 1 0 ""
        return
    fi
    run_programs "$folder" " (sanitized)"
    if [[ $fuzz ]]; then
        run_fuzzers
    else
        tally "fuzz (no clang-19 with libclang-rt-19-dev)" 0 0 1 ""
    fi
}

# On some systems the thread sanitizer fails with randomized addresses, which setarch -R turns off.
can_sanitize_threads() {
    local program=$root/build/thread_sanitizer
    mkdir -p "$root/build"
    echo 'int main() {}' | "${CXX:-c++}" -fsanitize=thread -x c++ - -o "$program" 2>/dev/null || return
    under=()
    if "$program" 2>/dev/null; then return; fi
    under=(setarch -R)
    "${under[@]}" "$program" 2>/dev/null
}

run_threads() {
    local folder=$root/build/threads
    if ! can_sanitize_threads; then
        tally "threads (no thread sanitizer here)" 0 0 1 ""
        return
    fi
    # Libraries without threads are linked from the ordinary build.
    if build_in "$folder" "building with the thread sanitizer" \
        -DFACT_TSAN=ON -DFACT_TSAN_OVER="$build" -DFACT_TORCH_DIR="$torch_dir" \
        -DFACT_WERROR=OFF -- fact_tests; then
        # PyTorch is not built with the sanitizer.
        TSAN_OPTIONS=ignore_noninstrumented_modules=1 run_programs "$folder" " (threads)"
    else
        tally "build with the thread sanitizer" 0 1 0 ""
    fi
    under=()
}

run_tests() {
    check_format
    make_test_package
    install_test_sdks || true
    run_programs "$build" ""
    run_python_tests
    [[ ! $sanitize ]] || run_threads
    [[ ! $sanitize ]] || run_sanitized
    local line="$passed passed, $failed failed"
    if ((skipped)); then line+=", $skipped skipped"; fi
    printf '%s\n' "$line"
    ((failed == 0))
}
