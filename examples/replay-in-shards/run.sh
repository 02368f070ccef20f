#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wish: replay a log that is too large for one process. Four shards run side by side, and their joined result must equal
# that of one process. With --sshloginfile, GNU parallel spreads the shards over machines.
set -eu
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
../../sluice --version > "$folder/version" # builds it once, before the shards start
shard="../../sluice replay --limits limits.yml --shard {}/4 --json access.log > $folder/{}.json"
if parallel --version 2> /dev/null | grep -q GNU; then # moreutils has another program of this name
  parallel --halt now,fail=1 "$shard" ::: 1 2 3 4
else
  printf '%s\n' 1 2 3 4 | xargs -P 2 -I '{}' sh -c "$shard"
fi
../../sluice replay --merge "$folder"/[1-4].json > "$folder/joined"
../../sluice replay --limits limits.yml access.log | diff - "$folder/joined"
cat "$folder/joined"
