#!/usr/bin/env bash
# See usage().
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [--no-install] [TRAIN OPTIONS …]

Installs what is missing (Debian 12, Ubuntu 24.04; as root or with sudo), builds the programs in build/ and trains a
small GPT on two ranks for about half a minute: gradients are put into buckets of 10 MiB, and each bucket is reduced
over the ranks while backward is still at work on the next. Run it as often as you like: what is done is not done again.

  --no-install   Take the system as it is; CMake says what it misses.
  -h, --help     This text.

Other options go to build/train after the demo's own, for example: scripts/demo.sh --bucket-mb 1 --no-overlap
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
  ensure_packages "${build_packages[@]}"
fi
if [[ -f $root/build/CMakeCache.txt ]]; then
  configure
else
  configure -DTANDEM_TESTS=OFF
fi
build train tandem minimal_ddp

say
# Two ranks on GPUs take two GPUs.
gpus=(/dev/nvidia[0-9]*)
if [[ ! -e ${gpus[0]} || ${#gpus[@]} -lt 2 ]]; then
  set -- --device cpu "$@"
fi
say "Training gpt-nano on two ranks: build/train --ranks 2 --steps 60 --bucket-mb 10 $*"
say
"$root/build/train" --ranks 2 --steps 60 --bucket-mb 10 "$@"

cat <<'TEXT'

Two processes, each with half of every batch, have just trained one model: the loss above is the mean over both.
The table lists the buckets their gradients travelled in; "exposed" is the communication that backward could not hide.

Next:  mpirun -np 2 build/train --bucket-mb 1            other buckets (as root: --ranks 2 in place of mpirun -np 2)
       build/tandem scaling --np 1,2 --regime weak --quick -- --steps 60     what the second rank is worth
       docs/architecture.md                               how it works
TEXT
