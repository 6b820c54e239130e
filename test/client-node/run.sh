#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tests of this folder with what package-lock.json names. It is installed beside the binary, once; where that cannot be done
# the tests are skipped, and say so.
set -eu
: "${DRAY_BINARY:?the binary to be tested}"
here=$(cd "$(dirname "$0")" && pwd)
place=$(dirname "$DRAY_BINARY")/client-node
skip() {
  echo "SKIPPED: $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
mkdir -p "$place"
if ! cmp -s "$here/package-lock.json" "$place/installed"; then
  rm -rf "$place/node_modules" "$place/installed"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$place"
  (cd "$place" && timeout 240 npm ci --no-progress --ignore-scripts) >"$place/npm.log" 2>&1 || skip "npm ci failed: $(tail -n 3 "$place/npm.log")"
  cp "$here/package-lock.json" "$place/installed"
fi
cp "$here"/*.mjs "$place"
cd "$place"
node --test --test-concurrency=1 client_test.mjs
