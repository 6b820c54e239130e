#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the chart of a DRA driver brings: an account, its role, a DaemonSet, and the policy by which a driver's pods write the slices of
# their own node alone. The token of a pod says which node that is.
. "$(dirname "$0")/up.sh"

cat >"$folder/chart.yaml" <<Y
apiVersion: v1
kind: Namespace
metadata: {name: driver}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: plugin, namespace: driver}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: plugin}
rules:
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
- {apiGroups: [""], resources: [nodes], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: plugin}
subjects: [{kind: ServiceAccount, name: plugin, namespace: driver}]
roleRef: {kind: ClusterRole, name: plugin, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: driver, labels: {app: plugin}}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      priorityClassName: system-node-critical
      serviceAccountName: plugin
      containers:
      - {name: plugin, image: example.com/plugin:1, securityContext: {privileged: true}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: slices-of-plugin}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [resource.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [resourceslices]}
  matchConditions:
  - {name: isPlugin, expression: request.userInfo.username == "system:serviceaccount:driver:plugin"}
  variables:
  - {name: userNode, expression: "request.userInfo.extra[?'authentication.kubernetes.io/node-name'][0].orValue('')"}
  - {name: objectNode, expression: "(request.operation == 'DELETE' ? oldObject : object).spec.?nodeName.orValue('')"}
  validations:
  - {expression: variables.userNode != "", message: this user runs on no node}
  - expression: variables.userNode == variables.objectNode
    messageExpression: "'a user on node ' + variables.userNode + ' may not write slices of ' + variables.objectNode"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: slices-of-plugin}
spec: {policyName: slices-of-plugin, validationActions: [Deny]}
Y

slice() { # NODE
  cat <<Y
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: of-$1}
spec: {driver: gpu.example.com, nodeName: $1, pool: {name: $1, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}
Y
}

start --nodes 2
apply "$folder/chart.yaml"
# shellcheck disable=SC2046
set -- $(kubectl get nodes -o 'jsonpath={.items[*].metadata.name}')
first=$1 second=$2
field 2 '{.status.numberReady}' -n driver daemonset plugin
silent_about warning kubectl get validatingadmissionpolicy slices-of-plugin -o 'jsonpath={.status}'

# The pod has what it takes to ask the API server.
pod=$(kubectl -n driver get pods --field-selector "spec.nodeName=$first" -o 'jsonpath={.items[0].metadata.name}')
says kube-api-access kubectl -n driver get pod "$pod" -o 'jsonpath={.spec.containers[0].volumeMounts}'
field 1 '{.metadata.generation}' -n driver daemonset plugin
says 'BEGIN CERTIFICATE' kubectl -n driver get configmap kube-root-ca.crt -o yaml
token=$(kubectl -n driver create token plugin --bound-object-kind Pod --bound-object-name "$pod")
kubectl config view --raw --minify >"$folder/plugin.kubeconfig"
plugin() { kubectl --kubeconfig "$folder/plugin.kubeconfig" "$@"; }
plugin config unset users >/dev/null
plugin config set-credentials me --token="$token" >/dev/null
plugin config set-context --current --user=me >/dev/null
says 'system:serviceaccount:driver:plugin' plugin auth whoami
says "$first" plugin auth whoami

slice "$first" >"$folder/first.yaml"
slice "$second" >"$folder/second.yaml"
says created plugin create -f "$folder/first.yaml"
refuses "a user on node $first may not write slices of $second" plugin create -f "$folder/second.yaml"
says created kubectl create -f "$folder/second.yaml"
refuses 'denied request' plugin delete resourceslice "of-$second"
refuses 'denied request' plugin label resourceslice "of-$second" a=b
says deleted plugin delete resourceslice "of-$first"
refuses 'cannot list resource "pods"' plugin get pods

# An account without a pod is on no node.
plugin config set-credentials me --token="$(kubectl -n driver create token plugin)" >/dev/null
refuses 'this user runs on no node' plugin create -f "$folder/first.yaml"
# And a policy can be taken back.
kubectl delete validatingadmissionpolicybinding slices-of-plugin >/dev/null
says created plugin create -f "$folder/first.yaml"
stop
