#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the server and runs it: serve.sh [PORT [redis://HOST:PORT]]
set -eu
cd "$(dirname "$0")/../.."

target=examples/servlet-login/target/quick
mkdir -p "$target"
if ! ./mvnw -q -Pfull -pl examples/servlet-login -am -Dsluice.quick=untested -Dsluice.target=target/quick \
  -Dmdep.outputFile=target/quick/classpath -DincludeScope=runtime package dependency:build-classpath >"$target/build.log" 2>&1 </dev/null; then
  tail -n 20 "$target/build.log" >&2
  printf 'the build failed; the whole log: %s\n' "$target/build.log" >&2
  exit 3
fi
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -cp "$target/classes:$(cat "$target/classpath")" \
  dev.sluice.examples.servletlogin.LoginServer "$@"
