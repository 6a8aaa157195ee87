# Sourced by ./fact: finds every dependency, installs what is missing after saying so, and builds.
# If it is interrupted, the next call keeps what is complete and starts the rest again.

torch_wanted=2.13.0
cutlass_wanted=4.2.0.0
cuda_wanted='13.0.*'
sdks_wanted=(openai==3.49.0 anthropic==2.8.0 mcp==2.3.0)
cuda_packages=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)

# at_least LEAST VERSION
at_least() { printf '%s\n%s\n' "$1" "$2" | sort -V -C; }

# ---- finding ------------------------------------------------------------------------------------

has_header() {
    printf '#include <%s>\n' "$1" |
        "${CXX:-c++}" -std=c++20 -E -x c++ ${FACT_DEPS_DIR:+-I"$FACT_DEPS_DIR/include"} - \
            >/dev/null 2>&1
}

# Names of the distribution's packages that are missing, into `apt_packages`.
find_system_packages() {
    apt_packages=()
    type -P cmake >/dev/null || apt_packages+=(cmake)
    type -P ninja >/dev/null || apt_packages+=(ninja-build)
    if ! type -P "${CXX:-c++}" >/dev/null; then
        # Without a compiler it cannot be tested which headers are there.
        apt_packages+=(g++ libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev)
        return
    fi
    has_header fmt/format.h || apt_packages+=(libfmt-dev)
    has_header CLI/CLI.hpp || apt_packages+=(libcli11-dev)
    has_header nlohmann/json.hpp || apt_packages+=(nlohmann-json3-dev)
    [[ $command != test ]] || has_header gtest/gtest.h || apt_packages+=(libgtest-dev)
}

# torch_folder_of PYTHON: the folder of a PyTorch >= 2.10 that C++ can be built against, or nothing.
torch_folder_of() {
    "$1" - 2>/dev/null <<'PYTHON'
import pathlib, torch
version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
folder = pathlib.Path(torch.__file__).parent
if version >= (2, 10) and (folder / "include").is_dir() and (folder / "lib/libc10.so").exists():
    print(folder)
PYTHON
}

find_python() {
    need_environment=
    local given=${FACT_PYTHON:-python3}
    if python=$(type -P "$given") && torch_dir=$(torch_folder_of "$python") && [[ $torch_dir ]]; then
        return
    fi
    [[ -z ${FACT_PYTHON:-} ]] || fail "FACT_PYTHON=$FACT_PYTHON has no PyTorch >= 2.10"
    type -P python3 >/dev/null || fail "python3 is missing: install it first"
    python=$state/env/bin/python
    if [[ ! -f $state/env/.complete ]] || ! torch_dir=$(torch_folder_of "$python"); then
        need_environment=1
        python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
            fail "python3 is $(python3 -V): PyTorch $torch_wanted needs Python 3.10 or newer"
        python3 -c 'import ensurepip, venv' 2>/dev/null || apt_packages+=(python3-venv)
    fi
}

is_cutlass() {
    local header=$1/cutlass/version.h
    [[ -f $header ]] && at_least 4.2 "$(awk '/define CUTLASS_MAJOR/ { major = $3 }
        /define CUTLASS_MINOR/ { print major "." $3 }' "$header")"
}

find_cutlass() {
    need_cutlass=
    local place places=() installed
    if [[ ${CUTLASS_DIR:-} ]]; then
        is_cutlass "$CUTLASS_DIR/include" ||
            fail "CUTLASS_DIR=$CUTLASS_DIR does not hold CUTLASS >= 4.2"
        places+=("$CUTLASS_DIR/include")
    fi
    [[ -z ${FACT_DEPS_DIR:-} ]] || places+=("$FACT_DEPS_DIR/include")
    installed=$("$python" -c 'import importlib.util as u; print(u.find_spec("cutlass_library").submodule_search_locations[0])' \
        2>/dev/null) && places+=("$installed/source/include")
    places+=("$state/cutlass/cutlass_library/source/include")
    for place in "${places[@]}"; do
        cutlass_include=$place
        is_cutlass "$place" && return
    done
    need_cutlass=1
}

is_nvcc() {
    local version
    [[ -x $1 ]] && version=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p') &&
        [[ $version ]] && at_least 12.4 "$version"
}

find_nvcc() {
    need_nvcc=
    if [[ ${FACT_NVCC:-} ]]; then
        nvcc=$(type -P "$FACT_NVCC") && is_nvcc "$nvcc" ||
            fail "FACT_NVCC=$FACT_NVCC is not an nvcc >= 12.4"
        return
    fi
    for nvcc in "$(type -P nvcc)" /usr/local/cuda/bin/nvcc ${FACT_DEPS_DIR:+"$FACT_DEPS_DIR/bin/nvcc"} \
        "$state/cuda/nvidia/cu13/bin/nvcc"; do
        is_nvcc "$nvcc" && return
    done
    need_nvcc=1
}

# ---- installing ---------------------------------------------------------------------------------

# Says what is missing, and ends here if it may not or cannot be installed.
announce() {
    local lines=() refusal=
    if ((${#apt_packages[@]})); then lines+=("system packages: ${apt_packages[*]}"); fi
    if [[ $need_environment ]]; then
        lines+=("PyTorch $torch_wanted and numpy, in a private environment: .fact/env")
    fi
    if [[ $need_cutlass ]]; then lines+=("nvidia-cutlass $cutlass_wanted (headers): .fact/cutlass"); fi
    if [[ $need_nvcc ]]; then lines+=("nvcc $cuda_wanted from PyPI (266 MB): .fact/cuda"); fi
    ((${#lines[@]})) || return 0

    if [[ ${FACT_NO_INSTALL:-0} == 1 ]]; then
        refusal="missing, and FACT_NO_INSTALL=1 forbids installing:"
    elif [[ ${FACT_DEPS_DIR:-} ]]; then
        refusal="missing, and nothing is downloaded while FACT_DEPS_DIR is set:"
    elif ((${#apt_packages[@]})) && ! type -P apt-get >/dev/null; then
        refusal="missing; there is no apt-get, so install the system packages another way:"
    elif ((${#apt_packages[@]} && EUID)); then
        refusal="missing; install the system packages first (sudo apt-get install ${apt_packages[*]}):"
    fi
    say "${refusal:-installing what is missing, once:}"
    printf '  %s\n' "${lines[@]}" >&2
    [[ -z $refusal ]] || exit 2
}

install_system_packages() {
    ((${#apt_packages[@]})) || return 0
    export DEBIAN_FRONTEND=noninteractive
    apt_get() { quietly "$state/apt.log" "installing system packages" apt-get -qq -y "$@"; }
    apt_get update || say "apt-get update failed; trying with the old package lists"
    apt_get install --no-install-recommends "${apt_packages[@]}" ||
        fail "apt-get could not install ${apt_packages[*]}"
}

# Only the fuzzers need it: returns 1 if it is missing and cannot be installed.
install_fuzzing_compiler() {
    local apt_packages=(clang-19 libclang-rt-19-dev)
    mkdir -p "$state"
    echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
        clang++-19 -fsanitize=fuzzer,address -x c++ - -o "$state/fuzzer" 2>/dev/null && return
    [[ ${FACT_NO_INSTALL:-0} != 1 && ! ${FACT_DEPS_DIR:-} ]] && ((EUID == 0)) &&
        type -P apt-get >/dev/null || return 1
    say "installing what is missing, once:"
    printf '  system packages: %s\n' "${apt_packages[*]}" >&2
    (install_system_packages)  # in a subshell, which a failure ends
}

# pip_install PYTHON ARGUMENTS...
pip_install() {
    local pip=("$1" -m pip)
    "${pip[@]}" --version >/dev/null 2>&1 || fail "$1 has no pip: install it first"
    local quiet=()
    [[ -t 2 ]] || quiet=(-q)
    "${pip[@]}" install --disable-pip-version-check --no-input "${quiet[@]}" "${@:2}" >&2 ||
        fail "pip could not install ${*:2}"
}

# install_folder NAME REQUIREMENTS...: into a folder that appears only when it is complete.
install_folder() {
    rm -rf "$state/$1" "$state/$1.part"
    pip_install "$python" --no-deps --target "$state/$1.part" "${@:2}"
    mv "$state/$1.part" "$state/$1"
}

# The SDKs of language models, for their tests only: returns 1 if they cannot be installed, and
# those tests skip.
install_test_sdks() {
    local folder=$state/sdks
    if [[ ! -e $folder/.complete || "$(<"$folder/.complete")" != "${sdks_wanted[*]}" ]]; then
        [[ ${FACT_NO_INSTALL:-0} != 1 && ! ${FACT_DEPS_DIR:-} ]] || return 1
        say "installing what is missing, once:"
        printf '  for tests: %s: .fact/sdks\n' "${sdks_wanted[*]}" >&2
        rm -rf "$folder" "$folder.part"
        (pip_install "$python" --target "$folder.part" "${sdks_wanted[@]}") || return 1
        echo "${sdks_wanted[*]}" >"$folder.part/.complete"
        mv "$folder.part" "$folder"
    fi
    export FACT_TEST_SDK=$folder
}

install_missing() {
    install_system_packages
    if [[ $need_environment ]]; then
        rm -rf "$state/env"
        python3 -m venv "$state/env" || fail "python3 -m venv failed"
        pip_install "$python" "torch==$torch_wanted" numpy
        torch_dir=$(torch_folder_of "$python") && [[ $torch_dir ]] ||
            fail "the installed PyTorch cannot be imported: try '$python -c \"import torch\"'"
        touch "$state/env/.complete"
    fi
    if [[ $need_cutlass ]]; then
        install_folder cutlass "nvidia-cutlass==$cutlass_wanted"
        cutlass_include=$state/cutlass/cutlass_library/source/include
    fi
    if [[ $need_nvcc ]]; then
        install_folder cuda "${cuda_packages[@]/%/==$cuda_wanted}"
        nvcc=$state/cuda/nvidia/cu13/bin/nvcc
        is_nvcc "$nvcc" || fail "the nvcc from PyPI does not start: set FACT_NVCC"
    fi
    local cmake_version
    cmake_version=$(cmake --version | sed -n '1s/.* //p')
    at_least 3.25 "$cmake_version" ||
        fail "cmake $cmake_version is too old: install 3.25 or newer ('pip install cmake' has it)"
}

# ---- building -----------------------------------------------------------------------------------

# quietly LOG TITLE COMMAND...: output goes to the log. A terminal shows its last line, anything
# else a line every 30 seconds; a failure shows the errors in the log.
quietly() {
    local log=$1 title=$2 line width status=0 last_report=$SECONDS
    shift 2
    width=$(tput cols 2>/dev/null || echo 80)
    # Only this pipeline may fail without ending the script.
    "$@" 9>&- 2>&1 </dev/null | tee -a "$log" | while IFS= read -r line; do
        line="fact: $title: $line"
        if [[ -t 2 ]]; then
            printf '\r\033[K%s' "${line:0:width-1}" >&2
        elif ((SECONDS - last_report >= 30)); then
            last_report=$SECONDS
            printf '%s\n' "${line:0:160}" >&2
        fi
    done || status=$?
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    ((status == 0)) || {
        # The log from the first error on; its end if no error is marked.
        sed -n '/^FAILED:\|^CMake Error\|^E: /,$p' "$log" | head -n 60 | grep . >&2 ||
            tail -n 40 "$log" >&2
        say "$title failed; all of its output: $log"
    }
    return "$status"
}

# build_in FOLDER TITLE CMAKE_OPTIONS... -- TARGETS...
build_in() {
    local folder=$1 title=$2 options=() log=$1.log started=$SECONDS
    shift 2
    # An unknown compiler may warn of more: warnings are errors only in the project's own checks.
    local werror=OFF
    [[ ${CI:-} != true ]] || werror=ON
    while [[ $1 != -- ]]; do options+=("$1") && shift; done
    shift
    # A build folder that came here with a copy of the tree belongs to the other tree.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        rm -rf "$folder"
    fi
    mkdir -p "$folder"
    : >"$log"
    # Taken before the work, so that what is edited meanwhile counts as newer.
    build_settings >"$folder/.building"
    [[ -f $folder/build.ninja ]] || say "$title for the first time, which takes some minutes"
    if [[ ! -f $folder/build.ninja || $setup_file -nt $folder/.built ||
        $(<"$folder/.built") != "$(build_settings)" ]]; then
        rm -f "$folder/.built"  # no longer valid
        quietly "$log" "$title" cmake -G Ninja -S "$root" -B "$folder" \
            -DCMAKE_BUILD_TYPE=Release -DFACT_DEPS_DIR="${FACT_DEPS_DIR:-}" \
            -DFACT_WERROR="$werror" "${options[@]}" || return 1
    fi
    quietly "$log" "$title" ninja -C "$folder" -j "$(nproc)" "$@" || return 1
    mv "$folder/.building" "$folder/.built"
    ((SECONDS - started < 5)) || say "$title done ($((SECONDS - started)) s)"
}

set_up_and_build() {
    local command=$1 targets=(all)
    mkdir -p "$state/setup" 2>/dev/null || fail "cannot write in $root: FACT keeps its set-up and build there"
    # Two starts at a time: the second waits, then finds everything done.
    exec 9>"$state/lock"
    flock -n 9 || { say "another start is setting up; waiting for it" && flock 9; }
    trap 'printf "\n" >&2; say "interrupted; the next start goes on from here"; exit 130' INT TERM

    if ! setup_is_done || [[ $command == test && ! ${has_test_headers:-} ]]; then
        find_system_packages
        find_python
        find_cutlass
        find_nvcc
        announce
        install_missing
        {
            printf '%s=%q\n' python "$python" torch_dir "$torch_dir" nvcc "$nvcc" \
                cutlass_include "$cutlass_include"
            [[ $command != test ]] || echo 'has_test_headers=1'
        } >"$setup_file.part"
        mv "$setup_file.part" "$setup_file"
    fi
    [[ $command != test ]] || targets+=(fact_tests)
    build_in "$build" "building" -DFACT_TORCH=ON -DFACT_TORCH_DIR="$torch_dir" -- "${targets[@]}" || {
        [[ $command != test ]] || echo "0 passed, 1 failed"
        exit 1
    }
    trap - INT TERM
    exec 9>&-
}
