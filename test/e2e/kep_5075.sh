#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# KEP-5075: claims that know nothing of each other share an interface and its bandwidth; what one gives back, the next gets.
. "$(dirname "$0")/up.sh"
kep="$examples/kep-5075-consumable-capacity"
consumed() { field "$1" '{.status.allocation.devices.results[0].consumedCapacity.bandwidth}' resourceclaim "$2"; }

start
apply "$examples/live/nodes" "$kep/00-device-classes.yaml"

# Story 1: any number of claims on one interface.
apply "$kep/10-story-1-shared-interfaces.yaml"
runs story-1
for i in 1 2 3; do another story-1 "story-1-$i"; done
runs story-1-1 story-1-2 story-1-3
field 'eth1 eth1 eth1 eth1' '{.items[*].status.allocation.devices.results[0].device}' resourceclaims
shares=$(kubectl get resourceclaims -o jsonpath='{.items[*].status.allocation.devices.results[0].shareID}' | tr ' ' '\n' | sort -u | wc -l)
[ "$shares" = 4 ] || fail "$shares different share ids instead of 4"

# Story 2: two, and not the same one twice.
apply "$kep/20-story-2-distinct-interfaces.yaml"
runs story-2
devices 'eth1 eth2' two-macvlans

# Story 3: amounts, as asked, by default, and rounded up to what the policy has.
apply "$kep/30-story-3-guaranteed-bandwidth.yaml" "$examples/live/kep-5075"
runs has-five-gi has-the-usual has-eight-gi
devices eth1 five-gi
consumed 5368709120 five-gi
devices eth2 fast-or-slow
consumed 8Gi fast-or-slow
field nic/fast '{.status.allocation.devices.results[0].request}' resourceclaim fast-or-slow

# Not enough is left, and it is said what is missing; capacity that is given back goes to who waits for it.
apply "$examples/live/kep-5075-too-much"
waits wants-six-gi 'too full: 6Gi of bandwidth asked, 5119Mi free'
waits wants-twelve-gi 'too small: .* of bandwidth asked, 10Gi is all there is'
says deleted kubectl delete pod has-five-gi --timeout=20s
runs wants-six-gi
field '' '{.status.allocation}' resourceclaim five-gi
waits wants-twelve-gi FailedScheduling
stop
