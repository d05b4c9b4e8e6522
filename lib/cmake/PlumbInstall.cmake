# Install, export and package files. Components: plumb_runtime (the program, a shared library) and
# plumb_development (headers, package files, a static library).
include(CMakePackageConfigHelpers)

set(plumb_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plumb)

install(
    TARGETS plumb
    EXPORT plumb_targets
    RUNTIME COMPONENT plumb_runtime
    LIBRARY COMPONENT plumb_runtime NAMELINK_COMPONENT plumb_development
    ARCHIVE COMPONENT plumb_development)
install(TARGETS plumb_cli RUNTIME COMPONENT plumb_runtime)
if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH plumb_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(plumb_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${plumb_bin_to_lib}")
endif()

install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT plumb_development
    FILES_MATCHING
    PATTERN "*.h")

# find_package(plumb CONFIG)
install(
    EXPORT plumb_targets
    NAMESPACE plumb::
    FILE plumbTargets.cmake
    DESTINATION ${plumb_package_dir}
    COMPONENT plumb_development)
configure_package_config_file(lib/cmake/plumbConfig.cmake.in ${PROJECT_BINARY_DIR}/plumbConfig.cmake
                              INSTALL_DESTINATION ${plumb_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES ${PROJECT_BINARY_DIR}/plumbConfig.cmake ${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake
          lib/cmake/FindPlumbDLPack.cmake
    DESTINATION ${plumb_package_dir}
    COMPONENT plumb_development)

# pkg-config: names the MPI it was built with, so that a plain compiler works as well as mpicxx.
function(plumb_write_pkg_config)
    set(cflags "-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX")
    foreach(dir IN LISTS MPI_CXX_INCLUDE_DIRS PLUMB_DLPACK_INCLUDE_DIR)
        if(NOT dir STREQUAL "/usr/include")
            string(APPEND cflags " -I${dir}")
        endif()
    endforeach()
    list(JOIN MPI_CXX_LIBRARIES " " mpi_libraries)
    file(RELATIVE_PATH plumb_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

    set(plumb_libs "Libs: -L\${libdir} -lplumb ${mpi_libraries}")
    if(BUILD_SHARED_LIBS)
        string(APPEND plumb_libs "\nLibs.private: -pthread\nRequires.private: fmt")
    else()
        string(APPEND plumb_libs " -pthread\nRequires: fmt")
    endif()
    configure_file(lib/cmake/plumb.pc.in ${PROJECT_BINARY_DIR}/plumb.pc @ONLY)
endfunction()
plumb_write_pkg_config()
install(FILES ${PROJECT_BINARY_DIR}/plumb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT plumb_development)
