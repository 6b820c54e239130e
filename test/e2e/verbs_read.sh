#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kubectl's verbs that only look: get in all its forms, describe, explain, events, api-resources, and clear words about what a
# cluster without machines cannot do.
. "$(dirname "$0")/up.sh"

start --demo
runs kep-5075-share-0 kep-6080-same-numa kep-5491-aligned

# get: selectors, forms, pages, a watch.
says '^pod/kep-5004-extended$' kubectl get pods -o name
says '1/1 .*Running .*gpu-00000' kubectl get pod kep-5075-share-0 -o wide
says '"kind": "List"' kubectl get nodes -o json
says 'resourceVersion:' kubectl get deviceclass gpu.example.com -o yaml
says '^kep-5075-share-0 Running$' kubectl get pod kep-5075-share-0 -o 'jsonpath={.metadata.name} {.status.phase}{"\n"}'
says '^NODE *CLASS' kubectl get resourceclaims -o 'custom-columns=NODE:.status.allocation.nodeSelector,CLASS:.spec.devices.requests[0].exactly.deviceClassName'
says inference kubectl get pods -l app=inference
silent_about kep-5075 kubectl get pods -l 'app in (inference),!missing'
says too-big kubectl get pods --field-selector status.phase=Pending
silent_about too-big kubectl get pods --field-selector status.phase!=Pending
node=$(kubectl get pod kep-5491-aligned -o 'jsonpath={.spec.nodeName}')
says kep-5491 kubectl get pods --field-selector spec.nodeName="$node"
silent_about kep-5491 kubectl get pods --field-selector spec.nodeName!="$node"
says gpu-000001 kubectl get resourceslices --field-selector spec.driver=gpu.example.com
says gpu-000000-gpu kubectl get resourceslices --field-selector spec.nodeName=gpu-000000
[ "$(kubectl get pods -o name --chunk-size=3 | wc -l)" = "$(kubectl get pods -o name | wc -l)" ] || fail "pages lose or double pods"
says 'DRIVER *POOL *DEVICES *FREE' kubectl get resourceslices
says 'STATE *DEVICES *NODE *RESERVED BY' kubectl get resourceclaims
says kep-6080 kubectl get pods --sort-by=.metadata.name
says default kubectl get ns --show-labels
refuses '(NotFound): pods "none" not found' kubectl get pod none
refuses 'the server doesn.t have a resource type "gadgets"' kubectl get gadgets
refuses 'cannot be selected by field "spec.nonsense", only by metadata.name' kubectl get pods --field-selector spec.nonsense=1
kubectl get pods --watch --output-watch-events --no-headers >"$folder/watched" 2>&1 &
watcher=$!
for _ in $(seq 50); do
  if grep -q '^ADDED .*kep-5004' "$folder/watched"; then break; fi
  sleep 0.1
done
kubectl label pod too-big seen=yes >/dev/null
kubectl run late --image=example.com/x:1 >/dev/null
for _ in $(seq 100); do
  if grep -q '^MODIFIED .*late.*Running' "$folder/watched"; then break; fi
  sleep 0.1
done
kill "$watcher"
wait "$watcher" || true
for event in '^ADDED .*kep-5004' '^MODIFIED .*too-big' '^ADDED .*late .*Pending' '^MODIFIED .*late .*Running'; do
  grep -q "$event" "$folder/watched" || fail "the watch did not show $event: $(cat "$folder/watched")"
done

# describe
says 'Warning *FailedScheduling .*needs 16 devices' kubectl describe pod too-big
says 'kep-5075-share-0' kubectl describe node gpu-000000
says 'Device Class Name: *nic.example.com' kubectl describe resourceclaims
says 'pcieRoot' kubectl describe resourceslice gpu-000000-gpu
says 'Extended Resource Name: *example.com/gpu' kubectl describe deviceclass gpu.example.com
says 'Replicas: *2 desired | 2 updated | 2 total | 2 available' kubectl describe deployment inference
says 'Controlled By: *Deployment/inference' kubectl describe rs
says 'Succeeded' kubectl describe job preprocess

# events
says 'Scheduled' kubectl events --for pod/kep-5491-aligned
says 'FailedScheduling' kubectl get events --field-selector involvedObject.name=too-big
says 'ScalingReplicaSet' kubectl events --for deployment/inference

# What there is, and what it means.
says 'resourceclaimtemplates *resource.k8s.io/v1 *true' kubectl api-resources
says 'deployments *deploy *apps/v1' kubectl api-resources --api-group=apps
says 'selfsubjectreviews' kubectl api-resources --verbs=create
says '^resource.k8s.io/v1beta2$' kubectl api-versions
says 'firstAvailable' kubectl explain resourceclaim.spec.devices.requests
says 'consumedCapacity' kubectl explain resourceclaim --recursive
says 'compatibilityGroups' kubectl explain resourceslice.spec.devices.consumesCounters
says 'Server Version: v1.38' kubectl version
says '^ok' kubectl get --raw /readyz
says 'check passed' kubectl get --raw '/livez?verbose'
says '"gitVersion"' kubectl get --raw /version

# Of the beta versions people are warned.
says 'deprecated' kubectl get resourceclaims.v1beta1.resource.k8s.io

# What a hollow node cannot do, it refuses with the reason.
refuses 'no containers run: there is no log' kubectl logs kep-5004-extended
refuses 'there is no process to join' kubectl exec kep-5004-extended -- ls
refuses 'there is no port to reach' kubectl port-forward pod/kep-5004-extended 18080:80
stop
