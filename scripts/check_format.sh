#!/usr/bin/env bash
# See usage().
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/check_format.sh [--fix]

Checks that every C++ and CUDA file that git knows, or would know after `git add`, is as .clang-format wants it.
It takes clang-format 14, because other versions break lines elsewhere.

  --fix        Format the files in place of complaining.
  -h, --help   This text.
TEXT
}

mode=(--dry-run -Werror)
case ${1-} in
  -h | --help) usage; exit ;;
  --fix) mode=(-i) ;;
  '') ;;
  *) usage >&2; exit 2 ;;
esac

clang_format=$(command -v clang-format-14 || command -v clang-format || true)
[[ $clang_format ]] || fail "clang-format is missing: apt-get install clang-format-14"
version=$("$clang_format" --version | grep -oE '[0-9]+' | head -n 1)
[[ $version == 14 ]] || fail "$clang_format is version $version; this code is formatted by 14: apt-get install clang-format-14"

cd "$root"
mapfile -d '' -t listed < <(git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh')
files=()
for file in "${listed[@]}"; do
  if [[ -f $file ]]; then # git still lists what was just removed
    files+=("$file")
  fi
done
"$clang_format" "${mode[@]}" "${files[@]}"
say "format: ${#files[@]} files as .clang-format wants them"
