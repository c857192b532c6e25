#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program in N processes with torchrun's variables: ranks.sh N PROGRAM [ARGUMENT…].
# At the end prints how many ended with status 0.
ranks=$1
shift
export WORLD_SIZE="$ranks" MASTER_ADDR=localhost MASTER_PORT=$((20000 + $$ % 10000)) TORCHELASTIC_RUN_ID=$$
rank=0 started='' good=0
while [ $rank -lt "$ranks" ]; do
  RANK=$rank LOCAL_RANK=$rank "$@" &
  started="$started $!"
  rank=$((rank + 1))
done
for process in $started; do
  if wait "$process"; then good=$((good + 1)); fi
done
echo "$good of $ranks ranks ended with status 0"
[ $good = "$ranks" ]
