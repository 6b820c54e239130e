#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the shells that are installed make of `dray completion`: commands, values of flags, flags and files, with the keys that people press.
set -eu
: "${DRAY_BINARY:?the binary to be tested}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$DRAY_BINARY" "$folder/dray"
PATH=$folder:$PATH
export PATH folder
cd "$folder"
mkdir examples
tried=
fail() { echo "FAILED: $*"; exit 1; }
is() { [ "$2" = "$3" ] || fail "$1: \"$2\" instead of \"$3\""; }

if command -v fish >/dev/null; then
  tried="$tried fish"
  fish_says() { HOME=$folder fish --no-config -c "dray completion fish | source; complete -C '$1'" | cut -f 1 | tr '\n' ' '; }
  is "fish: a command" "$(fish_says 'dray pl')" "plan "
  is "fish: a value" "$(fish_says 'dray features -o t')" "text "
  is "fish: a flag" "$(fish_says 'dray plan --pol')" "--policy "
  is "fish: a file" "$(fish_says 'dray plan -f exa')" "examples/ "
fi

if command -v zsh >/dev/null; then
  tried="$tried zsh"
  cat >"$folder/press.zsh" <<'Z'
# press.zsh LINE WANTED: what is on the line after the tabulator key, once it is what is wanted, or after half a minute.
zmodload zsh/zpty
zpty z "TERM=dumb zsh -f -i"
zpty -w z 'PS1=""; autoload -Uz compinit; compinit -u -D; source <(dray completion zsh); print -r -- COMPLETION-IS-$((1))'
until_says() {
  local piece
  for _ in {1..300}; do
    while zpty -r -t z piece; do out+=$piece; done
    [[ $out == *$1* ]] && return 0
    sleep 0.1
  done
  return 1
}
out=; until_says COMPLETION-IS-1 || { print -r -- "no completion: $out"; exit 1 }
out=; zpty -w -n z "$1"$'\t'
until_says "$2" && print -r -- "$2" || print -r -- "$out"
Z
  zsh_says() { HOME=$folder zsh -f "$folder/press.zsh" "$1" "$2"; }
  is "zsh: a command" "$(zsh_says 'dray pl' 'dray plan ')" "dray plan "
  is "zsh: a value" "$(zsh_says 'dray features -o t' 'dray features -o text ')" "dray features -o text "
  is "zsh: a flag" "$(zsh_says 'dray plan --pol' 'dray plan --policy')" "dray plan --policy"
fi

if command -v bash >/dev/null; then
  tried="$tried bash"
  bash_says() {
    bash --norc -c 'source <(dray completion bash); compopt() { :; }; COMP_LINE=$1; COMP_POINT=${#1}; _dray; echo "${COMPREPLY[*]}"' - "$1"
  }
  is "bash: a command" "$(bash_says 'dray pl')" "plan"
  is "bash: a value" "$(bash_says 'dray features -o t')" "text"
fi
[ -n "$tried" ] || { echo "SKIPPED: no shell that dray completes for is installed"; exit 0; }
echo "completed in:$tried"
