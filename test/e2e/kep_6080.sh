#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# KEP-6080: drivers that never agreed on a name are aligned by attributes that the claims compute.
. "$(dirname "$0")/up.sh"
kep="$examples/kep-6080-derived-attributes"

start
apply "$examples/live/nodes" "$kep/00-device-classes.yaml" "$kep/01-slices.yaml"

# All GPUs of a NUMA node and the NIC on it.
apply "$kep/10-core-example-numa-alignment.yaml"
runs trainer
devices 'gpu0 gpu1 gpu2 gpu3 gpu4 gpu5 gpu6 gpu7 eth0' gpu-numa-alignment-claim

# What needs a GPU waits, what needs none does not.
apply "$kep/11-override-a-static-attribute.yaml" "$kep/20-story-three-drivers.yaml" "$kep/30-story-substring.yaml"
kubectl apply -f "$examples/live/kep-6080" >/dev/null
runs by-substring
devices 'acc0 acc1' same-numa-by-substring
waits three-drivers 'in use'
waits follows-nic 'in use'
says deleted kubectl delete pod trainer --timeout=20s
runs follows-nic three-drivers
devices 'gpu0 eth0' gpu-follows-nic
# board-0's NIC is taken: the other board has all three.
devices 'gpu4 gpu5 eth1 socket1' gpu-nic-cpu

says deleted kubectl delete pod by-substring follows-nic three-drivers --timeout=20s
apply "$kep/40-story-tiering.yaml" "$kep/50-story-device-name.yaml" "$kep/60-lists.yaml"
runs by-tier by-name list
devices 'acc0 acc1' same-tier
devices 'gpu0 eth0' by-naming-convention
stop
