#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `dray up --demo` and the real kubectl: every workload of the demo ends up running, done, or refused with a reason; what is
# deleted makes room; a restart goes on; SIGTERM ends it well.
. "$(dirname "$0")/up.sh"

start --demo
says Ready kubectl get nodes
says gpu.example.com kubectl get resourceslices
runs kep-5004-extended kep-5075-share-0 kep-5075-share-1 kep-5491-aligned kep-6080-same-numa
says 'successfully rolled out' kubectl rollout status deployment/inference --timeout=60s
says 'condition met' kubectl wait --for=condition=Complete job/preprocess --timeout=60s
says allocated kubectl get resourceclaims
# One of the two has the card, the other waits for it.
says 'condition met' kubectl wait --for=jsonpath='{.status.phase}'=Running pod/kep-5963-mig --timeout=60s
says FailedScheduling kubectl events --for pod/too-big
says FailedScheduling kubectl describe pod kep-5963-vgpu
says deleted kubectl delete pod kep-5963-mig --timeout=60s
runs kep-5963-vgpu
stop

start
says Running kubectl get pod kep-5963-vgpu
says patched kubectl patch deployment/inference -p '{"spec":{"replicas":1}}'
says 'successfully rolled out' kubectl rollout status deployment/inference --timeout=60s
says deleted kubectl delete deployment/inference --timeout=60s
stop
