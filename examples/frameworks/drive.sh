#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and starts the same login with each framework, and asks it over HTTP: ./mvnw install -DskipTests first.
# examples/frameworks/drive.sh [NAME...]; SLUICE_MVN_ARGS are passed to Maven. A minute a framework, more where it downloads.
# micronaut-5 needs JDK 25: JAVA_HOME=/path/to/25 examples/frameworks/drive.sh micronaut-5
set -eu
cd "$(dirname "$0")"
version=$(sed -n 's|.*<version>\(.*\)</version>.*|\1|p' ../../pom.xml | head -n 1)
work=$(mktemp -d)
application=
backend=
trap '[ -z "$application" ] || kill "$application"; [ -z "$backend" ] || kill "$backend"; rm -rf "$work"' EXIT
python3 - "$work/backend" <<'P' &
import http.server, sys
class Welcome(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        good = 'password=secret' in self.path
        body = b'welcome' if good else b''
        self.send_response(200 if good else 401); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Welcome)
open(sys.argv[1], 'w').write(str(server.server_port))
server.serve_forever()
P
backend=$!

login() { # ADDRESS [PASSWORD]: the status of a login of this client, seen through a proxy
  curl -s -o "$work/body" -D "$work/head" -w '%{http_code}' -X POST -H "X-Forwarded-For: 192.0.2.99, $1" \
    "http://127.0.0.1:$port/login?user=ann&password=${2:-secret}"
}

expect() { # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { echo "$name: $1: expected $2, found $3" >&2; cat "$work/head" "$work/body" "$work/log" >&2; exit 1; }
}

port=$((21000 + $$ % 9000))
for name in "${@:-gateway dropwizard micronaut quarkus quarkus-undertow}"; do for name in $name; do
  port=$((port + 1))
  # shellcheck disable=SC2086
  ../../mvnw -q -f "$name/pom.xml" ${SLUICE_MVN_ARGS:-} -Dsluice.version="$version" -DskipTests package >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  # shellcheck disable=SC2086
  ../../mvnw -q -f "$name/pom.xml" ${SLUICE_MVN_ARGS:-} -Dsluice.version="$version" dependency:build-classpath -Dmdep.outputFile="$work/path" >"$work/log"
  path="$name/target/classes:$(cat "$work/path")"
  case $name in
    gateway) set -- -cp "$path" login.LoginApplication --server.address=127.0.0.1 --server.port=$port "--backend=http://127.0.0.1:$(cat "$work/backend")" ;;
    dropwizard) set -- "-Ddw.server.connector.port=$port" -cp "$path" login.LoginApplication server "$name/config.yml" ;;
    micronaut | micronaut-5) set -- -Dmicronaut.server.port=$port -Dmicronaut.server.host=127.0.0.1 -cp "$path" login.LoginApplication ;;
    quarkus | quarkus-undertow) set -- -Dquarkus.http.port=$port -Dquarkus.http.host=127.0.0.1 -jar "$name/target/quarkus-app/quarkus-run.jar" ;;
  esac
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$@" >"$work/log" 2>&1 &
  application=$!
  until [ "$(login 192.0.2.1 || true)" = 200 ]; do
    kill -0 "$application" || { cat "$work/log" >&2; exit 1; }
    sleep 0.2
  done
  for _ in 1 2 3 4 5; do expect 'a login' 200 "$(login 192.0.2.2)"; done
  expect 'the sixth login of a client' 429 "$(login 192.0.2.2)"
  expect 'its Retry-After' 1 "$(grep -ci '^retry-after: 1[0-3]' "$work/head")"
  expect 'its body' 1 "$(grep -c quota-exceeded "$work/body")"
  expect 'another client' 200 "$(login 192.0.2.3)"
  for _ in 1 2; do expect 'a wrong password' 401 "$(login 192.0.2.4 wrong)"; done
  for _ in 1 2; do expect 'a good login, which costs nothing of the failed ones' 200 "$(login 192.0.2.4)"; done
  expect 'the third wrong password' 401 "$(login 192.0.2.4 wrong)"
  for _ in 1 2 3; do expect 'a wrong password' 401 "$(login 192.0.2.5 wrong)"; done
  expect 'a login after three wrong passwords' 429 "$(login 192.0.2.5)"
  expect 'its limit' 1 "$(grep -c '"violated-policies":\["FailedLoginsPerIPAddress"\]' "$work/body")"
  expect 'a header of the limit on trial' 0 "$(grep -c LoginsPerUserPerIPAddress "$work/head")"
  expect 'the trial in the log' yes "$(grep -q 'LoginsPerUserPerIPAddress would have denied a request (shadow rule on /login)' "$work/log" && echo yes)"
  kill "$application"
  wait "$application" || true
  application=
  echo "$name: five logins pass, the sixth is a 429; three wrong passwords too; the trial refuses nobody"
done; done
