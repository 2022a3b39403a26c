#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh SECONDS [TARGET...]: builds the fuzz targets with clang and runs each for SECONDS, beginning with its seeds.
# Fails on a finding, which is then in <build>/findings; add it to corpus/<target> together with the fix.
set -eu
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=${ZAFFRE_FUZZ_BUILD:-$root/build/fuzz}
if [ $# -eq 0 ]; then
	set -- $(ls "$here/corpus") # each target has seeds
fi
targets=
for name in "$@"; do
	targets="$targets fuzz_$name"
done

cmake -S "$root" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang -DZAFFRE_FUZZ=ON -DZAFFRE_MUTANTS=OFF >/dev/null
ninja -C "$build" -j2 $targets
mkdir -p "$build/findings"
failed=
for name in "$@"; do
	mkdir -p "$build/corpus/$name"
	echo "== $name, $seconds s"
	if ! "$build/test/proof/fuzz/fuzz_$name" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
		-artifact_prefix="$build/findings/$name-" -print_final_stats=1 \
		"$build/corpus/$name" "$here/corpus/$name" >"$build/findings/$name.log" 2>&1; then
		failed="$failed $name"
		tail -40 "$build/findings/$name.log"
	else
		grep -E 'stat::number_of_executed_units|stat::average_exec_per_sec|DONE' "$build/findings/$name.log" || true
	fi
done
if [ -n "$failed" ]; then
	echo "findings:$failed (see $build/findings)" >&2
	exit 1
fi
