#!/usr/bin/env bash
# Installs the dependencies, configures and builds. Usage: scripts/build.sh [PRESET [TARGET...]]
# The environment may have options of the build: DIOPI_CUDA=ON scripts/build.sh
# The preset aarch64 builds for another machine, without those options and with that machine's packages.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
if [ "$preset" = aarch64 ]; then
    scripts/install_dependencies.sh --aarch64
    read -r -a libraries <<< "$(scripts/install_dependencies.sh --list-libraries)"
    scripts/debian_root.sh arm64 build/aarch64_root bare libstdc++-12-dev "${libraries[@]}"
else
    scripts/install_dependencies.sh
fi
options=()
for name in DIOPI_CUDA DIOPI_CUDA_ARCHITECTURES DIOPI_CPU_ARCH DIOPI_TORCH DIOPI_TORCH_PATH DIOPI_GUI dnnl_DIR; do
    [ -z "${!name:-}" ] || options+=("-D$name=${!name}")
done
[ "$preset" != aarch64 ] || options=()
# Configures each time: an option or the result of AUTO may have changed. Without a change nothing is built again.
cmake --preset "$preset" "${options[@]}"
cmake --build "build/$preset" ${1:+--target "$@"}
