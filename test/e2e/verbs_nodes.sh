#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What administrators do with nodes: cordon, drain, taint. Pods find another place, with the devices there.
. "$(dirname "$0")/up.sh"

start --nodes 2
cat >"$folder/work.yaml" <<'X'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: work}
spec:
  replicas: 3
  selector: {matchLabels: {app: work}}
  template:
    metadata: {labels: {app: work}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
      containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]
X
apply "$folder/work.yaml"
says 'successfully rolled out' kubectl rollout status deployment/work --timeout=20s
first=$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')
second=$(kubectl get nodes -o jsonpath='{.items[1].metadata.name}')
on() { kubectl get pods -l app=work --field-selector "spec.nodeName=$1,status.phase=Running" -o name | wc -l; }

# Cordoned: nothing new.
says cordoned kubectl cordon "$first"
says 'Ready,SchedulingDisabled' kubectl get node "$first"
before=$(on "$first")
says scaled kubectl scale deployment/work --replicas=4
says 'successfully rolled out' kubectl rollout status deployment/work --timeout=20s
[ "$(on "$first")" = "$before" ] || fail "a cordoned node got a pod"
says uncordoned kubectl uncordon "$first"

# Drained: pods are evicted and run elsewhere, with the devices there.
says drained kubectl drain "$second" --timeout=20s
says 'successfully rolled out' kubectl rollout status deployment/work --timeout=20s
eventually '^4$' kubectl get deployment work -o 'jsonpath={.status.readyReplicas}{"\n"}'
[ "$(on "$second")" = 0 ] || fail "pods are left on the drained node"
for node in $(kubectl get resourceclaims -o jsonpath='{.items[*].status.allocation.nodeSelector.nodeSelectorTerms[0].matchFields[0].values[0]}'); do
  [ "$node" = "$first" ] || fail "a claim is still on $node"
done
refuses 'cannot delete Pods that declare no controller' sh -c "kubectl run alone --image=x >/dev/null && kubectl wait --for=condition=Ready pod/alone --timeout=20s && kubectl drain $first --timeout=5s"
kubectl uncordon "$first" "$second" >/dev/null

# A taint keeps pods away until it is gone.
says scaled kubectl scale deployment/work --replicas=8
says 'successfully rolled out' kubectl rollout status deployment/work --timeout=20s
says scaled kubectl scale deployment/work --replicas=4
eventually '^4$' kubectl get deployment work -o 'jsonpath={.status.replicas}{"\n"}'
says tainted kubectl taint node "$first" "$second" maintenance=now:NoSchedule
kubectl run later --image=x >/dev/null
waits later 'untolerated taint'
says untainted kubectl taint node "$second" maintenance-
runs later
field "$second" '{.spec.nodeName}' pod later
stop
