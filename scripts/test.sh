#!/usr/bin/env bash
# The same set-up as quickstart.sh with the packages that tests need, then every test. --torch installs Debian's PyTorch,
# builds libdiopi_torch.so and tests it. --full adds the long tests, which take hours; with names behind it, only these
# run after the set-up:
#   asan          the unit tests with the sanitizers for addresses and undefined behaviour
#   headers       each header alone
#   fuzz          each fuzz target for five seconds
#   mutation      the share of planted faults that a run detects
#   bisect        the share of planted faults that --bisect finds
#   operators     all operator cases, and those of language models, on cpu
#   adapted       the same on a device that has only float32 and int32
#   cuda_on_host  the same with the cuda kernels on the processor, where they were built
#   slurm         a job array, as root
#   packages      the build for aarch64 under qemu, and the packages in a bare Debian
set -euo pipefail
cd "$(dirname "$0")/.."

all_parts=(asan headers fuzz mutation bisect operators adapted cuda_on_host slurm packages)
usage="usage: scripts/test.sh [--torch] [--full [PART ...]]; the parts: ${all_parts[*]}"

run_asan() {
    scripts/build.sh asan unit_tests diopi
    ctest --test-dir build/asan --output-on-failure -j "$(nproc)" -R '^unit:'
}
run_headers() { tests/check_headers.py --alone; }
run_fuzz() { scripts/fuzz.sh 5; }
run_mutation() { build/release/bin/diopi_mutation; }
run_bisect() { build/release/bin/diopi_bisect_score; }

# test_operators NAME OPTION...: all operator cases, with the run and the report in build/NAME_*.
test_operators() {
    build/release/bin/diopi test --quiet --run "build/$1_run" --csv "build/$1_report.csv" "${@:2}"
}
run_operators() {
    test_operators operators
    test_operators language --cases cases/language.json
}
run_adapted() {
    test_operators adapted --impl sim --sim-config tests/cli/float32_int32_device.json --adaptor float32_int32
}
run_cuda_on_host() {
    local library=build/release/lib/libcuda_on_host.so
    if [ -e $library ]; then
        # A large case takes minutes there.
        test_operators cuda_on_host --impl $library --timeout 3600
    else
        echo "cuda_on_host left out: it is built with the cuda backend alone"
    fi
}

run_slurm() {
    if [ "$(id -u)" -eq 0 ]; then
        scripts/slurm_demo.sh
    else
        echo "slurm left out: it starts Slurm's daemons and must run as root"
    fi
}
run_packages() {
    local architecture
    if unshare --user --map-root-user --mount true; then
        scripts/build_aarch64.sh
        for architecture in x86_64 aarch64; do
            scripts/package.sh --arch $architecture
            tests/check_bare_debian.sh $architecture
        done
    else
        echo "packages left out: this user may not make user namespaces; run it as root"
    fi
}

full=0
parts=()
packages=(--tests --package)
for argument in "$@"; do
    case $argument in
        -h | --help) echo "$usage"; exit 0 ;;
        --full) full=1 ;;
        --torch)
            packages+=(--torch)
            export DIOPI_TORCH=ON ;;
        *)
            if [ $full -eq 0 ] || [[ " ${all_parts[*]} " != *" $argument "* ]]; then
                echo "$usage" >&2
                exit 2
            fi
            parts+=("$argument") ;;
    esac
done

scripts/install_dependencies.sh "${packages[@]}"
scripts/build.sh release
if [ ${#parts[@]} -eq 0 ]; then
    ctest --test-dir build/release --no-tests=error --output-on-failure -j "$(nproc)"
    [ $full -eq 0 ] || parts=("${all_parts[@]}")
fi
for part in ${parts[@]+"${parts[@]}"}; do
    echo "part $part, $(date +%T)"
    "run_$part"
done
