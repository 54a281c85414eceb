# Functions shared by scripts/setup, scripts/demo and scripts/test. Sourced, never run.
# shellcheck shell=bash
#
# Conventions: progress and errors go to standard error, results to standard output. A function that
# may be called in a condition reports failure by its return code and says why itself, because
# `set -e` does not act there.

cts_script_name="${0##*/}"

# scripts/test names the scripts that nothing has run: each one that runs leaves a file with its name.
if [[ -d "${CTS_TEST_SCRIPTS_RUN:-}" ]]; then : >"$CTS_TEST_SCRIPTS_RUN/$cts_script_name"; fi

step() { printf '==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }

cts_last_error=""

# die WHAT NEXT: ends the script with what went wrong (and where), and what to do about it.
die() {
  printf -v cts_last_error 'scripts/%s: error: %s\n    next: %s' "$cts_script_name" "$1" "$2"
  printf '%s\n' "$cts_last_error" >&2
  exit 1
}

# Microseconds since the epoch. The radix character of EPOCHREALTIME depends on the locale.
now_us() { printf '%s' "${EPOCHREALTIME//[^0-9]/}"; }

# seconds_since START_US: seconds with one decimal.
seconds_since() {
  local elapsed=$(($(now_us) - $1))
  printf '%d.%d s' $((elapsed / 1000000)) $((elapsed % 1000000 / 100000))
}

have() { command -v "$1" >/dev/null 2>&1; }

# first_match PATTERN: the first existing path.
first_match() {
  local matches
  mapfile -t matches < <(compgen -G "$1")
  ((${#matches[@]} > 0)) && printf '%s' "${matches[0]}"
}

# version_in_range VERSION MINIMUM [MAXIMUM]: numbers with dots, both ends included.
version_in_range() {
  local version="$1" minimum="$2" maximum="${3:-$1}"
  [[ "$(printf '%s\n' "$minimum" "$version" "$maximum" | sort -V | tr '\n' ' ')" == "$minimum $version $maximum " ]]
}

# wait_until SECONDS COMMAND...: polls until the command succeeds; 1 when the time is over.
wait_until() {
  local deadline=$(($(now_us) + $1 * 1000000))
  shift
  until "$@"; do
    if (($(now_us) >= deadline)); then return 1; fi
    sleep 0.1
  done
}

# --- privileges and packages -------------------------------------------------------------------

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    note "this needs root and there is no sudo: $*"
    return 1
  fi
}

# apt_install PACKAGE...: installs from the distribution, with a fresh package list if need be.
apt_install() {
  if ! have apt-get; then
    die "missing on this machine, and there is no apt-get to install it: $*" \
      "install these packages (names as in Debian) by hand and run this again"
  fi
  step "installing $* with apt-get"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@")
  if as_root "${install[@]}" >/dev/null 2>&1; then return 0; fi
  if as_root apt-get update -q >&2 && as_root "${install[@]}" >&2; then return 0; fi
  die "apt-get could not install: $*" "read apt-get's messages above, install by hand, run this again"
}

# --- the environment of what we start ----------------------------------------------------------

# A TF_CLI_CONFIG_FILE that names a missing file makes every Terraform command print a warning.
drop_stale_terraform_config() {
  if [[ -n "${TF_CLI_CONFIG_FILE:-}" && ! -e "$TF_CLI_CONFIG_FILE" ]]; then
    note "TF_CLI_CONFIG_FILE names the missing file $TF_CLI_CONFIG_FILE: unset for this run"
    unset TF_CLI_CONFIG_FILE
  fi
}

# Nothing of the caller's Consul, Vault, Terraform or cts may leak into what we start: a token or an
# address would reach a foreign cluster, and cts refuses some of the TF_ names.
isolate_environment() {
  local name
  while read -r name; do
    case "$name" in
    CONSUL_* | VAULT_* | TFC_* | CTS_ADDRESS | CTS_DATABASE_URL | CTS_DATABASE_URL_FILE | CTS_CACERT | CTS_CAPATH | CTS_CLIENT_* | CTS_SSL_VERIFY | TF_VAR_* | TF_CLI_ARGS* | TF_INPUT | TF_IN_AUTOMATION | TF_LOG* | TF_WORKSPACE | \
      TF_DATA_DIR | TF_REATTACH_PROVIDERS | TF_APPEND_USER_AGENT | TF_DISABLE_PLUGIN_TLS | TF_SKIP_PROVIDER_VERIFY)
      unset "$name"
      ;;
    esac
  done < <(compgen -e)
  drop_stale_terraform_config
  local direct="${NO_PROXY:-${no_proxy:-}}"
  direct="${direct:+$direct,}127.0.0.1,localhost"
  export NO_PROXY="$direct" no_proxy="$direct"
  export CHECKPOINT_DISABLE=1
}

# --- ports -------------------------------------------------------------------------------------

declare -A cts_ports_given=()

# port_is_free PORT: no TCP or UDP socket on this machine uses it.
port_is_free() {
  local hex
  printf -v hex '%04X' "$1"
  ! grep -qs ":$hex " /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6
}

# pick_port NAME: stores a free port in the variable NAME. Below the ephemeral range, so that no
# outgoing connection takes it in the meantime; never the same twice in one run.
pick_port() {
  local -n port_result="$1"
  local candidate
  for _ in {1..200}; do
    candidate=$((20000 + RANDOM % 12000))
    if [[ -z "${cts_ports_given[$candidate]:-}" ]] && port_is_free "$candidate"; then
      cts_ports_given[$candidate]=1
      # shellcheck disable=SC2034 # a reference to the caller's variable
      port_result="$candidate"
      return 0
    fi
  done
  die "no free port between 20000 and 31999 after 200 tries" "see what listens there with: ss -lntu"
}

# --- processes ---------------------------------------------------------------------------------

# processes_below DIRECTORY: one line "PID COMMAND LINE" for every living process whose command
# line, executable, current directory or TMPDIR lies in the directory. (A compiler cache's server
# outlives every build by design; it is not ours.)
processes_below() {
  local directory="$1" entry pid
  for entry in /proc/[0-9]*; do
    pid="${entry#/proc/}"
    [[ "$pid" != "$$" && "$pid" != "$BASHPID" ]] || continue
    [[ "$(cat "$entry/comm" 2>/dev/null)" != sccache ]] || continue
    if [[ "$(readlink "$entry/cwd" 2>/dev/null)/" == "$directory/"* ]] ||
      [[ "$(readlink "$entry/exe" 2>/dev/null)" == "$directory/"* ]] ||
      grep -qsaF -- "$directory" "$entry/cmdline" ||
      grep -qsazxF -- "TMPDIR=$directory" "$entry/environ"; then
      # A zombie has neither and is nobody's burden.
      printf '%s %s\n' "$pid" "$({ tr '\0' ' ' <"$entry/cmdline"; } 2>/dev/null)"
    fi
  done
}

no_processes_below() { [[ -z "$(processes_below "$1")" ]]; }

process_is_gone() { ! kill -0 "$1" 2>/dev/null; }

# stop_process PID SECONDS: SIGTERM, and SIGKILL when the time is over (then returns 1).
stop_process() {
  local pid="$1" patience="$2"
  kill -TERM "$pid" 2>/dev/null || return 0
  if wait_until "$patience" process_is_gone "$pid"; then return 0; fi
  kill -KILL "$pid" 2>/dev/null || true
  wait_until 5 process_is_gone "$pid" || true
  return 1
}

# stop_processes_below DIRECTORY: ends what processes_below lists, each by its id.
stop_processes_below() {
  local pid
  while read -r pid _; do
    stop_process "$pid" 5 || true
  done < <(processes_below "$1")
}
