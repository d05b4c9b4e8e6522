# Called by the packaging test. Every step stops the script where it fails.
cmake_minimum_required(VERSION 3.25)

function(step what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${what} failed (${result}):\n${ARGN}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_greeting what)
    step("running the ${what}" ${LAUNCH} ${ARGN})
    if(NOT output MATCHES "plumb 0.1.0 .* 2 ranks: 1")
        message(FATAL_ERROR "the ${what} printed:\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix "${WORK}/a prefix")
step("install" ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${prefix})

step("configuring the consumer" ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/consumer -G ${GENERATOR}
     -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${CXX} -DMPI_CXX_COMPILER=${MPICXX}
     "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_PREFIX_PATH=${prefix};${PREFIXES}" -Dfmt_DIR=${FMT_DIR}
     -DPLUMB_DLPACK_INCLUDE_DIR=${DLPACK_DIR})
step("building the consumer" ${CMAKE_COMMAND} --build ${WORK}/consumer --config ${CONFIG})
expect_greeting("consumer" ${WORK}/consumer/consumer)

step("running the installed program" ${prefix}/bin/plumb --help)

if(PKG_CONFIG)
    set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
    step("pkg-config" ${PKG_CONFIG} --cflags --libs plumb)
    string(STRIP "${output}" flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    step("compiling with pkg-config" ${CXX} -std=c++20 ${FLAGS} ${CONSUMER}/main.cpp -o ${WORK}/with_pkg_config
         ${flags})
    expect_greeting("program compiled with pkg-config" ${WORK}/with_pkg_config)
else()
    message(STATUS "pkg-config is not installed: plumb.pc was not tried")
endif()
