#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: let no mistake in a limit file reach the server. Exit code 1 stops a pipeline; here it is expected.
set -eu
cd "$(dirname "$0")/.."
../sluice lint --limits limits/samples.yml
code=0
../sluice lint --limits lint-in-ci/limits.yml || code=$?
test "$code" -eq 1
