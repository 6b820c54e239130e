#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# KEP-5004: pods that ask for example.com/gpu get it from a device plugin or from DRA; the three quota names count as the
# proposal's tables do.
. "$(dirname "$0")/up.sh"
kep="$examples/kep-5004-extended-resources"
dra=gke-drabeta-n1-standard-4-2xt4-346fe653-zrw2
plugin=gke-drabeta-n1-standard-4-2xt4-346fe653-xyz8
# used EXPLICIT IMPLICIT DEVICES
used() {
  field "$1" '{.status.used.requests\.example\.com/gpu}' quota gpu
  field "$2" '{.status.used.requests\.deviceclass\.resource\.kubernetes\.io/gpu\.example\.com}' quota gpu
  field "$3" '{.status.used.gpu\.example\.com\.deviceclass\.resource\.k8s\.io/devices}' quota gpu
}

start
apply "$kep/00-device-class.yaml" "$kep/01-nodes.yaml" "$kep/02-resource-slice.yaml" "$kep/30-quota.yaml"
# A device plugin says in a node's status what it has.
kubectl patch node "$plugin" --subresource=status --type=merge \
  -p '{"status":{"capacity":{"example.com/gpu":"2"},"allocatable":{"example.com/gpu":"2"}}}' >/dev/null
used 0 0 0

# The five GPUs of the tables. What the pods ask for by name is in the first table; the claims are in the second.
apply "$examples/live/kep-5004"
runs gpu-0-of-the-device-plugin gpu-1-by-its-name gpu-2-by-its-class gpu-3-from-a-claim gpu-4-from-a-template
field "$plugin" '{.spec.nodeName}' pod gpu-0-of-the-device-plugin
field '' '{.status.extendedResourceClaimStatus}' pod gpu-0-of-the-device-plugin
for pod in gpu-1-by-its-name gpu-2-by-its-class gpu-3-from-a-claim gpu-4-from-a-template; do
  field "$dra" '{.spec.nodeName}' pod "$pod"
done
used 5 4 4

# The special claim: who owns it, what it asks for, which container has it.
claim=$(kubectl get pod gpu-1-by-its-name -o jsonpath='{.status.extendedResourceClaimStatus.resourceClaimName}')
field true '{.metadata.annotations.resource\.kubernetes\.io/extended-resource-claim}' resourceclaim "$claim"
field gpu-1-by-its-name '{.metadata.ownerReferences[0].name}' resourceclaim "$claim"
field container-0-request-0 '{.spec.devices.requests[0].name}' resourceclaim "$claim"
field 'main example.com/gpu container-0-request-0' \
  '{range .status.extendedResourceClaimStatus.requestMappings[*]}{.containerName} {.resourceName} {.requestName}{end}' \
  pod gpu-1-by-its-name

# Pods that are gone use nothing; the first table is what is left of the names when claims are gone.
says deleted kubectl delete pod gpu-3-from-a-claim gpu-4-from-a-template --timeout=20s
says deleted kubectl delete resourceclaim gpu-3 --timeout=20s
used 3 2 2
says deleted kubectl delete pod gpu-2-by-its-class --timeout=20s
used 2 1 1

# The Deployment of old runs unchanged, on whichever node has room, until the quota is used up.
apply "$kep/10-deployment.yaml"
says 'successfully rolled out' kubectl rollout status deployment/demo --timeout=20s
if [ "$(kubectl get pods -l app=demo -o jsonpath='{.items[0].spec.nodeName}')" = "$plugin" ]; then
  used 3 1 1
else
  used 3 2 2
fi
kubectl patch quota gpu --type=merge -p '{"spec":{"hard":{"requests.example.com/gpu":"3"}}}' >/dev/null
# What is asked for by the class counts when the scheduler makes the claim, so that pod is there and waits.
apply "$kep/20-implicit-name-pod.yaml"
waits implicit 'exceeded quota: gpu, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=3, limited: requests.example.com/gpu=3'
kubectl scale deployment/demo --replicas=2 >/dev/null
eventually 'exceeded quota' kubectl get events --field-selector reason=FailedCreate
kubectl patch quota gpu --type=merge -p '{"spec":{"hard":{"requests.example.com/gpu":"10"}}}' >/dev/null
says 'successfully rolled out' kubectl rollout status deployment/demo --timeout=30s
runs implicit
stop
