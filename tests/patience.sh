# shellcheck shell=bash
# How long scripts wait: for a condition, never for a time. Sourced.

# Limits of time are made for a plain build; under a sanitizer everything is several times slower.
slowness=1
[ "${BATON_SANITIZER:-none}" = none ] || slowness=10
# Seconds: a program of a moment's work that still runs then hangs.
# shellcheck disable=SC2034 # of those who source it
hangs=$((600 * slowness))

# Looks until COMMAND... is true, 20 times a second. Answers 1 as soon as PROCESS has ended without
# that (none: no process is waited for), or after minutes in vain.
await() { # PROCESS COMMAND...
    local process=$1 looks=$((6000 * slowness))
    shift
    until "$@"; do
        [ "$process" = none ] || kill -0 "$process" 2>/dev/null || { "$@"; return; } # true at its end?
        [ $((looks -= 1)) -gt 0 ] || return 1
        sleep 0.05
    done
}
