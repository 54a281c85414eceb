# Observations of running containers, and the checks of scripts/compose-test. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of scripts/compose-test and scripts/containers.sh

request() { curl --silent --show-error --fail --noproxy '*' --max-time 10 "$@"; }

api() { request --cacert "$work/ca.pem" --header "Authorization: Bearer $token" "https://localhost:$CTS_API_PORT$1"; }

# register SERVICE NUMBER
register() {
  request --output /dev/null -X PUT "http://127.0.0.1:$CTS_CONSUL_PORT/v1/agent/service/register" --data \
    "{\"ID\": \"$1-$2\", \"Name\": \"$1\", \"Address\": \"10.20.0.$2\", \"Port\": 8080}"
}

deregister() {
  request --output /dev/null -X PUT "http://127.0.0.1:$CTS_CONSUL_PORT/v1/agent/service/deregister/$1-$2"
}

# applied TASK: the addresses in Terraform's state of the task, in order.
applied() {
  request "http://127.0.0.1:$CTS_CONSUL_PORT/v1/kv/consul-terraform-sync/terraform-env:$1?raw" |
    python3 -c 'import gzip, json, sys
content = sys.stdin.buffer.read()
content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
outputs = [i["attributes"]["output"]["value"] for r in json.loads(content)["resources"] for i in r["instances"]]
print(" ".join(a.removesuffix(":8080").removeprefix("10.20.0.") for o in outputs for a in o))' 2>/dev/null
}

is_applied() { [[ "$(applied "$1")" == "$2" ]]; }

must_be_applied() {
  wait_until "$3" is_applied "$1" "$2" ||
    die "the state of $1 has the instances ($(applied "$1")), not ($2), after $3 s" "read the logs above"
}

# newest_run TASK MEMBER...: members of the newest run of a task.
newest_run() {
  api "/v1/runs?task=$1&limit=1" | python3 -c 'import json, sys
run = (json.load(sys.stdin)["runs"] or [{}])[0]
print(*(run.get(name) or "-" for name in sys.argv[1:]))' "${@:2}"
}

# busy_worker: the host of the worker that runs something, which is the beginning of the id of its container.
busy_worker() {
  operator workers list -config-dir /etc/cts/shared -o json | python3 -c 'import json, sys
print(*(worker["host"] for worker in json.load(sys.stdin)["workers"] if worker["running"]))'
}

# operator WORD...: a command of cts in a container of the service `operator`.
operator() {
  "${compose[@]}" --env-file "$images_file" -p "$project" -f "$work/deploy/docker/docker-compose.yaml" --profile tools run --rm --no-deps -T operator "$@" 2>>"$work/operator.log"
}

check_change() {
  step "a change is applied"
  local since
  register web 1
  register web 2
  must_be_applied hello "1 2" 120
  since="$(now_us)"
  register web 3
  must_be_applied hello "1 2 3" 60
  note "applied $(seconds_since "$since") after the registration"
}

check_scaling() {
  step "workers scale from 1 to 3"
  # The printed commands have scaled them.
  must_be_healthy 3 worker
}

a_worker_is_busy() { [[ -n "$(busy_worker)" ]]; }

check_killed_worker() {
  step "a run whose worker is killed finishes elsewhere"
  local host victim
  register slow 1
  wait_until 60 a_worker_is_busy || die "no worker runs the task slow: $(tail -n 3 "$work/operator.log")" "read the logs above"
  host="$(busy_worker)"
  victim="$(containers_of worker | grep "^$host")" || die "no container has the worker $host" "read the logs above"
  "$engine" kill --signal KILL "$victim" >/dev/null
  ! is_applied slow 1 || die "the run ended before its worker was killed" "make the module slow slower"
  note "killed the worker $host in its run $(newest_run slow id)"
  must_be_applied slow 1 180
  wait_until 30 newest_run_succeeded slow || die "the newest run of slow has the status $(newest_run slow status)" "read the logs above"
  note "the run $(newest_run slow id) succeeded on another worker"
  "$engine" rm --force --volumes "$victim" >/dev/null 2>&1
}

newest_run_succeeded() { [[ "$(newest_run "$1" status)" == succeeded ]]; }

# Instances come and go until the file `stop` is there; then one known set stays.
load() {
  local number=10
  while [[ ! -e "$work/stop" ]]; do
    register web "$number" || true
    deregister web $((number - 3)) || true
    number=$((number < 200 ? number + 1 : 10))
    printf '%s\n' "$number" >"$work/changes"
    sleep 1
  done
}

check_rolling_update() {
  step "each service is replaced by a second image, under load"
  local service count container image failed
  load &
  load_pid=$!
  use_images 2
  for service in watcher scheduler worker gateway; do
    count=1
    if [[ "$service" == worker ]]; then count=3; fi
    compose_do up --detach --no-deps --force-recreate --scale "$service=$count" "$service" ||
      die "compose could not replace $service" "read the lines above"
    must_be_healthy "$count" "$service"
    for container in $(containers_of "$service"); do
      image="$("$engine" inspect --format '{{index .Config.Labels "org.opencontainers.image.version"}}' "$container")"
      [[ "$image" == 2 ]] || die "a container of $service still has the first image" "this is a bug of the script or of compose"
    done
    note "$service is replaced"
  done
  touch "$work/stop"
  wait "$load_pid" || true
  load_pid=""
  local number
  for ((number = 1; number <= 210; number++)); do
    if ((number == 1 || number == 209)); then register web "$number"; else deregister web "$number" 2>/dev/null || true; fi
  done
  must_be_applied hello "1 209" 120
  failed="$(api '/v1/runs?task=hello&status=failed' | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["runs"]))')"
  ((failed == 0)) || die "$failed runs of the task hello failed during the update" "read the logs above"
  note "$(cat "$work/changes") registrations later the last change is applied, and no run failed"
}

check_users() {
  step "nothing runs as root"
  local service container process seen=0
  for service in consul postgres watcher scheduler worker gateway prometheus; do
    for container in $(containers_of "$service"); do
      for process in $(processes_of "$container"); do
        [[ "$(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$process/status" 2>/dev/null)" != 0 ]] ||
          die "a process of $service runs as root: $(tr '\0' ' ' <"/proc/$process/cmdline")" "set its user in docker-compose.yaml"
        seen=$((seen + 1))
      done
    done
  done
  # Three of the nine containers are workers, and each container has a process at least.
  ((seen >= 9)) || die "only $seen processes of the containers were found" "this is a bug of the script"
  note "$seen processes of nine containers"
}

# The number of targets whose last scrape was successful.
healthy_targets() {
  request "http://127.0.0.1:$CTS_PROMETHEUS_PORT/api/v1/targets" 2>/dev/null |
    python3 -c 'import json, sys
print(sum(target["health"] == "up" for target in json.load(sys.stdin)["data"]["activeTargets"]))' 2>/dev/null
}

targets_are_healthy() { [[ "$(healthy_targets)" == "$1" ]]; }

check_metrics() {
  step "Prometheus scrapes every container of a service"
  compose_do --profile observability up --detach --no-deps prometheus || die "compose could not start Prometheus" "read the lines above"
  # Three workers, and one of each other service.
  wait_until 90 targets_are_healthy 6 || die "Prometheus scrapes $(healthy_targets) containers, not 6" "read the logs above"
}

# The image alone, with the command line of the original's.
check_image() {
  step "the image takes the command line of the original's image, and has no shell"
  local said
  if "$engine" run --rm --entrypoint /bin/sh "$CTS_IMAGE" -c true 2>/dev/null; then
    die "the image of the services has a shell" "leave it out"
  fi
  mkdir -p "$work/original"
  cp -R "$root/deploy/docker/modules/hello" "$work/original/hello"
  cat >"$work/original/config.hcl" <<'CONFIG'
consul {
  address = "consul:8500"
}

task {
  name   = "once"
  module = "/consul-terraform-sync/config/hello"

  condition "services" {
    names = ["web"]
  }
}
CONFIG
  chmod -R a+rX "$work/original"
  said="$("$engine" run --rm --network "${project}_control" --volume "$work/original:/consul-terraform-sync/config:ro" \
    "$CTS_WORKER_IMAGE" -once 2>&1)" || die "the image with -once failed: $(tail -n 3 <<<"$said")" "read docs/cli.md"
  must_be_applied once "1 209" 10
}

# Files of the scheduler are in no other service: neither its configuration nor the URL of its database.
check_mounts() {
  step "the files of the scheduler are in its containers alone"
  local service container mounts
  for service in consul watcher worker gateway prometheus; do
    for container in $(containers_of "$service"); do
      mounts="$("$engine" inspect --format '{{range .Mounts}}{{println .Destination}}{{end}}' "$container")"
      if grep -Eq '^/(etc/cts/scheduler|secrets)$' <<<"$mounts"; then
        die "a container of $service sees files of the scheduler: $mounts" "mount them for the scheduler alone"
      fi
    done
  done
  if "$engine" exec "$(containers_of worker | head -n 1)" find /etc/cts /secrets -name '*.hcl' -path '*scheduler*' -o -name database_url |
    grep -q .; then
    die "a worker finds files of the scheduler" "mount them for the scheduler alone"
  fi
}

# Tokens travel to the API in TLS only, and no service says otherwise.
check_tls() {
  step "the API has TLS, and no token travels in plain text"
  local service container code said
  code="$(curl --silent --noproxy '*' --max-time 10 --output /dev/null --write-out '%{http_code}' "http://localhost:$CTS_API_PORT/v1/status")"
  [[ "$code" == 400 ]] || die "a plain request is answered with $code, not 400" "give the gateway its block tls"
  said="$(for service in watcher scheduler worker gateway; do
    for container in $(containers_of "$service"); do "$engine" logs "$container" 2>&1; done
  done | sed -n 's/.*not safe: //p' | sort -u)"
  [[ "$(grep -Evc '^($|Consul on another host is asked|the database on another host|everybody on this machine can read)' <<<"$said")" == 0 ]] ||
    die "a service warns about more than deploy/README.md#compose names: $said" "make it safe, or describe it"
}

check_secrets() {
  step "no secret is in inspect, in logs or in the list of processes"
  local password container process
  password="$("$engine" exec "$(containers_of postgres)" cat /secrets/postgres_password)"
  ((${#password} >= 32)) || die "the password of the database cannot be read" "read the logs above"
  {
    for container in $("$engine" ps --all --quiet --filter "label=com.docker.compose.project=$project"); do
      "$engine" inspect "$container"
      "$engine" logs "$container" 2>&1
      for process in $(processes_of "$container" 2>/dev/null); do
        as_root cat "/proc/$process/cmdline" "/proc/$process/environ" 2>/dev/null | tr '\0' '\n'
      done
    done
    "$engine" image inspect "$CTS_IMAGE" "$CTS_WORKER_IMAGE"
    ps -e -o args
  } >"$work/shown" 2>/dev/null
  grep -q com.docker.compose "$work/shown" || die "nothing was inspected" "this is a bug of the script"
  if grep -qF -e "$password" -e "$token" "$work/shown"; then
    die "a secret is shown: $(grep -F -e "$password" -e "$token" "$work/shown" | head -n 1 | cut -c 1-120 | sed "s/$password/[password]/; s/$token/[token]/")" \
      "find the place that shows it"
  fi
}
