# Sourced by demo.sh, test.sh and the checks: installs what is missing (Debian, Ubuntu), configures and builds.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Package names are the same on Debian 12 and Ubuntu 24.04 (there some are in `universe`).
build_packages=(cmake g++ ninja-build libeigen3-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  libopenmpi-dev openmpi-bin)
test_packages=(libgtest-dev dataset-fashion-mnist python3 procps)
# A browser for the page of `tandem report`, where it is an ordinary package (Ubuntu has it as a snap only).
if [[ $(sed -n 's/^ID=//p' /etc/os-release 2>/dev/null) == debian ]]; then
  test_packages+=(chromium)
fi
# Version 14 on purpose: others break lines elsewhere and know other checks.
lint_packages=(clang-format-14 clang-tidy-14 git)

say() { printf '%s\n' "$*"; }
fail() { # message: says what is wrong and what to do, and ends with 2
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# Of the packages named, those that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      printf '%s\n' "$package"
    fi
  done
}

# Runs a command as root: directly, or with sudo where it needs no password or can ask for one.
as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  else
    sudo "$@"
  fi
}

can_be_root() {
  [[ $(id -u) == 0 ]] && return
  command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }
}

apt() { # subcommand and arguments of apt-get
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

# Installs the packages that are missing. Does nothing, and asks nobody, where all are there.
ensure_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    fail "this is neither Debian nor Ubuntu. Install the equivalents of: $*; then run again with --no-install"
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0

  local install=(install -y --no-install-recommends "${missing[@]}")
  can_be_root || fail "packages are missing, and installing them takes root or sudo. As root, run:
  apt-get ${install[*]}"
  say "Installing ${missing[*]}"
  # A fresh system has old package lists, or none; then one attempt fails, here or in the download.
  if ! { apt --simulate "${install[@]}" &>/dev/null && apt "${install[@]}" >/dev/null; }; then
    apt update || apt update || fail "apt-get update failed twice (see above): is there a network?"
    apt "${install[@]}" >/dev/null || fail "installing failed (see above). By hand: apt-get ${install[*]}"
  fi
}

# Compile jobs: one per core, but no more than memory allows (an Eigen-heavy file takes over 1 GB).
build_jobs() {
  local available_gib
  available_gib=$(awk '/^MemAvailable/ {print int($2 / 1048576 / 1.5)}' /proc/meminfo)
  local jobs
  jobs=$(nproc)
  ((available_gib < jobs)) && jobs=$available_gib
  ((jobs < 1)) && jobs=1
  printf '%s' "$jobs"
}

# configure OPTIONS…: sets build/ up for Release, or leaves it as it is if it was set up before.
configure() {
  local log
  log=$(mktemp)
  if ! cmake -S "$root" -B "$root/build" -G Ninja "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "CMake could not configure $root/build (see above). A build/ made by another generator or compiler is in the way: remove it"
  fi
  sed -n '/^-- Tandem/,/^--   tests/s/^-- //p' "$log"
  rm -f "$log"
}

# build TARGETS…
build() {
  cmake --build "$root/build" --parallel "$(build_jobs)" --target "$@"
}
