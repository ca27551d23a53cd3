# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

# shellcheck disable=SC2034  # of those who put this in
idx_files=({train,t10k}-{images-idx3,labels-idx1}-ubyte)

# The IDX file $2 in folder $1, packed or not.
find_idx() {
  local file
  for file in "$1/$2" "$1/$2.gz"; do
    if [[ -f $file ]]; then
      printf '%s\n' "$file"
      return
    fi
  done
  return 1
}

# The names and numbers of shards that jobs made in the data folder $1, "NAME SHARDS" a line.
made_here() {
  { head -n 1 "$1/job/source.txt"; cat "$1/job/made.txt"; } 2>/dev/null
}

# is_own_shard DATA_DIR PART FILE
is_own_shard() {
  local name shards
  [[ -f $1/$2/$3 && ! -L $1/$2/$3 ]] || return 1
  while read -r name shards; do
    [[ $shards =~ ^[0-9]+$ ]] || continue
    [[ $3 != "$name-$2-"[0-9][0-9][0-9][0-9][0-9]"-of-$(printf '%05d' "$((10#$shards))").h5" ]] || return 0
  done < <(made_here "$1")
  return 1
}

# Why DATA_DIR/PART must not be replaced; nothing when it may. Whoever has other files there would lose them.
reason_not_to_replace() {
  local folder="$1/$2" path first="" others=0
  if [[ -L $folder || (-e $folder && ! -d $folder) ]]; then
    echo "$folder is a link or a file, and no folder of shards that this template made"
    return
  fi
  [[ -d $folder ]] || return 0
  while IFS= read -r -d '' path; do
    ! is_own_shard "$1" "$2" "${path##*/}" || continue
    if [[ -z $first ]]; then first="${path##*/}"; else others=$((others + 1)); fi
  done < <(find "$folder" -mindepth 1 -maxdepth 1 -print0)
  [[ -z $first ]] || printf '%s holds what this template did not make: %q%s (it is left alone; take another DATA_DIR)\n' \
    "$folder" "$first" "$( ((others == 0)) || printf ' and %d more' "$others")"
}
