#!/bin/sh
# Makes examples/data/tandem.txt, the text that `train` trains on by default, anew from the project's own
# documentation and sources. Losses are compared over time, so the text changes only on purpose: run this by hand,
# and commit what it wrote with the reason.
set -eu
case "${1:-}" in
  "") ;;
  -h | --help) echo "usage: scripts/make_pinned_text.sh   (writes examples/data/tandem.txt and its sum in README.md)"; exit 0 ;;
  *) echo "make_pinned_text.sh: unknown argument $1; try --help" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
text=examples/data/tandem.txt
readme=examples/data/README.md

# Tracked files in the order of their names (documentation first), each under its name, in plain ASCII.
{ git ls-files '*.md'; git ls-files '*.h' '*.cpp'; } |
  grep -v -e '^tests/' -e '^bench/' -e '^examples/' |
  while read -r file; do
    printf '==> %s <==\n' "$file"
    cat "$file"
    echo
  done |
  LC_ALL=C.UTF-8 iconv -f UTF-8 -t ASCII//TRANSLIT |
  tr -cd '\11\12\40-\176' > "$text"

sum=$(sha256sum "$text" | cut -d ' ' -f 1)
bytes=$(wc -c < "$text")
sed -i -e "s/^- size: .*/- size: $bytes bytes/" -e "s/^- sha256: .*/- sha256: \`$sum\`/" \
       -e "s/^- made: .*/- made: $(date -u +%Y-%m-%d)/" "$readme"
echo "$text: $bytes bytes, sha256 $sum"
