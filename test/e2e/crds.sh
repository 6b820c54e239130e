#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A kind that somebody defines: applied, shown, explained, refused, scaled, owned and deleted with kubectl.
. "$(dirname "$0")/up.sh"

start
cat >"$folder/crd.yaml" <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: Desired state of a widget.
            x-kubernetes-validations:
            - {rule: "self.replicas <= 10", message: ten at most}
            properties:
              color: {type: string, enum: [red, blue], description: What it looks like.}
              replicas: {type: integer, default: 1, minimum: 0}
          status: {type: object, properties: {replicas: {type: integer}}}
YAML
apply "$folder/crd.yaml"
says 'condition met' kubectl wait --for=condition=Established crd/widgets.example.com --timeout=20s
says 'wd.*example.com/v1.*true.*Widget' kubectl api-resources --api-group=example.com
widget() { printf 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: %s}\nspec: %s\n' "$1" "$2"; }
widget first '{color: red}' >"$folder/first.yaml"
apply "$folder/first.yaml"
says 'COLOR' kubectl get widgets
says 'first.*red' kubectl get wd
field 1 '{.spec.replicas}' widget first
says 'What it looks like' kubectl explain widget.spec.color
widget wrong '{color: green}' >"$folder/wrong.yaml"
refuses 'spec.color: Unsupported value: "green": supported values: "red", "blue"' kubectl apply -f "$folder/wrong.yaml"
widget wrong '{replicas: 11}' >"$folder/wrong.yaml"
refuses 'ten at most' kubectl apply -f "$folder/wrong.yaml"
widget wrong '{colour: red}' >"$folder/wrong.yaml"
refuses 'unknown field "spec.colour"' kubectl apply -f "$folder/wrong.yaml"
says scaled kubectl scale widget first --replicas=4
field 4 '{.spec.replicas}' widget first
says 'serverside-applied' kubectl apply --server-side --field-manager=me --force-conflicts -f "$folder/first.yaml"
says patched kubectl patch widget first --type=merge -p '{"spec":{"color":"blue"}}'
says 'first.*blue' kubectl get widgets

says 'NAME *CREATED AT' kubectl get crd

# A quota limits how many there are, and counts what was there before it and what goes.
kubectl create quota few --hard=count/widgets.example.com=2 >/dev/null
field 1 '{.status.used.count/widgets\.example\.com}' quota few
widget second '{}' >"$folder/second.yaml"
apply "$folder/second.yaml"
widget third '{}' >"$folder/third.yaml"
refuses 'exceeded quota: few, requested: count/widgets.example.com=1' kubectl create -f "$folder/third.yaml"
says deleted kubectl delete widget second
field 1 '{.status.used.count/widgets\.example\.com}' quota few
apply "$folder/third.yaml"
says deleted kubectl delete widget third
kubectl delete quota few >/dev/null

# What somebody may do with them.
kubectl create role painter --verb=get,patch --resource=widgets.example.com >/dev/null
kubectl create rolebinding painter --role=painter --user=pat >/dev/null
says patched kubectl --as=pat patch widget first --type=merge -p '{"spec":{"color":"red"}}'
refuses 'cannot delete resource "widgets" in API group "example.com"' kubectl --as=pat delete widget first
says 'widgets.example.com.*get patch' kubectl --as=pat auth can-i --list

# Owned by one of them; gone with its owner.
uid="$(kubectl get widget first -o 'jsonpath={.metadata.uid}')"
kubectl create configmap owned --from-literal=a=b --dry-run=client -o json |
  sed "s/\"name\": \"owned\"/\"name\": \"owned\", \"ownerReferences\": [{\"apiVersion\": \"example.com\/v1\", \"kind\": \"Widget\", \"name\": \"first\", \"uid\": \"$uid\"}]/" >"$folder/owned.json"
apply "$folder/owned.json"
says deleted kubectl delete widget first
eventually NotFound sh -c 'kubectl get configmap owned 2>&1 || true'

# A namespace takes them with it, and so does their definition.
kubectl create namespace other >/dev/null
kubectl -n other apply -f "$folder/first.yaml" >/dev/null
says deleted kubectl delete namespace other --timeout=30s
apply "$folder/first.yaml"
says deleted kubectl delete crd widgets.example.com --timeout=30s
# kubectl may still remember that there was such a kind.
refuses 'have a resource type\|find the requested resource' kubectl get widgets
apply "$folder/crd.yaml"
eventually 'No resources found' kubectl get widgets
