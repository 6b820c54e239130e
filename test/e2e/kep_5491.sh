#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# KEP-5491: attributes with several values align devices by what they have in common.
. "$(dirname "$0")/up.sh"
kep="$examples/kep-5491-list-attributes"

start
apply "$examples/live/nodes" "$kep"
apply "$examples/live/kep-5491"
runs aligned apart near-root-4
devices 'gpu-0 nic-0 cpu-0' aligned-triple
devices 'cpu-0 cpu-1' two-cpus-apart
devices cpu-1 cpu-near-root-4

# Nothing near that root: the selector is what excludes them, and the event says so.
apply "$examples/live/kep-5491-too-much"
waits near-root-3 'not match the selector'

# A slice that says another list: the pod that waited for it is looked at again.
says patched kubectl patch resourceslice node-2-gpu --type=json \
  -p '[{"op":"replace","path":"/spec/devices/0/attributes/resource.kubernetes.io~1pcieRoot","value":{"strings":["pci0000:02","pci0000:03"]}}]'
if [ "$(kubectl get pod aligned -o jsonpath='{.spec.nodeName}')" = node-2 ]; then
  waits near-root-3 'in use'
  says deleted kubectl delete pod aligned --timeout=20s
fi
runs near-root-3

# A type that does not fit is refused by name.
refuses 'spec.devices' kubectl patch resourceslice node-1-gpu --type=json \
  -p '[{"op":"add","path":"/spec/devices/0/attributes/resource.kubernetes.io~1pcieRoot/strings","value":["a"]}]'
stop
