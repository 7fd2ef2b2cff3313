#!/usr/bin/env bash
# See usage().
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--no-install] [CTEST OPTIONS …]

Installs what is missing (Debian 12, Ubuntu 24.04; as root or with sudo), builds everything in build/ and runs all
tests. Run it as often as you like: what is done is not done again.

  --no-install   Take the system as it is; CMake says what it misses.
  -h, --help     This text.

Other options go to ctest, for example: scripts/test.sh -L unit     scripts/test.sh -R reducer --verbose
TEXT
}

on_missing=install
while (($#)); do
  case $1 in
    -h | --help) usage; exit ;;
    --no-install) on_missing=accept; shift ;;
    *) break ;;
  esac
done

if [[ $on_missing == install ]]; then
  ensure_packages "${build_packages[@]}" "${test_packages[@]}"
fi
configure -DTANDEM_TESTS=ON
build all

ctest --test-dir "$root/build" --parallel "$(nproc)" --output-on-failure --no-tests=error "$@"
