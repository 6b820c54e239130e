#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# `dray console` beside a live cluster: the picture, a change within a second, explanations and plans, who is turned away, and a
# server that comes back. Then /console of `dray up`, for two people.
. "$(dirname "$0")/up.sh"
command -v curl >/dev/null || { echo "SKIPPED: curl is not installed"; exit 0; }

umask 077
printf 'ann-token,ann,ann,"people"\nroot-token,root,root,"system:masters"\n' >"$folder/tokens"
start --demo --token-auth-file "$folder/tokens"
port=${server##*:}
console=
end_console() { [ -z "$console" ] || kill -9 "$console" 2>/dev/null || true; finish; }
trap end_console EXIT

"$DRAY_BINARY" console --kubeconfig "$KUBECONFIG" --scenarios "$examples/scenarios" >"$folder/console" 2>"$folder/console-err" &
console=$!
for _ in $(seq 300); do
  grep -q '^ready' "$folder/console" && break
  kill -0 "$console" 2>/dev/null || fail "the console did not start: $(cat "$folder/console-err")"
  sleep 0.1
done
address=$(sed -n 's/^console *//p' "$folder/console")
page=${address%%#*}
token=${address##*#t=}
[ ${#token} = 43 ] || fail "no token of 256 bits in $address"

# ask PATH CURL-FLAGS...
ask() {
  path=$1
  shift
  curl -sS -H "Authorization: Bearer $token" -H 'X-Dray-Console: 1' "$@" "${page}api/v1/$path"
}
post() {
  path=$1
  body=$2
  shift 2
  ask "$path" -H 'Content-Type: application/json' -d "$body" "$@"
}
code() { curl -sS -o "$folder/body" -w '%{http_code}' "$@"; }
# has TEXT FILE
has() { grep -q -- "$1" "$2" || fail "no \"$1\" in $(head -c 2000 "$2")"; }
# Until it says the text, for so many tenths of a second.
until_says() {
  text=$1
  tenths=$2
  shift 2
  for _ in $(seq "$tenths"); do
    "$@" >"$folder/said" 2>&1 || true
    if grep -q -- "$text" "$folder/said"; then return; fi
    sleep 0.1
  done
  fail "$* does not say \"$text\": $(head -c 2000 "$folder/said")"
}

until_says '"too-big"' 300 ask fleet
ask fleet >"$folder/fleet"
has '"gpu.example.com"' "$folder/fleet"
ask info >"$folder/info"
has '"mode":"local"' "$folder/info"
has '"resourceVersionOf":"v1"' "$folder/info"

# Why, with cures that were tried.
runs kep-5963-mig
until_says '"sufficient"' 300 post explain '{"target":"pod/default/kep-5963-vgpu"}'
post explain '{"pending":true}' >"$folder/causes"
has '"causes":\[{' "$folder/causes"
has too-big "$folder/causes"
# What waiting for the other pod would bring.
post plan '{"delete":["pod/default/kep-5963-mig"]}' >"$folder/plan"
has '"name":"kep-5963-vgpu","state":"Placed"' "$folder/plan"
post cel '{"expression":"device.driver == \"gpu.example.com\""}' >"$folder/cel"
has '"counts":{"match":8' "$folder/cel"
ask scenarios >"$folder/scenarios"
has everyday.yaml "$folder/scenarios"

# A change is a line. (How soon is measured in a browser: console_live_e2e, console_cluster_e2e.)
epoch=$(sed 's/.*"epoch":"\([^"]*\)".*/\1/' "$folder/fleet")
rev=$(ask fleet | sed 's/.*"rev":\([0-9]*\).*/\1/' | head -1)
ask "stream?epoch=$epoch&from=$rev" -N >"$folder/lines" &
stream=$!
until_says beat 300 cat "$folder/lines"
kubectl delete pod kep-5491-aligned --wait=false >/dev/null
until_says '"d":\[\[' 300 cat "$folder/lines"
kill "$stream" 2>/dev/null || true

# Who is turned away.
[ "$(code "$page")" = 200 ] || fail "the page is not there"
[ "$(code "${page}api/v1/fleet" -H 'X-Dray-Console: 1')" = 401 ] || fail "no token: $(cat "$folder/body")"
[ "$(code "${page}api/v1/fleet" -H 'X-Dray-Console: 1' -H 'Authorization: Bearer wrong')" = 401 ] || fail "a wrong token"
[ "$(code "${page}api/v1/fleet" -H 'Host: evil.example' -H "Authorization: Bearer $token")" = 421 ] || fail "another host"
[ "$(code "${page}api/v1/fleet" -H 'Origin: https://evil.example' -H "Authorization: Bearer $token")" = 403 ] || fail "another origin"
[ "$(code -X OPTIONS "${page}api/v1/fleet")" = 405 ] || fail "a preflight"
case "$(code "${page}../api/v1/pods" --path-as-is -H "Authorization: Bearer $token" -H 'X-Dray-Console: 1')" in
  400 | 404) ;;
  *) fail "a path that leads elsewhere" ;;
esac

# The server ends and comes back; the picture is the same, and nothing is there twice.
before=$(ask holders | grep -o '"devices":.*' | head -c 3000)
stop
until_says lost 300 sh -c "curl -sS -N -m 5 -H 'Authorization: Bearer $token' -H 'X-Dray-Console: 1' '${page}api/v1/stream?epoch=$epoch&from=$(ask fleet | sed 's/.*"rev":\([0-9]*\).*/\1/' | head -1)'"
"$DRAY_BINARY" up --data "$folder/data" --listen "127.0.0.1:$port" --token-auth-file "$folder/tokens" >"$folder/out" 2>"$folder/err" &
pid=$!
until_says '"name":"after-restart"' 300 sh -c "kubectl create -f - <<'POD' >/dev/null 2>&1
{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"after-restart\"},\"spec\":{\"nodeSelector\":{\"no\":\"node\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}
POD
curl -sS -H 'Authorization: Bearer $token' -H 'X-Dray-Console: 1' '${page}api/v1/fleet'"
after=$(ask holders | grep -o '"devices":.*' | head -c 3000)
[ "$(printf %s "$before" | tr ',' '\n' | wc -l)" -ge 1 ] && [ -n "$after" ] || fail "no holders after the restart"
kill -TERM "$console"
wait "$console" || fail "the console ended badly"
console=

# /console of the server: everybody sees what they may read.
served() {
  who=$1
  path=$2
  shift 2
  curl -sSk -H "Authorization: Bearer $who-token" -H 'X-Dray-Console: 1' "$@" "https://127.0.0.1:$port/console/api/v1/$path"
}
[ "$(code -k "https://127.0.0.1:$port/console/")" = 200 ] || fail "the server has no page"
[ "$(code -k "https://127.0.0.1:$port/console/api/v1/fleet" -H 'X-Dray-Console: 1')" = 401 ] || fail "nobody may look"
[ "$(code -k "https://127.0.0.1:$port/console/api/v1/fleet" -H 'Authorization: Bearer root-token')" = 403 ] || fail "without our header"
until_says '"devices"' 300 served root fleet
served root holders >"$folder/all"
has inference "$folder/all"
kubectl create clusterrole slices --verb=list,watch --resource=resourceslices.resource.k8s.io,nodes >/dev/null
kubectl create clusterrolebinding slices --clusterrole=slices --user=ann >/dev/null
until_says '"claims":true' 300 served ann fleet
served ann holders >"$folder/hers"
if grep -q inference "$folder/hers"; then fail "ann sees what is not hers"; fi
served ann fleet >"$folder/hers"
if grep -q too-big "$folder/hers"; then fail "ann sees pods that are not hers"; fi
stop
