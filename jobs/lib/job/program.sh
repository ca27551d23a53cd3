# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# The driver's library that the toolkit has for linking, beside what the program $1 takes from it.
find_driver_stub() {
  local folder
  while IFS= read -r folder; do
    [[ -n $folder && -f $folder/stubs/libcuda.so ]] || continue
    printf '%s\n' "$folder/stubs/libcuda.so"
    return
  done < <(
    ldd "$1" 2>/dev/null | sed -n 's/.*=> \(.*\)\/libcu[a-z]*\.so.*/\1/p'
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${CUDATOOLKIT_HOME:-}" "${EBROOTCUDA:-}"; do
      [[ -z $folder ]] || printf '%s\n' "$folder/lib64" "$folder/lib" "$folder/targets/$(uname -m)-linux/lib"
    done
  )
  return 1
}

# Nodes without devices lack the driver's library, and without it a program for NVIDIA's devices does not start. For
# what needs no device its stub will do.
let_start() {
  local said stub
  said="$("$1" --version 2>&1)" && return
  [[ $said == *libcuda.so.1* ]] && stub="$(find_driver_stub "$1")" || return 0
  stub_folder="$(mktemp -d)" || return 0
  trap 'rm -rf "${stub_folder:?}"' EXIT
  ln -s "$stub" "$stub_folder/libcuda.so.1"
  export LD_LIBRARY_PATH="$stub_folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}
