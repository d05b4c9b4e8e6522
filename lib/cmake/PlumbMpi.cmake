# Which MPI this is, and how its launcher is called. Everything that differs between MPI libraries in the
# build stands here (scripts/lib.sh holds the same for the scripts).
# Sets PLUMB_MPI_NAME ("Open MPI", "MPICH" or "unknown MPI"), PLUMB_MPIEXEC_FLAGS (for any number of ranks)
# and PLUMB_MPI_TEST_ENV (environment for jobs that share the cores with others).
include(CheckCXXSymbolExists)

function(plumb_name_of_mpi out)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
    set(CMAKE_REQUIRED_QUIET ON)
    check_cxx_symbol_exists(OPEN_MPI mpi.h PLUMB_MPI_IS_OPEN_MPI)
    check_cxx_symbol_exists(MPICH_VERSION mpi.h PLUMB_MPI_IS_MPICH)
    if(PLUMB_MPI_IS_OPEN_MPI)
        set(${out} "Open MPI" PARENT_SCOPE)
    elseif(PLUMB_MPI_IS_MPICH)
        set(${out} "MPICH" PARENT_SCOPE)
    else()
        set(${out} "unknown MPI" PARENT_SCOPE)
    endif()
endfunction()

function(plumb_name_of_launcher launcher out)
    set(${out} "unknown MPI" PARENT_SCOPE)
    if(launcher)
        execute_process(COMMAND ${launcher} --version OUTPUT_VARIABLE version ERROR_VARIABLE version TIMEOUT 20)
        if(version MATCHES "Open ?MPI|OpenRTE|PRRTE|prte")
            set(${out} "Open MPI" PARENT_SCOPE)
        elseif(version MATCHES "HYDRA|MPICH")
            set(${out} "MPICH" PARENT_SCOPE)
        endif()
    endif()
endfunction()

plumb_name_of_mpi(PLUMB_MPI_NAME)
plumb_name_of_launcher("${MPIEXEC_EXECUTABLE}" plumb_launcher_name)

# A compiler wrapper of one MPI and the default launcher of another start n jobs of one rank each: take the
# launcher of the same name suffix instead, or refuse.
if(NOT plumb_launcher_name STREQUAL PLUMB_MPI_NAME)
    string(TOLOWER "${PLUMB_MPI_NAME}" plumb_suffix)
    string(REPLACE " " "" plumb_suffix "${plumb_suffix}")
    find_program(PLUMB_MPIEXEC NAMES mpiexec.${plumb_suffix} mpirun.${plumb_suffix})
    mark_as_advanced(PLUMB_MPIEXEC)
    plumb_name_of_launcher("${PLUMB_MPIEXEC}" plumb_launcher_name)
    if(plumb_launcher_name STREQUAL PLUMB_MPI_NAME)
        set(MPIEXEC_EXECUTABLE ${PLUMB_MPIEXEC} CACHE FILEPATH "Executable for running MPI programs" FORCE)
    elseif(NOT PLUMB_MPI_NAME STREQUAL "unknown MPI")
        message(WARNING "The MPI library is ${PLUMB_MPI_NAME}, but ${MPIEXEC_EXECUTABLE} is the launcher of "
                        "${plumb_launcher_name}: name the right one with -DMPIEXEC_EXECUTABLE=<mpiexec>.")
    endif()
endif()

set(PLUMB_MPIEXEC_FLAGS "")
set(PLUMB_MPI_TEST_ENV "")
if(PLUMB_MPI_NAME STREQUAL "Open MPI")
    # Tests share the cores: bind no rank to one, and yield when waiting.
    list(APPEND PLUMB_MPIEXEC_FLAGS --oversubscribe --bind-to none)
    list(APPEND PLUMB_MPI_TEST_ENV OMPI_MCA_mpi_yield_when_idle=1)
    execute_process(COMMAND id -u OUTPUT_VARIABLE plumb_uid OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(plumb_uid STREQUAL "0")
        list(APPEND PLUMB_MPIEXEC_FLAGS --allow-run-as-root)
    endif()
endif()
list(PREPEND PLUMB_MPIEXEC_FLAGS ${MPIEXEC_PREFLAGS})
