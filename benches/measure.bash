# What benches/compare and benches/growth share: the programs, the logs, runs in turn, and the spread of their times.
# Sourced. Needs bash 5, GNU coreutils and awk; GNU time tells peak memory. Sets nothing up and prints nothing by itself.
# shellcheck shell=bash disable=SC2034 # variables of the scripts that source this

export LC_ALL=C
here=${here:-$PWD}
target=${CARGO_TARGET_DIR:-target}
data=$target/bench-data
binary='' generator=''

# absolute PATH: as it was meant where the script was called from, which is $here.
absolute() { [[ $1 == /* ]] && printf '%s\n' "$1" || printf '%s\n' "$here/$1"; }

# Leaves the programs in $ours and $generate: those that were named, else built here.
programs() {
    if [ -z "$binary" ] || [ -z "$generator" ]; then
        cargo build --release --locked --bin crawl-baseline --example generate_logs
    fi
    ours=${binary:-$target/release/crawl-baseline}
    generate=${generator:-$target/release/examples/generate_logs}
    work=$data/work
    out=$work/out
    mkdir -p "$work"
    # What a user's environment says must not reach the runs.
    unset CRAWL_LOG_DIR UA_REGEX_FILE LOCK_FILE MAX_RPM_THRESHOLD MAX_CONCURRENCY
    export CRAWL_OUTPUT_DIR=$out
}

# times_bytes N 1G: N times as many bytes, as a number.
times_bytes() {
    local number=${2%[kMG]} factor=1
    case $2 in
    *k) factor=1000 ;;
    *M) factor=1000000 ;;
    *G) factor=1000000000 ;;
    esac
    if [[ ! $number =~ ^[0-9]+$ ]]; then
        printf '%s: %s: expected a number of bytes like 500M\n' "$0" "$2" >&2
        return 2
    fi
    awk -v n="$1" -v number="$number" -v factor="$factor" 'BEGIN { printf "%.0f\n", n * number * factor }'
}

# generated NAME OPTIONS...: makes $data/NAME.log and NAME.truth, unless they are there from the same generator and
# options.
generated() {
    local name=$1 stamp
    shift
    stamp="$(sha256sum "$generate" | cut -c1-16) $*"
    if [ "$(cat "$data/$name.stamp" 2>/dev/null)" != "$stamp" ]; then
        progress 'generating %s: %s' "$name" "$*"
        rm -f "$data/$name".*
        "$generate" "$@" --output "$data/$name.log" --truth "$data/$name.truth"
        printf '%s\n' "$stamp" >"$data/$name.stamp"
    fi
    # A log that was written to within the last minute is not mapped: nobody should wait for that.
    touch -d '1 hour ago' "$data/$name.log"
}

# packed NAME FROM COMMAND...: runs COMMAND, which leaves compressed copies of $data/FROM.log in $data/NAME, unless they
# are there.
packed() {
    local name=$1 stamp
    stamp=$(cat "$data/$2.stamp")
    if [ "$(cat "$data/$name/.stamp" 2>/dev/null)" != "$stamp" ]; then
        progress 'compressing %s' "$name"
        rm -rf "${data:?}/$name"
        mkdir -p "$data/$name"
        "${@:3}"
        printf '%s\n' "$stamp" >"$data/$name/.stamp"
    fi
}

size() { stat -c %s "$1"; }

# timed OUTPUT COMMAND...: runs it; leaves seconds of wall time in $elapsed and its peak in $kibibytes (0: not known).
timed() {
    local output=$1 start end status=0
    shift
    start=$EPOCHREALTIME
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -o "$work/time" -f %M -- "$@" >"$output" 2>"$work/stderr" || status=$?
    else
        "$@" >"$output" 2>"$work/stderr" || status=$?
    fi
    end=$EPOCHREALTIME
    elapsed=$((${end/./} - ${start/./}))
    elapsed=$(printf '%d.%06d' $((elapsed / 1000000)) $((elapsed % 1000000)))
    kibibytes=0
    [ ! -x /usr/bin/time ] || kibibytes=$(tail -n 1 "$work/time")
    return "$status"
}

# spread COLUMN FILE: minimum, median and maximum. Of an even number, the mean of the two in the middle.
spread() {
    cut -d' ' -f"$1" "$2" | sort -g | awk '{ v[NR] = $1 }
        END { printf "%.6f %.6f %.6f\n", v[1], (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2, v[NR] }'
}

# progress FORMAT VALUES...: on a terminal, in place of what it said before.
progress() {
    if [ -t 2 ]; then
        # shellcheck disable=SC2059 # the format is the caller's
        printf '\r\e[K'"$1" "${@:2}" >&2
    fi
}

failed() {
    printf '%s: failed: %s\n' "$0" "$*" >&2
    cat "$work/stderr" >&2
    exit 1
}

# agrees NAME: whether the baseline of the last run says what was generated.
agrees() { "$generate" --truth "$data/$1.truth" --check "$work/baseline.json" 2>"$work/stderr"; }

# The machine and the version, on one line.
machine() {
    printf '%s, %s, %s cores, %s, %s\n' "$("$ours" --version)" "$(uname -srm)" "$(nproc)" \
        "$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo 2>/dev/null || true)" "$(date -u +%F)"
}
