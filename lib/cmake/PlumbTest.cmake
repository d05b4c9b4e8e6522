# The two ways to add a test.
#
#   plumb_add_test(NAME name SOURCES a.cpp… [LABELS l…] [TIMEOUT s] [ENV VAR=value…] [LIBRARIES t…])
#     One serial doctest executable `name`; the ctest name is `name`, label `serial`.
#
#   plumb_add_mpi_test(NAME name SOURCES a.cpp… RANKS 1 2 3 4 [LABELS l…] [TIMEOUT s] [ENV VAR=value…]
#                      [LIBRARIES t…] [OWN_MAIN])
#     One doctest executable `name` whose main (tests/support/mpi_main.cpp) initialises MPI and judges all
#     ranks together; ctest names `name.np1`, `name.np2`…, label `np1`, `np2`…. With OWN_MAIN the sources
#     bring their own main (they may still use doctest), for tests of MPI's initialisation itself.
#
# Private headers of lib/ and tests/ are on the include path ("layer/name.h", "support/name.h").

include(ProcessorCount)
processorcount(PLUMB_CORES)

set(PLUMB_SANITIZER_ENV "")
if(PLUMB_SANITIZE)
    list(
        APPEND
        PLUMB_SANITIZER_ENV
        "ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0:strict_string_checks=1:detect_stack_use_after_return=1"
        "UBSAN_OPTIONS=print_stacktrace=1"
        "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0")
endif()

# plumb_time_limit(<variable> <seconds>): the variable's seconds, or this default; longer with sanitizers.
function(plumb_time_limit variable default)
    if(NOT ${variable})
        set(${variable} ${default})
    endif()
    if(PLUMB_SANITIZE)
        math(EXPR ${variable} "3 * ${${variable}}")
    endif()
    set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

function(plumb_test_executable name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${name} PRIVATE PLUMB_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} plumb::plumb plumb_build_flags doctest::doctest
                                          Threads::Threads $<TARGET_NAME_IF_EXISTS:plumb_keep_modules>)
endfunction()

function(plumb_add_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LABELS;ENV;LIBRARIES")
    plumb_time_limit(arg_TIMEOUT 120)
    plumb_test_executable(${arg_NAME} SOURCES ${arg_SOURCES} LIBRARIES plumb_test_serial ${arg_LIBRARIES})
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
    set_tests_properties(${arg_NAME} PROPERTIES LABELS "serial;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT
                                                "${PLUMB_SANITIZER_ENV};${arg_ENV}")
endfunction()

function(plumb_add_mpi_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "OWN_MAIN" "NAME;TIMEOUT" "SOURCES;RANKS;LABELS;ENV;LIBRARIES")
    set(main plumb_test_mpi)
    if(arg_OWN_MAIN)
        set(main plumb_test_doctest)
    endif()
    plumb_test_executable(${arg_NAME} SOURCES ${arg_SOURCES} LIBRARIES ${main} ${arg_LIBRARIES})
    foreach(ranks IN LISTS arg_RANKS)
        plumb_add_mpi_command(
            NAME ${arg_NAME}
            RANKS ${ranks}
            TIMEOUT "${arg_TIMEOUT}"
            LABELS ${arg_LABELS}
            ENV ${arg_ENV}
            COMMAND $<TARGET_FILE:${arg_NAME}>)
    endforeach()
endfunction()

# plumb_add_mpi_command(NAME name RANKS n COMMAND program arg… [LABELS l…] [TIMEOUT s] [ENV VAR=value…])
# Any command under the launcher as the ctest `name.np<n>`.
function(plumb_add_mpi_command)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;RANKS;TIMEOUT" "COMMAND;LABELS;ENV")
    plumb_time_limit(arg_TIMEOUT 180)
    # More ranks than cores take turns: such a test counts as one that needs them all.
    set(processors ${arg_RANKS})
    if(processors GREATER PLUMB_CORES)
        set(processors ${PLUMB_CORES})
    endif()
    math(EXPR watchdog "${arg_TIMEOUT} - ${arg_TIMEOUT} / 6") # speaks before ctest ends the test
    set(test ${arg_NAME}.np${arg_RANKS})
    add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${PLUMB_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS}
                                  ${arg_COMMAND} ${MPIEXEC_POSTFLAGS})
    set_tests_properties(
        ${test}
        PROPERTIES LABELS "np${arg_RANKS};${arg_LABELS}"
                   TIMEOUT ${arg_TIMEOUT}
                   PROCESSORS ${processors}
                   ENVIRONMENT
                   "PLUMB_TEST_TIMEOUT=${watchdog};${PLUMB_MPI_TEST_ENV};${PLUMB_SANITIZER_ENV};${arg_ENV}")
endfunction()
