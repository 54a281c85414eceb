# The container engine of scripts/compose-test: Docker where its daemon runs, else Debian's Podman. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of the caller, and for it
#
# Podman runs without systemd and without a registry: images that cannot be pulled are made of Debian's packages, and
# have names below localhost/offline, and are kept in the cache. `containers_work` is a directory for generated files, set
# by the caller.

podman_compose_version=1.5.0
images_file="$root/deploy/docker/images.env"

# image_of VARIABLE: name of an image in deploy/docker/images.env, with its digest if there is one.
image_of() { sed -n "s/^$1=//p" "$images_file"; }

debian_image="$(image_of DEBIAN_IMAGE)"
rust_image="$(image_of RUST_IMAGE)"
consul_image="$(image_of CONSUL_IMAGE)"
postgres_image="$(image_of POSTGRES_IMAGE)"
prometheus_image="$(image_of PROMETHEUS_IMAGE)"

engine=""
compose=()
images_dir="${tools_dir%/*}/images"

# Reason why this machine cannot run containers. Empty if the reason is a fault of the scripts.
no_containers=""

# setup_containers: sets `engine` (docker or podman) and `compose`, the command of compose files.
setup_containers() {
  if have docker && docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; then
    engine=docker
    compose=(docker compose)
    note "containers: Docker"
    return 0
  fi
  if ((EUID != 0)); then
    no_containers="Docker does not run here, and Podman needs root"
    return 1
  fi
  if ! have podman || ! have runc; then
    (apt_install podman runc netavark aardvark-dns iptables uidmap) || {
      no_containers="there is no container engine, and none can be installed"
      return 1
    }
  fi
  local python
  python="$(python_tool podman-compose "$podman_compose_version" "python -m podman_compose")" || return 1
  engine=podman
  compose=("$python")
  # No systemd manages groups or timers here, and limits of this process bound those of containers.
  cat >"$containers_work/containers.conf" <<'CONF'
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
  export CONTAINERS_CONF="$containers_work/containers.conf"
  podman info >/dev/null 2>&1 || {
    podman info >&2
    no_containers="Podman does not run here"
    return 1
  }
  note "containers: Podman with podman-compose $podman_compose_version"
}

# build_image NAME CONTEXT ARGUMENT...: builds an image; its output is shown when it fails.
build_image() {
  local name="$1" context="$2" build=(docker build)
  shift 2
  if [[ "$engine" == podman ]]; then build=(podman build --isolation chroot); fi
  step "building the image $name"
  quietly "$containers_work/build.log" "${build[@]}" --network host --tag "$name" "$@" "$context"
}

# is_stored IMAGE
is_stored() { "$engine" image inspect "$1" >/dev/null 2>&1; }

# can_have IMAGE: the image is stored here, or can be pulled.
can_have() { is_stored "$1" || timeout 60 "$engine" pull --quiet "$1" >/dev/null 2>&1; }

# base_image VARIABLE FUNCTION: gets the image that the variable names. If it cannot be pulled, the function makes an
# image in its place, and the variable names that. Docker always pulls.
base_image() {
  local -n chosen_image="$1"
  local make="$2" wanted="${!1}"
  if can_have "$wanted"; then return 0; fi
  [[ "$engine" == podman ]] || {
    note "Docker cannot pull $wanted"
    return 1
  }
  wanted="${wanted%@*}"
  chosen_image="localhost/offline/${wanted##*/}"
  note "$wanted cannot be pulled: $chosen_image is made offline in its place"
  if is_stored "$chosen_image"; then return 0; fi
  local kept
  kept="$(kept_image "$chosen_image")"
  if [[ -f "$kept" ]] && gzip --decompress --stdout "$kept" | podman load --quiet >/dev/null && is_stored "$chosen_image"; then
    return 0
  fi
  step "making $chosen_image"
  "$make" || return 1
  # The toolchain is on this machine anyway.
  [[ "$make" == make_rust ]] || keep_image "$chosen_image" "$kept"
}

# kept_image IMAGE: path of an image that an earlier run has made as this one does.
kept_image() {
  local name="${1##*/}" key
  key="$({ cat "$root/scripts/containers.sh" && "$CTS_TEST_CONSUL" version; } | sha256sum | cut -c 1-16)"
  printf '%s/%s-%s.tar.gz' "$images_dir" "${name//:/-}" "$key"
}

# keep_image IMAGE FILE: a run without space for the file goes on.
keep_image() {
  local incoming
  mkdir -p "$images_dir" && rm -f "${2%-*}"-*.tar.gz && incoming="$(mktemp "$images_dir/.incoming.XXXXXX")" || return 0
  if podman save "$1" 2>/dev/null | gzip -1 >"$incoming"; then mv "$incoming" "$2"; else rm -f "$incoming"; fi
}

make_debian() {
  have debootstrap || apt_install debootstrap
  local directory="$containers_work/debian"
  quietly "$containers_work/debootstrap.log" as_root debootstrap --variant=minbase bookworm "$directory" "$(debian_mirror)" || return 1
  as_root tar -C "$directory" -c . | podman import --change 'CMD ["bash"]' - "$debian_image" >/dev/null
  as_root rm -rf "$directory"
}

debian_mirror() {
  local mirror
  mirror="$(debian_mirrors | head -n 1)"
  printf '%s' "${mirror:-http://deb.debian.org/debian}"
}

# The toolchain of this machine, in the place of the official image.
make_rust() {
  local context="$containers_work/rust" toolchain
  toolchain="$(cd "$root" && rustc --print sysroot)" || return 1
  mkdir -p "$context"
  cp -RL "$toolchain" "$context/toolchain"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $debian_image
COPY toolchain /usr/local/toolchain
ENV PATH=/usr/local/toolchain/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CARGO_HOME=/usr/local/cargo
DOCKERFILE
  build_image "$rust_image" "$context" || return 1
  rm -rf "$context"
}

make_consul() {
  local context="$containers_work/consul"
  mkdir -p "$context"
  cp "$CTS_TEST_CONSUL" "$context/consul"
  printf 'FROM %s\nCOPY consul /usr/local/bin/consul\n' "$debian_image" >"$context/Dockerfile"
  build_image "$consul_image" "$context" || return 1
  rm -rf "$context"
}

# Debian's Postgres, with the variables of the official image that docker-compose.yaml uses.
make_postgres() {
  local context="$containers_work/postgres"
  mkdir -p "$context"
  cat >"$context/entrypoint" <<'SCRIPT'
#!/bin/sh
set -eu
PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
PGDATA=/var/lib/postgresql/data/pgdata
export PGDATA
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 --encoding=UTF8 >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
  PGPASSWORD="$(cat "$POSTGRES_PASSWORD_FILE")" createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -w -m fast stop >/dev/null
fi
exec postgres -c 'listen_addresses=*'
SCRIPT
  chmod 0755 "$context/entrypoint"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $debian_image
RUN apt-get update -q && \\
    apt-get install -y -q --no-install-recommends postgresql-common && \\
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf && \\
    apt-get install -y -q --no-install-recommends postgresql && \\
    usermod --uid 999 postgres && groupmod --gid 999 postgres && \\
    install -d -m 1777 -o 999 -g 999 /var/lib/postgresql/data /var/run/postgresql
COPY entrypoint /usr/local/bin/entrypoint
ENTRYPOINT ["/usr/local/bin/entrypoint"]
DOCKERFILE
  build_image "$postgres_image" "$context" || return 1
  rm -rf "$context"
}

make_prometheus() {
  local context="$containers_work/prometheus"
  mkdir -p "$context"
  cat >"$context/Dockerfile" <<DOCKERFILE
FROM $debian_image
RUN apt-get update -q && apt-get install -y -q --no-install-recommends prometheus
ENTRYPOINT ["/usr/bin/prometheus"]
DOCKERFILE
  build_image "$prometheus_image" "$context" || return 1
  rm -rf "$context"
}

# --- containers ----------------------------------------------------------------------------------

# containers_of SERVICE: ids of the running containers of a service of the project.
containers_of() {
  "$engine" ps --quiet --no-trunc --filter "label=com.docker.compose.project=$project" \
    --filter "label=com.docker.compose.service=$1"
}

# is_healthy CONTAINER: Docker looks by itself. Podman needs timers of systemd for that, which are not here.
is_healthy() {
  if [[ "$engine" == docker ]]; then
    [[ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" == healthy ]]
  else
    podman healthcheck run "$1" >/dev/null 2>&1
  fi
}

# processes_of CONTAINER: ids, on this machine, of the processes of a container.
processes_of() {
  local main namespace entry
  main="$("$engine" inspect --format '{{.State.Pid}}' "$1")" || return 1
  namespace="$(as_root readlink "/proc/$main/ns/pid")" || return 1
  for entry in /proc/[0-9]*; do
    if [[ "$(as_root readlink "$entry/ns/pid" 2>/dev/null)" == "$namespace" ]]; then printf '%s\n' "${entry#/proc/}"; fi
  done
}
