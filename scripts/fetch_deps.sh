#!/usr/bin/env bash
# See usage().
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/fetch_deps.sh

Downloads the dependencies that need no installing (Eigen, CLI11, {fmt}, nlohmann/json, zlib's static library,
GoogleTest's sources) from this system's Debian or Ubuntu archive, and the headers of NVIDIA's cudnn-frontend from PyPI
where pip is there, and unpacks them under .deps/, without root. Copy the project with .deps/ to a machine where nothing can be installed: CMake looks there for what the system has not.
That machine still needs a compiler, CMake, Ninja or Make, and Open MPI.
TEXT
}

case ${1-} in
  -h | --help) usage; exit ;;
  '') ;;
  *) usage >&2; exit 2 ;;
esac
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  fail "this takes apt-get and dpkg: run it on Debian or Ubuntu"
fi

packages=(libeigen3-dev libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev googletest)
deps=$root/.deps
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT

cd "$download"
# Where root runs this, apt would complain that its own user may not write here.
apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}" || fail "downloading failed (see above): are the package lists fresh (apt-get update)?"
rm -rf "${deps:?}"
for package in *.deb; do
  dpkg -x "$package" "$deps"
done
# Of {fmt} and zlib only what works without their shared libraries stays.
rm -rf "$deps"/usr/lib/*/cmake/fmt "$deps"/usr/lib/*/*.so "$deps"/usr/share/doc "$deps"/usr/share/man
# Attention by cuDNN needs these; a build without them has its own.
if python3 -m pip download --quiet --no-deps --dest . nvidia-cudnn-frontend && command -v unzip >/dev/null; then
  unzip -q nvidia_cudnn_frontend-*.whl -d frontend
  mkdir -p "$deps/usr/include"
  cp -r "$(dirname "$(find frontend -name cudnn_frontend.h)")"/. "$deps/usr/include"
else
  say "without cudnn-frontend (it takes pip and unzip): a CUDA build will use its own attention"
fi
say "$deps ($(du -sh "$deps" | cut -f1)): $(printf '%s ' *.deb)"
