#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# torn.sh TORN RECORD_SO STATES [SEED [TRANSACTIONS [later]]]: records a run (`later`: of a store that syncs some commits later), checks
# that a full replay equals the real files, then opens STATES crash states. Prints the seed; `torn crash LOG SCRATCH 1 STATE` repeats one state.
set -euo pipefail
torn=$1
record=$2
states=$3
seed=${4:-$RANDOM$RANDOM}
work=$(mktemp -d "${ZAFFRE_TEST_TMP:-/tmp}/zaffre-torn-XXXXXX")
# The states need no disk, only a file system: in memory they take milliseconds each.
scratch=$(mktemp -d /dev/shm/zaffre-torn-XXXXXX 2>/dev/null || mktemp -d "$work/scratch-XXXXXX")
trap 'rm -rf "$work" "$scratch"' EXIT
mkdir "$work/data"
LD_PRELOAD=$record ZAFFRE_RECORD_DIR=$work/data ZAFFRE_RECORD_LOG=$work/log ZAFFRE_RECORD_ACKS=$work/marks \
	"$torn" "${6:-write}" "$work/data" "$work/marks" "${5:-900}"
"$torn" same "$work/log" "$work/data" "$scratch"
echo "a full replay equals the real files; seed $seed"
rm -rf "$scratch/full"
"$torn" crash "$work/log" "$scratch" "$states" "$seed"
echo "a disk whose syncs lie must be seen to lose data:"
"$torn" lies "$work/log" "$scratch" "$states" "$seed" 2>/dev/null | tail -n 3
