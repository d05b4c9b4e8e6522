# Finds everything Plumb needs. All that is missing is reported at once, with the Debian package that
# brings it and the variable that names its place elsewhere.

set(plumb_missing "")

# plumb_need(<is found> <what> <Debian package> <how to name it>)
macro(plumb_need found what package hint)
    if(NOT ${found})
        list(APPEND plumb_missing "${what}: Debian package ${package}, elsewhere ${hint}")
    endif()
endmacro()

set(MPI_CXX_SKIP_MPICXX ON) # the C interface only
find_package(MPI QUIET COMPONENTS CXX)
plumb_need(MPI_CXX_FOUND "MPI (3.1 or later, C interface)" "libopenmpi-dev openmpi-bin (or libmpich-dev mpich)"
           "-DMPI_HOME=<prefix> or -DMPI_CXX_COMPILER=<mpicxx> -DMPIEXEC_EXECUTABLE=<mpiexec>")

find_package(Threads QUIET)
plumb_need(Threads_FOUND "Threads" "libc6-dev" "-DCMAKE_CXX_FLAGS=-pthread")

find_package(Eigen3 3.3 QUIET CONFIG)
plumb_need(Eigen3_FOUND "Eigen 3" "libeigen3-dev" "-DEigen3_DIR=<dir of Eigen3Config.cmake>")

find_package(fmt 9 QUIET CONFIG)
plumb_need(fmt_FOUND "fmt 9 or later" "libfmt-dev" "-Dfmt_DIR=<dir of fmt-config.cmake>")

find_package(nlohmann_json 3 QUIET CONFIG)
plumb_need(nlohmann_json_FOUND "nlohmann-json 3" "nlohmann-json3-dev"
           "-Dnlohmann_json_DIR=<dir of nlohmann_jsonConfig.cmake>")

find_package(CLI11 2 QUIET CONFIG)
plumb_need(CLI11_FOUND "CLI11 2" "libcli11-dev" "-DCLI11_DIR=<dir of CLI11Config.cmake>")

find_package(PlumbDLPack QUIET)
plumb_need(PlumbDLPack_FOUND "DLPack header (dlpack/dlpack.h)" "libdlpack-dev"
           "-DPLUMB_DLPACK_INCLUDE_DIR=<dir that holds dlpack/dlpack.h>")

if(PLUMB_BUILD_TESTS)
    find_package(doctest 2.4 QUIET CONFIG)
    plumb_need(doctest_FOUND "doctest 2.4 (for the tests)" "doctest-dev"
               "-Ddoctest_DIR=<dir of doctestConfig.cmake> or -DPLUMB_BUILD_TESTS=OFF")
endif()

if(plumb_missing)
    list(JOIN plumb_missing "\n  * " plumb_missing)
    message(FATAL_ERROR "Plumb cannot be configured, these are missing:\n  * ${plumb_missing}\n"
                        "On Debian and Ubuntu, scripts/setup installs them. -DCMAKE_PREFIX_PATH=<prefix> "
                        "names the place of all CMake packages at once.")
endif()
include(PlumbMpi)
