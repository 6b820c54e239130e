#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The binary on examples/: every good folder passes strictly, from its path and through a pipe; every
# broken file gives its golden output and exit code.
set -eu
cd "$DRAY_SOURCE"
failed=0
complain() {
  echo "FAILED: $1"
  failed=1
}

for folder in $(find examples -name '*.yaml' ! -path 'examples/broken/*' ! -path 'examples/scenarios/*' -exec dirname {} \; | sort -u); do
  # Groups of pods are off unless asked for, as in Kubernetes.
  gates=GenericWorkload=false
  case $folder in
  examples/gang*) gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,DRAWorkloadResourceClaims=true ;;
  esac
  said=$("$DRAY_BINARY" validate --strict --feature-gates "$gates" -f "$folder" 2>/dev/null) || complain "$folder: exit code $?"
  [ -z "$said" ] || complain "$folder: $said"
  for file in "$folder"/*.yaml; do
    sed '$a---' "$file"
  done | "$DRAY_BINARY" validate --strict --feature-gates "$gates" -f - >/dev/null 2>&1 || complain "$folder through a pipe"
done

for file in examples/broken/*.yaml examples/broken/*/*.yaml; do
  name=${file#examples/broken/}
  name=${name%.yaml}
  actual=$(cd examples/broken && { "$DRAY_BINARY" validate -f "$name.yaml" 2>&1 && code=0 || code=$?; echo "exit code $code"; })
  [ "$actual" = "$(cat "examples/broken/$name.expected.txt")" ] || complain "$file: $actual"
done

"$DRAY_BINARY" features >/dev/null || complain "features"
[ "$("$DRAY_BINARY" version | cut -d' ' -f1)" = dray ] || complain "version"
code=0; "$DRAY_BINARY" validate -f /no/such/file >/dev/null 2>&1 || code=$?
[ "$code" = 2 ] || complain "a missing file: exit code $code"
if [ -e /dev/full ]; then
  code=0; "$DRAY_BINARY" features >/dev/full 2>/dev/null || code=$?
  [ "$code" != 0 ] || complain "a full disk looks like success"
fi
exit "$failed"
