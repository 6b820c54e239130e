#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What cannot be written is not answered: a full disk and a closed descriptor are errors of their own, whatever the
# answer was. Who reads only the beginning (`| head`) is no error that anybody is told of.
set -eu
: "${DRAY_BINARY:?the binary to be tested}" "${DRAY_SOURCE:?the folder of the sources}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$folder/err"
  exit 1
}

# lost COMMAND...: with its output lost, twice.
lost() {
  code=0
  "$DRAY_BINARY" "$@" >/dev/full 2>"$folder/err" || code=$?
  [ "$code" = 2 ] || fail "$*: exit code $code on a full disk"
  grep -q '^error: standard output cannot be written: No space left on device$' "$folder/err" || fail "$*: a full disk is not told of"
  code=0
  "$DRAY_BINARY" "$@" >&- 2>"$folder/err" || code=$?
  [ "$code" = 2 ] || fail "$*: exit code $code with its output closed"
  grep -q '^error: standard output cannot be written' "$folder/err" || fail "$*: a closed output is not told of"
}

# 0, 1 and 0 where somebody reads it.
lost version
lost plan -f "$DRAY_SOURCE/examples/plan" -o json
lost validate -f "$DRAY_SOURCE/examples/everyday" -o json
lost features
lost --help

"$DRAY_BINARY" features 2>"$folder/err" | head -1 >"$folder/out"
[ -s "$folder/out" ] && [ ! -s "$folder/err" ] || fail "features | head -1"
echo "ok"
