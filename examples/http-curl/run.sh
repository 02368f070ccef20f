#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: ask a running server from anything that can speak HTTP. Starts one on a free port, asks it with curl,
# and checks the answers. Needs curl.
set -eu
cd "$(dirname "$0")/../.."

. examples/start.sh
start ./sluice serve --http 127.0.0.1:0

post() {
  curl -sS --fail-with-body -H 'Content-Type: application/json' "$url/v1/$1" -d "$2"
}

expect() {
  case $2 in
    *"$1"*) printf '%s\n' "$2" ;;
    *) printf 'expected %s in: %s\n' "$1" "$2" >&2; exit 1 ;;
  esac
}

# Three sign-ups a day for each address: the fourth is denied.
sign_up='{"limit":"SignUpsPerIPAddress","id":"192.0.2.7"}'
for _ in 1 2 3; do
  expect "\"allowed\":true" "$(post spend "$sign_up")"
done
expect '"message":"too many sign-ups (3) from this IP address' "$(post spend "$sign_up")"

# The state of the bucket; a slash in an id is written %2F.
expect '"remaining":0' "$(curl -sS "$url/v1/limits/SignUpsPerIPAddress/buckets/192.0.2.7")"
expect '"id":"2001:db8:1:2::/64"' "$(curl -sS "$url/v1/limits/SignUpsPerIPv6Range/buckets/2001:db8:1:2::%2F64")"

# All or nothing: the login is not counted, as the sign-up is denied.
expect '"allowed":false' "$(post spend "{\"transactions\":[{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.7\"},$sign_up]}")"
expect '"remaining":10' "$(curl -sS "$url/v1/limits/LoginsPerIPAddress/buckets/192.0.2.7")"

# For a proxy that understands nothing but a status.
status=$(curl -sS -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' "$url/v1/spend?status=429" -d "$sign_up")
expect 429 "$status"

expect '"reset":true' "$(post reset "$sign_up")"
expect '"remaining":2' "$(post spend "$sign_up")"
