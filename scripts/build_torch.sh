#!/usr/bin/env bash
# Builds libdiopi_torch.so for the PyTorch of a Python: scripts/build_torch.sh [PYTHON] (default: python3).
# The library goes into build/torch-VERSION/lib. Debian's PyTorch needs libtorch-dev beside python3-torch.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-python3}
facts=$("$python" -c '
import os, torch
print(torch.__version__.split("+")[0], os.path.dirname(torch.__file__), int(torch._C._GLIBCXX_USE_CXX11_ABI))') || {
    echo "$python has no PyTorch: $python -m pip install torch, or apt-get install libtorch-dev python3-torch" >&2
    exit 2
}
read -r version folder abi <<< "$facts"
if [ "$abi" -ne 1 ]; then
    echo "PyTorch $version is built with the old interface of C++ strings; install 2.6 or newer, or Debian's" >&2
    exit 2
fi
[ -e "$folder/include/ATen" ] || folder=  # Debian has headers and libraries where the system's are
scripts/install_dependencies.sh
cmake --preset release -B "build/torch-$version" -DDIOPI_CUDA=OFF -DDIOPI_TORCH=ON -DDIOPI_TORCH_PATH="$folder"
cmake --build "build/torch-$version" --target diopi_torch
echo "build/torch-$version/lib/libdiopi_torch.so"
