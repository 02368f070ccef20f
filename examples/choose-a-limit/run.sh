#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: choose a limit before there is traffic. Fifty clients that behave should never notice it; the script that does
# not should not take the server's breath away. Only the script is denied under either limit (one client of 51, 2 %);
# the smaller burst makes the peak smaller by the 80 that it lacks. The same seed prints the same table everywhere.
set -eu
cd "$(dirname "$0")"
../../sluice simulate --traffic crowd:clients=50,large=0,rate=20/1h --traffic rogue --algorithm gcra \
  --limit 100/1h --limit 100/1h,burst=20 | diff - outcome.txt
cat outcome.txt
