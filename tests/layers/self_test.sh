#!/bin/sh
# Proves that check.sh finds what it is for: plants one violation at a time. Usage: self_test.sh WORK_DIR
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root="$1/a tree"
failures=0

# A small tree without a violation.
plant_clean() {
    rm -rf "$root"
    mkdir -p "$root/include/plumb/core" "$root/include/plumb/mpi" "$root/include/plumb/oracle" "$root/lib/core" \
        "$root/lib/comm" "$root/lib/tensor" "$root/lib/oracle"
    echo '#pragma once' >"$root/include/plumb/core/error.h"
    printf '#pragma once\n#include <mpi.h>\n#include <plumb/core/error.h>\n' >"$root/include/plumb/mpi/check.h"
    printf '#include "comm/plan.h"\n#include <plumb/mpi/check.h>\n#include <vector>\n' >"$root/lib/comm/plan.cpp"
    echo '#pragma once' >"$root/lib/comm/plan.h"
    echo '#include <plumb/core/error.h>' >"$root/lib/tensor/view.cpp"
}

# expect NAME STATUS TEXT: the check of the tree ends with STATUS and prints TEXT.
expect() {
    status=0
    output=$(sh "$here/check.sh" "$root" 2>&1) || status=$?
    case "$output" in
        *"$3"*) found=yes ;;
        *) found=no ;;
    esac
    if [ "$status" -ne "$2" ] || [ "$found" = no ]; then
        echo "FAILED $1: status $status, expected $2 and '$3'; printed: $output"
        failures=$((failures + 1))
    fi
}

plant_clean
expect "a clean tree" 0 ""

plant_clean
printf '#pragma once\n\n#include <plumb/mpi/check.h>\n' >"$root/include/plumb/core/error.h"
expect "upward include" 1 "include/plumb/core/error.h:3: core includes upward: include/plumb/mpi/check.h"

plant_clean
echo '#  include "comm/plan.h"  // planted' >"$root/lib/tensor/view.cpp"
expect "upward include of a private header" 1 "lib/tensor/view.cpp:1: tensor includes upward: lib/comm/plan.h"

plant_clean
echo '#include <mpi.h>' >"$root/lib/tensor/view.cpp"
expect "MPI in tensor" 1 "lib/tensor/view.cpp:1: must not know MPI"

plant_clean
echo '#include <plumb/mpi/check.h>' >"$root/lib/tensor/view.cpp"
expect "MPI reached from tensor" 1 \
    "must not know MPI, but reaches it: lib/tensor/view.cpp:1 > include/plumb/mpi/check.h:2"

plant_clean
echo '#include "comm/plan.h"' >"$root/lib/oracle/reference_halo.cpp"
echo '#include <plumb/mpi/check.h>' >"$root/lib/comm/plan.h"
expect "MPI reached from the serial reference" 1 \
    "must not know MPI, but reaches it: lib/oracle/reference_halo.cpp:1 > lib/comm/plan.h:1 > include/plumb/mpi/check.h:2"

plant_clean
printf 'int x;\n#ifdef OPEN_MPI\n#endif\n' >"$root/lib/comm/plan.cpp"
expect "conditional compilation" 1 "lib/comm/plan.cpp:2: conditional compilation"

plant_clean
echo '#include "plan.h"' >"$root/lib/comm/plan.cpp"
expect "include without a layer" 1 'lib/comm/plan.cpp:1: include "plan.h" has no layer'

plant_clean
mkdir "$root/lib/extras" && echo >"$root/lib/extras/x.cpp"
expect "file outside the layers" 1 "lib/extras/x.cpp:1: stands in no layer"

plant_clean
echo '#include <plumb/mpi/check.h>' >"$root/include/plumb/plumb.h"
expect "the header of everything" 0 ""
echo '#include <plumb/plumb.h>' >"$root/lib/comm/plan.cpp"
expect "the header of everything included" 1 "lib/comm/plan.cpp:1: comm includes upward: include/plumb/plumb.h"

rm -rf "$root" && mkdir -p "$root/lib" "$root/include/plumb"
expect "nothing to check" 1 "no source found"

[ "$failures" -eq 0 ]
