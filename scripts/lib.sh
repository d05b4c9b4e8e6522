# Sourced by the other scripts (bash): places, job counts, and the one place in the scripts that knows how the
# launchers of the MPI libraries differ.

plumb_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*"; }

# ends the script: die EXIT_CODE MESSAGE…
die() {
    local code=$1
    shift
    printf 'error: %s\n' "$*" >&2
    exit "$code"
}

# Cores this process may use, or PLUMB_JOBS.
plumb_jobs() {
    if [ -n "${PLUMB_JOBS:-}" ]; then
        printf '%s\n' "$PLUMB_JOBS"
    else
        nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
    fi
}

# Ranks that a launcher starts without being told to oversubscribe: the cores (not hardware threads) this
# process may use, or what the batch system gave.
plumb_slots() {
    local slots cores
    slots=$(plumb_jobs)
    cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l)
    if [ "$cores" -gt 0 ] && [ "$cores" -lt "$slots" ]; then slots=$cores; fi
    printf '%s\n' "${SLURM_NTASKS:-${PBS_NP:-$slots}}"
}

# The launcher: PLUMB_MPIEXEC, or that of MPI_HOME, or the first on PATH.
plumb_mpiexec() {
    if [ -n "${PLUMB_MPIEXEC:-}" ]; then
        printf '%s\n' "$PLUMB_MPIEXEC"
    elif [ -n "${MPI_HOME:-}" ] && [ -x "$MPI_HOME/bin/mpiexec" ]; then
        printf '%s\n' "$MPI_HOME/bin/mpiexec"
    else
        command -v mpiexec || command -v mpirun || die 2 "no mpiexec found: set MPI_HOME or PLUMB_MPIEXEC"
    fi
}

# The launcher that a build directory was configured with.
plumb_mpiexec_of_build() {
    sed -n 's/^MPIEXEC_EXECUTABLE:[^=]*=//p' "$1/CMakeCache.txt"
}

# plumb_mpirun RANKS PROGRAM ARG…: runs under the launcher, with the flags that this launcher, this user and
# this number of cores need, and no longer than PLUMB_RUN_LIMIT seconds (default 1800).
plumb_mpirun() {
    local ranks=$1 launcher flags=()
    shift
    launcher=$(plumb_mpiexec)
    case "$("$launcher" --version 2>&1)" in
        *OpenRTE* | *"Open MPI"* | *PRRTE* | *prte*)
            if [ "$(id -u)" -eq 0 ]; then flags+=(--allow-run-as-root); fi
            if [ "$ranks" -gt "$(plumb_slots)" ]; then flags+=(--oversubscribe); fi
            ;;
    esac
    timeout --kill-after=10 "${PLUMB_RUN_LIMIT:-1800}" "$launcher" ${flags[@]+"${flags[@]}"} -n "$ranks" "$@"
}

# plumb_configure PRESET ARG…: configures build/PRESET, quietly where nothing changed.
plumb_configure() {
    local preset=$1
    shift
    (cd "$plumb_root" && cmake --preset "$preset" "$@")
}

# plumb_build DIR ARG…
plumb_build() {
    local dir=$1
    shift
    cmake --build "$dir" --parallel "$(plumb_jobs)" "$@"
}
