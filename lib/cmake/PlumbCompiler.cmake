# Compiler choice, compiler cache, and the flags of Plumb's own targets.

# A sanitizer build prefers clang++, unless the caller named a compiler. Must run before project().
if(PLUMB_SANITIZE AND NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
    find_program(PLUMB_CLANGXX NAMES clang++ clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
    mark_as_advanced(PLUMB_CLANGXX)
    if(PLUMB_CLANGXX)
        set(CMAKE_CXX_COMPILER ${PLUMB_CLANGXX})
    endif()
endif()

function(plumb_use_ccache)
    if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
        return()
    endif()
    find_program(PLUMB_CCACHE NAMES ccache)
    mark_as_advanced(PLUMB_CCACHE)
    if(PLUMB_CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${PLUMB_CCACHE} CACHE STRING "Compiler launcher")
    endif()
endfunction()

# Defines plumb_build_flags: linked (privately, never exported) by every target of this project.
function(plumb_define_build_flags)
    add_library(plumb_build_flags INTERFACE)
    set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
                 -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wformat=2 -Wextra-semi)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND warnings -Wduplicated-cond -Wlogical-op)
        if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
            list(APPEND warnings -Wno-restrict) # false positives on std::string, GCC bug 105651
        endif()
    endif()
    if(PLUMB_WARNINGS_AS_ERRORS)
        list(APPEND warnings -Werror)
    endif()
    # Results are compared bit for bit: a compiler must not fuse a multiplication and an addition.
    target_compile_options(plumb_build_flags INTERFACE ${warnings} -ffp-contract=off)
    if(PLUMB_SANITIZE)
        set(sanitize -fsanitize=${PLUMB_SANITIZE} -fno-omit-frame-pointer)
        target_compile_options(plumb_build_flags INTERFACE ${sanitize} -fno-sanitize-recover=all)
        target_link_options(plumb_build_flags INTERFACE ${sanitize})
    endif()
endfunction()
