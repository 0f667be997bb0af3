#!/usr/bin/env bash
# Installs the dependencies, configures and builds. Usage: scripts/build.sh [PRESET [TARGET...]]
# The environment may have options of the build: DIOPI_CUDA=ON scripts/build.sh
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
scripts/install_dependencies.sh
options=()
for name in DIOPI_CUDA DIOPI_CUDA_ARCHITECTURES DIOPI_CPU_ARCH DIOPI_TORCH DIOPI_TORCH_PATH dnnl_DIR; do
    [ -z "${!name:-}" ] || options+=("-D$name=${!name}")
done
# Configures each time: an option or the result of AUTO may have changed. Without a change nothing is built again.
cmake --preset "$preset" "${options[@]}"
cmake --build "build/$preset" ${1:+--target "$@"}
