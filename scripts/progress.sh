# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Defines with_progress and or_tail for scripts whose commands take long; source this file.

# with_progress <label> <log> <command>...: runs the command with its output in the log and returns its status. On a
# terminal a line shows the time and the end of the log; NO_COLOR and TERM=dumb disable it.
with_progress() {
  local label=$1 log=$2 start=$SECONDS process status=0
  shift 2
  "$@" >"$log" 2>&1 </dev/null &
  process=$!
  trap 'kill "$process" 2>/dev/null; exit 130' INT TERM
  if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-}" != dumb ]; then
    while kill -0 "$process" 2>/dev/null; do
      printf '\r\033[K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" \
        "$label, $((SECONDS - start)) s: $(tail -n 1 "$log" | tr -d '\000-\037')" >&2
      sleep 1
    done
    printf '\r\033[K' >&2
  fi
  wait "$process" || status=$?
  trap - INT TERM
  return "$status"
}

# or_tail <label> <log> <command>...: as with_progress. If the command fails, prints the end of the log.
or_tail() {
  local status=0
  with_progress "$@" || status=$?
  [ "$status" = 0 ] || tail -n 20 "$2" >&2
  return "$status"
}
