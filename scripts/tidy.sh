#!/usr/bin/env bash
# See usage().
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/tidy.sh [--all | FILE …]

Runs clang-tidy 14 with the checks of .clang-tidy over sources of the library and the programs (not the tests), with
the flags of build/: over those that differ from the main branch, over all, or over the ones named. A file takes
some 5 seconds of a core, so all of them take minutes.
TEXT
}

cd "$root"
clang_tidy=$(command -v clang-tidy-14 || true)
[[ $clang_tidy ]] || fail "clang-tidy 14 is missing: apt-get install clang-tidy-14"
if [[ ! -f build/compile_commands.json ]]; then
  configure -DTANDEM_TESTS=ON
fi

# Sources that lie in a folder of the library or of the programs, and are there.
sources() {
  grep -E '^(core|optim|dataloader|models|ddp|examples|bench)/.*\.cpp$' | sort -u | while read -r file; do
    if [[ -f $file ]]; then printf '%s\n' "$file"; fi
  done
}

case ${1-} in
  -h | --help) usage; exit ;;
  --all) mapfile -t files < <(git ls-files | sources) ;;
  '')
    base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)
    mapfile -t files < <({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sources)
    ;;
  -*) usage >&2; exit 2 ;;
  *) files=("$@") ;;
esac
if ((${#files[@]} == 0)); then
  say "tidy: no source differs from the main branch"
  exit
fi

# The flags are GCC's: clang does not know all of its warnings.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(build_jobs)" \
  "$clang_tidy" -p build --quiet --extra-arg=-Wno-unknown-warning-option 2> >(grep -vE '^[0-9]+ warnings? generated|^$' >&2)
say "tidy: ${#files[@]} files clean"
