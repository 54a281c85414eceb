# Runs the commands of deploy/README.md#compose as they are printed there. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of scripts/compose-test and scripts/containers.sh

# Begin of each command of compose in the document.
printed_compose="compose --env-file deploy/docker/images.env -f deploy/docker/docker-compose.yaml"

# printed_commands NUMBER: the block of commands of the section with this number, a command per line.
printed_commands() {
  awk -v wanted="$1" '
    /^##/ { here = ($0 == "## Compose") }
    here && /^```/ {
      open = !open
      if (open && $0 == "```sh") number++
      next
    }
    here && open && number == wanted && NF' "$root/deploy/README.md"
}

# is_printed_end COMMAND: the command ends what the commands before it have started.
is_printed_end() { [[ "$1" == "dc down "* ]]; }

# run_printed NUMBER [end]: types the commands of a block, in the directory of this run. The ends are left out, or typed
# alone.
run_printed() {
  local commands command
  mapfile -t commands < <(printed_commands "$1")
  ((${#commands[@]} > 0)) || die "deploy/README.md has no block $1 of commands in its section Compose" "read it"
  (
    cd "$work" || exit 1
    printed_programs
    for command in "${commands[@]}"; do
      if [[ "$command" != "dc() "* ]]; then
        if is_printed_end "$command"; then
          [[ "${2:-}" == end ]] || continue
        elif [[ "${2:-}" == end ]]; then
          continue
        fi
      fi
      note "\$ $command"
      # The gateway knows a new token within two seconds.
      case "$command" in
      "cts "* | *"Authorization: Bearer"*) wait_until 30 eval "$command" ;;
      *) eval "$command" ;;
      esac >&2 || die "a command of deploy/README.md failed: $command" "read the lines above"
    done
  ) || exit 1
}

# Functions in the place of programs: they add the name and the ports of this run.
printed_programs() {
  printed_address() { printf '%s' "$1" | sed "s/localhost:8500/localhost:$CTS_CONSUL_PORT/; s/localhost:8558/localhost:$CTS_API_PORT/"; }

  curl() {
    local words=() word
    for word in "$@"; do words+=("$(printed_address "$word")"); done
    command curl --silent --show-error --fail --noproxy '*' --max-time 10 "${words[@]}"
  }

  cts() {
    local program="${CTS_COMPOSE_BINARY:-$work/cts}"
    [[ -e "$program" ]] || "$engine" cp "$(containers_of gateway):/usr/local/bin/cts" "$program" >/dev/null || return 1
    CTS_ADDRESS="$(printed_address "${CTS_ADDRESS:-}")" no_proxy=localhost "$program" "$@"
  }

  docker() {
    [[ "${*:1:5}" == "$printed_compose" ]] || die "unknown command: docker $*" "teach it to scripts/compose-printed.sh"
    printed_compose_command "${@:6}"
  }
}

# printed_compose_command WORD...: compose with the name of this run. Its images are built already.
printed_compose_command() {
  local words=() word
  for word in "$@"; do
    if [[ "$word" != --build ]]; then words+=("$word"); fi
  done
  if [[ "$engine" == podman ]]; then
    # As for bring_up: podman-compose does not know when a service that another one needs is healthy. Its `down` leaves
    # what was scaled.
    case "$*" in
    "up --build --detach")
      bring_up
      return
      ;;
    "up --detach --scale worker=3") words+=(--no-deps worker) ;;
    down) words+=(--remove-orphans) ;;
    "run --rm -T "*) words=(--profile tools run --rm --no-deps -T "${words[@]:3}") ;;
    "run --rm "*) words=(--profile tools run --rm --no-deps -T "${words[@]:2}") ;;
    esac
  fi
  "${compose[@]}" --env-file "$images_file" -p "$project" -f "$work/deploy/docker/docker-compose.yaml" "${words[@]}" \
    2>>"$work/printed.log" </dev/null || {
    tail -n 20 "$work/printed.log" >&2
    return 1
  }
}

# Brings everything up as printed, makes a token, changes, and scales.
check_printed_commands() {
  local service
  step "the commands of deploy/README.md#compose"
  run_printed 1
  for service in watcher scheduler worker gateway; do must_be_healthy 1 "$service"; done
  note "up after $(seconds_since "$started_us")"
  run_printed 2
  [[ "$(cat "$work/cts.token")" == cts_* ]] || die "the printed command made no token" "read the lines above"
  deregister_printed
}

# Takes the instance of the document off, whose id is its name.
deregister_printed() {
  request --output /dev/null -X PUT "http://127.0.0.1:$CTS_CONSUL_PORT/v1/agent/service/deregister/web"
}

# Brings the services down as printed.
check_printed_end() {
  local service
  step "the last command of deploy/README.md#compose"
  run_printed 2 end
  for service in consul postgres watcher scheduler worker gateway; do
    [[ -z "$(containers_of "$service")" ]] || die "containers of $service are left" "read the lines above"
  done
}
