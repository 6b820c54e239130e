#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# KEP-5963: partitions that exclude each other; what a claim was allocated with counts, whatever its slice says later.
. "$(dirname "$0")/up.sh"
kep="$examples/kep-5963-compatibility-groups"

start
apply "$examples/live/nodes" "$kep/device-class.yaml"

# Example 1: counters alone.
apply "$kep/example-1-counters-only"
kubectl apply -f "$examples/live/kep-5963" >/dev/null
runs pod-a pod-b
kubectl delete pod pod-a pod-b >/dev/null
kubectl delete -f "$kep/example-1-counters-only" >/dev/null

# Example 3: MIG first, so vGPU has to wait.
apply "$kep/example-3-mig-or-vgpu"
runs mig
devices gpu-0-mig-1g-0 pod-a-mig
field '{"gpu-0-counters":["mig"]}' '{.status.allocation.devices.results[0].compatibilityGroups}' resourceclaim pod-a-mig
waits vgpu 'cannot be mixed with what is in use on gpu-0-counters'

# The driver changes its mind about what it has already given: the snapshot in the claim counts.
says patched kubectl patch resourceslice node-2-gpu-0-devices --type=json \
  -p '[{"op":"replace","path":"/spec/devices/0/consumesCounters/0/compatibilityGroups","value":["vgpu"]}]'
sleep 1
field '{"gpu-0-counters":["mig"]}' '{.status.allocation.devices.results[0].compatibilityGroups}' resourceclaim pod-a-mig
field '' '{.spec.nodeName}' pod vgpu
says deleted kubectl delete pod mig --timeout=20s
runs vgpu
devices gpu-0-vgpu-0 pod-b-vgpu
field '{"gpu-0-counters":["vgpu"]}' '{.status.allocation.devices.results[0].compatibilityGroups}' resourceclaim pod-b-vgpu

# Example 4: a group in common is enough; baz has none with either.
apply "$kep/example-4-several-groups"
runs foo bar
waits baz 'cannot be mixed with what is in use on device-0-counters'
says deleted kubectl delete pod foo --timeout=20s
sleep 1
field '' '{.spec.nodeName}' pod baz
says deleted kubectl delete pod bar --timeout=20s
runs baz
stop
