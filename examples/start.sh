# SPDX-License-Identifier: Apache-2.0
# Sourced by the run.sh of the examples. start COMMAND... runs a server in the background and waits until it listens: then
# its log is in $log, its address in $url. The server ends with the script.

start() {
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; rm -f "$log"' EXIT
  url=
  while [ -z "$url" ]; do
    kill -0 "$server" || { cat "$log" >&2; exit 1; }
    sleep 0.1
    url=$(sed -n 's/^listening on \(http:[^ ]*\).*/\1/p' "$log")
  done
}
