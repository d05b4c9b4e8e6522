#!/bin/sh
# Writes the first ```cpp block of README's third "## " section to a file. Usage: extract.sh README OUTPUT
set -eu

awk '
/^```/ {
    if (fenced) { if (wanted) done = 1; fenced = wanted = 0 }
    else { fenced = 1; wanted = /^```cpp/ && section == 3 && !done }
    next
}
wanted { print; next }
!fenced && /^## / { ++section }
END { if (!done) { print "no ```cpp block in the third section" > "/dev/stderr"; exit 1 } }
' "$1" >"$2.part"
mv "$2.part" "$2"
