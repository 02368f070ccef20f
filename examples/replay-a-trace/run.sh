#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: see what limits would have done to recorded traffic, before they do it to real one. Checks the decisions.
set -eu
cd "$(dirname "$0")"
../../sluice replay --limits limits.yml trace.jsonl | diff - decisions.jsonl
cat decisions.jsonl
