#!/bin/sh
# Enforces the order of the layers. Usage: check.sh ROOT
#
# In every .h and .cpp of ROOT/include/plumb and ROOT/lib:
#   * an include names a file of the same or a lower layer;
#   * core, memory and tensor, and the files listed in mpi_free.txt, reach no MPI header, directly or through
#     what they include;
#   * conditional compilation stands only in the files listed in conditional.txt.
# Prints one line "file:line: message" per violation; exit code 1 if there is any.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$1"

find include/plumb lib -name '*.h' -o -name '*.cpp' -o -name '*.cu' | LC_ALL=C sort |
    awk -v mpi_free_list="$here/mpi_free.txt" -v conditional_list="$here/conditional.txt" '
function read_list(file, list,    line) {
    while ((getline line < file) > 0) {
        sub(/#.*/, "", line)
        gsub(/[ \t]/, "", line)
        if (line != "") list[line] = 1
    }
    close(file)
}

# The patterns are shell-like: only * is special.
function listed(file, list,    pattern, regex) {
    for (pattern in list) {
        regex = pattern
        gsub(/\./, "[.]", regex)
        gsub(/\*/, "[^/]*", regex)
        if (file ~ ("^" regex "$")) return 1
    }
    return 0
}

function layer_of(file,    parts) {
    split(file, parts, "/")
    return parts[1] == "include" ? parts[3] : parts[2]
}

function complain(file, line, message) {
    print file ":" line ": " message
    ++violations
}

# Where an include points within the tree, or "".
function target_of(text) {
    if (text ~ /^<plumb\//) return "include/" substr(text, 2, length(text) - 2)
    if (text ~ /^"plumb\//) return "include/" substr(text, 2, length(text) - 2)
    if (text ~ /^".*\/.*"$/) return "lib/" substr(text, 2, length(text) - 2)
    return ""
}

function scan(file,    line, number, text, target) {
    number = 0
    while ((getline line < file) > 0) {
        ++number
        if (line ~ /^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)/ && !listed(file, conditional)) {
            complain(file, number, "conditional compilation (the files that may are in tests/layers/conditional.txt)")
        }
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
        text = line
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
        sub(/[ \t]*\/\/.*/, "", text)
        sub(/[ \t]+$/, "", text)
        if (text ~ /^[<"]mpi(-ext)?\.h[>"]$/) {
            mpi_line[file] = number
            continue
        }
        target = target_of(text)
        if (target == "") {
            if (text ~ /^"/) complain(file, number, "include " text " has no layer: write \"layer/name.h\"")
            continue
        }
        includes[file] = includes[file] " " target
        include_line[file, target] = number
        check_order(file, number, target)
    }
    close(file)
}

function check_order(file, number, target,    from, to) {
    from = layer_of(file)
    to = layer_of(target)
    if (!(to in height)) {
        complain(file, number, "include of " target ", which is in no layer")
    } else if (height[to] > height[from]) {
        complain(file, number, from " includes upward: " target)
    }
}

# A path from `file` to an MPI header, or "".
function way_to_mpi(file,    n, i, next_files, way) {
    if (file in known_way) return known_way[file]
    known_way[file] = ""
    if (file in mpi_line) return known_way[file] = file ":" mpi_line[file]
    n = split(includes[file], next_files, " ")
    for (i = 1; i <= n; ++i) {
        way = way_to_mpi(next_files[i])
        if (way != "") return known_way[file] = file ":" include_line[file, next_files[i]] " > " way
    }
    return ""
}

BEGIN {
    n = split("core mpi memory tensor context comm ops oracle cli", order, " ")
    for (i = 1; i <= n; ++i) height[order[i]] = i
    height["plumb.h"] = height["cli"]  # the header of everything, for users: no layer below may include it
    read_list(mpi_free_list, mpi_free)
    read_list(conditional_list, conditional)
}

{
    files[++count] = $0
    if (!(layer_of($0) in height)) complain($0, 1, "stands in no layer")
    else scan($0)
}

END {
    for (i = 1; i <= count; ++i) {
        if (layer_of(files[i]) !~ /^(core|memory|tensor)$/ && !listed(files[i], mpi_free)) continue
        way = way_to_mpi(files[i])
        if (way == "") continue
        split(way, first, /[: ]/)
        complain(files[i], first[2], "must not know MPI, but reaches it: " way)
    }
    if (count == 0) complain("include/plumb", 1, "no source found")
    exit violations > 0
}'
