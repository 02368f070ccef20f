#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: ask a running server from Python, Node or Go, with the libraries of the languages alone. Starts a server on a
# free port, and runs what there is a language for; python3 must be there.
set -eu
cd "$(dirname "$0")/../.."
here=examples/http-clients

. examples/start.sh
start ./sluice serve --http 127.0.0.1:0

expect() {
  case $2 in
    $1) printf '%s\n' "$2" ;;
    *) printf 'expected %s in: %s\n' "$1" "$2" >&2; exit 1 ;;
  esac
}

# 50 good logins cost nothing; of 31 bad ones, the last is one too many.
expect '200 401 429, retry after *' "$(python3 $here/login.py "$url")"

if command -v node >/dev/null; then
  expect '3 of 12 allowed' "$(node $here/stream.mjs "$url")"
fi
if command -v go >/dev/null; then
  expect 'denied, retry after *' "$(go run $here/spend.go "$url")"
fi
