# Functions to run Myriad in front of a site of scripts/site. Sourced by scripts/up and scripts/cluster, which set `site` (the folder of
# the site) and `myriad` (the binary).

free_port() { # PORT: prints this port, or the next one without a listener
    local port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port"
}

# Starts Myriad on a port and sets `node` to the process ID. Fails, with the messages in PREFIX/start, if it terminates.
# A port without a listener can still be in use, by an outgoing connection.
serve() { # PREFIX PORT [OPTION...]
    local prefix=$1 port=$2 output
    shift 2
    exec 3> >(tee "$prefix/start" >&2)
    output=$!
    "$myriad" wordpress --root "$site/wordpress" --php "unix:$site/run/php.sock" --listen "127.0.0.1:$port" \
        --prefix "$prefix" "$@" 2>&3 3>&- &
    node=$!
    exec 3>&-
    # Another process may listen on the port, so wait for the pid file of this process.
    until [ "$(cat "$prefix/myriad.pid" 2>/dev/null)" = "$node" ]; do
        if ! kill -0 "$node" 2>/dev/null; then
            node=
            wait "$output" || true
            return 1
        fi
        sleep 0.05
    done
}

# Starts Myriad like `serve` on this port or the next free one, and sets `port`.
serve_on_free_port() { # PREFIX PORT [OPTION...]
    local prefix=$1
    port=$2
    shift 2
    for _ in $(seq 20); do
        port=$(free_port "$port")
        serve "$prefix" "$port" "$@" && return
        grep -q 'Address already in use' "$prefix/start" || break
        port=$((port + 1))
    done
    echo "${0##*/}: Myriad did not start" >&2
    return 1
}

# Stops processes: sends TERM to each, and waits until all have exited.
stop_processes() { # PID...
    local pid
    for pid; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid; do wait "$pid" 2>/dev/null || true; done
}
