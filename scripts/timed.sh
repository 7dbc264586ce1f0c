#!/usr/bin/env bash
# Runs a command, and prints how long it took: in the log of CI, these lines show where the time goes.
#   timed.sh NAME COMMAND [ARGUMENT...]
set -uo pipefail
name="$1"
shift
start=$SECONDS
"$@"
status=$?
echo "timed: $name took $((SECONDS - start)) s"
exit "$status"
