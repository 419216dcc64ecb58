# What the scripts of this directory share: where things lie, which ports, and how to wait.
# Sourced, never run. Everything is overridable from the environment.

set -euo pipefail

interop_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Installed tools and the state of the peers; outside of git.
INTEROP_DIR=${INTEROP_DIR:-${CARGO_TARGET_DIR:-$interop_root/target}/interop}
mkdir -p "$INTEROP_DIR"
INTEROP_DIR=$(cd "$INTEROP_DIR" && pwd)

# INN and its readers on 127.0.0.1.
INTEROP_INND_PORT=${INTEROP_INND_PORT:-11119}           # transit mode: MODE READER comes first
INTEROP_READER_PORT=${INTEROP_READER_PORT:-11120}       # plain, offers STARTTLS
INTEROP_TLS_PORT=${INTEROP_TLS_PORT:-11563}             # TLS on connect
INTEROP_LOGIN_PORT=${INTEROP_LOGIN_PORT:-11121}         # plain or STARTTLS, wants a login
INTEROP_LOGIN_TLS_PORT=${INTEROP_LOGIN_TLS_PORT:-11564} # TLS on connect, wants a login
INTEROP_USER=${INTEROP_USER:-ann}
INTEROP_PASSWORD=${INTEROP_PASSWORD:-tangerine}
INTEROP_GROUP=${INTEROP_GROUP:-alt.binaries.test}

# nzbget's own test server.
INTEROP_NSERV_PORT=${INTEROP_NSERV_PORT:-16791}

inn=$INTEROP_DIR/inn
nyuu=$INTEROP_DIR/node/node_modules/nyuu/bin/nyuu.js

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# Runs a command until it succeeds, for at most 20 seconds.
wait_until() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if "$@" 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    return 1
}

# A subshell, so that the descriptor is closed again at once.
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

wait_for_port() { wait_until port_open "$1" || die "nothing listens on port $1 after 20 s; see ${2:-its log}"; }

# Whether the process of a pid file lives and is still the program we started. One that only waits
# to be reaped, as long as some containers do, does not live.
runs() {
    local file=$1 program=$2 pid stat
    [ -s "$file" ] || return 1
    pid=$(tr -dc 0-9 <"$file")
    stat=$(cat "/proc/$pid/stat" 2>/dev/null) || return 1
    [[ $stat == "$pid ($program) "[!ZX]* ]]
}

ended() { ! runs "$@"; }

# Ends the process of a pid file, if it is ours, and waits until it is gone.
end_process() {
    local file=$1 program=$2
    if runs "$file" "$program"; then
        kill "$(tr -dc 0-9 <"$file")"
        wait_until ended "$file" "$program" || die "$program of $file does not end"
    fi
    rm -f "$file"
}
