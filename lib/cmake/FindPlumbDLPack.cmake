# DLPack's C header as the target plumb::dlpack: from the dlpack CMake package, or the header alone.
# Sets PlumbDLPack_FOUND. Installed with Plumb, whose package file uses it too.
find_package(dlpack QUIET CONFIG)
if(TARGET dlpack::dlpack)
    get_target_property(plumb_dlpack_hint dlpack::dlpack INTERFACE_INCLUDE_DIRECTORIES)
else()
    set(plumb_dlpack_hint "")
endif()
find_path(PLUMB_DLPACK_INCLUDE_DIR NAMES dlpack/dlpack.h HINTS ${plumb_dlpack_hint}
          DOC "Directory that holds dlpack/dlpack.h")
mark_as_advanced(PLUMB_DLPACK_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PlumbDLPack REQUIRED_VARS PLUMB_DLPACK_INCLUDE_DIR)
if(PlumbDLPack_FOUND AND NOT TARGET plumb::dlpack)
    add_library(plumb::dlpack INTERFACE IMPORTED)
    set_target_properties(plumb::dlpack PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PLUMB_DLPACK_INCLUDE_DIR}")
endif()
