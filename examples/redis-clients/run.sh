#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: ask a running server with a Redis client. Starts one with a door for Redis clients on free ports, and asks it
# with node-redis, by RESP2 and RESP3. Needs Node 18 or newer, with npm.
set -eu
cd "$(dirname "$0")/../.."
here=examples/redis-clients

(cd $here && npm ci --silent --no-audit --no-fund)

. examples/start.sh
start ./sluice serve --http 127.0.0.1:0 --resp 127.0.0.1:0
redis=$(sed -n 's/.*\(redis:[^ ]*\) .*/\1/p' "$log")

for version in 2 3; do
  said=$(node $here/throttle.mjs "$redis" $version)
  printf '%s\n' "$said"
  # A token comes back each minute, of which the requests took some.
  wait=$(printf '%s\n' "$said" | sed -nE '1s/.*retry after (5[0-9]|60) s$/\1/p')
  expected=$(printf '%s\n' \
    "limited 1, limit 5, remaining 0, retry after ${wait:-60} s" \
    'cancelled: OK' \
    'ERR limit: no limit has the name "NoSuchLimit"')
  [ "$said" = "$expected" ] || { printf 'expected:\n%s\n' "$expected" >&2; exit 1; }
done
