#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: let Envoy ask. Starts a server with the limits of this folder, and asks it what Envoy would ask by envoy.yaml.
# Envoy itself asks over gRPC; curl can ask the same as JSON. Needs curl.
set -eu
cd "$(dirname "$0")/../.."

. examples/start.sh
start ./sluice serve --limits examples/envoy/limits.yml --http 127.0.0.1:0 --grpc 127.0.0.1:0
grep -q 'grpc://127.0.0.1:' "$log"

expect() {
  case $2 in
    *"$1"*) printf '%s\n' "$2" ;;
    *) printf 'expected %s in: %s\n' "$1" "$2" >&2; exit 1 ;;
  esac
}

# GET /login with the header x-api-key: k1, from 192.0.2.7.
login='{"domain":"edge","descriptors":[
  {"entries":[{"key":"generic_key","value":"LoginsPerIPAddress"},{"key":"remote_address","value":"192.0.2.7"}]},
  {"entries":[{"key":"ApiCallsPerKey","value":"k1"}]}]}'
for _ in 1 2 3; do
  expect '"overallCode":"OK"' "$(curl -sS --fail-with-body "$url/json" -d "$login")"
done
status=$(curl -sS -o /dev/null -w '%{http_code}' "$url/json" -d "$login")
expect 429 "$status"

# The login that was denied took no call from the key.
other='{"domain":"edge","descriptors":[{"entries":[{"key":"ApiCallsPerKey","value":"k1"}]}]}'
expect '"limitRemaining":96' "$(curl -sS "$url/json" -d "$other")"
