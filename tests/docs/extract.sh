#!/bin/sh
# Makes a test case of every ```cpp block of the pages. Usage: extract.sh OUTPUT PAGE…
#
# A comment line in a block says what is checked there:
#   // EXPRESSION on every rank: TEXT
#   // EXPRESSION on rank 1: TEXT
# TEXT is what plumb::test::text_of (example.h) makes of the expression. A page without such a line is an error.
set -eu

output=$1
shift
{
    printf '%s\n\n' '#include "docs/example.h"'
    for page in "$@"; do
        awk -v page="$page" -v name="$(basename "$page")" '
        function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }
        /^```/ && inside { print "}\n"; inside = 0; next }
        /^```cpp/ {
            inside = 1
            printf "TEST_CASE(%s) {\n", quoted(name ", line " FNR)
            print "    const plumb::test::Example example;"
            print "    [[maybe_unused]] const plumb::Group& group = example.group();"
            print "    [[maybe_unused]] const int rank = group.rank().value;"
            printf "#line %d %s\n", FNR + 1, quoted(page)
            next
        }
        /^```/ { other = !other; next }
        inside && match($0, /^ *\/\/ .+ on (every rank|rank [0-9]+): /) {
            ++checks
            said = substr($0, RLENGTH + 1)
            head = substr($0, 1, RLENGTH - 2)
            sub(/^ *\/\/ /, "", head)
            match(head, / on (every rank|rank [0-9]+)$/)
            expression = substr(head, 1, RSTART - 1)
            where = substr(head, RSTART)
            rank = where ~ /every/ ? "" : where
            sub(/^ on rank /, "", rank)
            if (rank != "") printf "if (rank == %s) ", rank
            printf "CHECK(plumb::test::text_of(%s) == %s);\n", expression, quoted(said)
            next
        }
        inside { print }
        END {
            if (inside) { print page ": an example does not end" > "/dev/stderr"; exit 1 }
            if (!checks) { print page ": no example says what comes out" > "/dev/stderr"; exit 1 }
        }' "$page"
    done
} >"$output.part"
mv "$output.part" "$output"
