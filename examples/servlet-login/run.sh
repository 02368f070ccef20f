#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: limit failed logins, and only those, in a servlet container. Starts the server on a free port, asks it with
# curl, and checks the answers. Needs curl.
set -eu
cd "$(dirname "$0")/../.."

. examples/start.sh
start sh examples/servlet-login/serve.sh 0

login() {
  curl -sS -i -d "password=$1" -H "X-Forwarded-For: $2" "$url/login?user=ann"
}

expect() {
  case $2 in
    *"$1"*) ;;
    *) printf 'expected %s in: %s\n' "$1" "$2" >&2; exit 1 ;;
  esac
}

# Good logins cost nothing, 30 bad ones an hour pass.
for _ in 1 2 3 4 5; do expect 'HTTP/1.1 200' "$(login 'the password of ann' 192.0.2.7)"; done
for _ in $(seq 30); do expect 'HTTP/1.1 401' "$(login guess 192.0.2.7)"; done
refused=$(login 'the password of ann' 192.0.2.7)
printf '%s\n' "$refused"
expect 'HTTP/1.1 429' "$refused"
# A token comes back each 120 s, of which the requests took some; waits are spread by a few seconds.
wait=$(printf '%s\n' "$refused" | sed -nE 's/^Retry-After: (1[012][0-9]).*/\1/p')
expect "Retry-After: ${wait:-120}" "$refused"
expect 'RateLimit-Policy: "FailedLoginsPerIPAddress";q=30;w=3600' "$refused"
expect 'too many failed logins (30) from this IP address' "$refused"

# What stands left of the proxy's own word changes nothing; another client is another client.
expect 'HTTP/1.1 429' "$(login guess '198.51.100.1, 192.0.2.7')"
expect 'HTTP/1.1 401' "$(login guess 192.0.2.8)"

# The API, by key; and the trial, which nobody but the metrics saw.
expect '"ApiCallsPerKey";r=99' "$(curl -sS -i -H 'X-Api-Key: key-of-ann' "$url/api/v1/things")"
expect 'ratelimits_decisions_total{decision="shadow_denied",limit="LoginsPerUserPerIPAddress"} 30.0' \
  "$(curl -sS "$url/metrics")"
