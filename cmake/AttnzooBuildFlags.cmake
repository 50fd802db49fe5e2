# The compiler and linker flags that every target of the project is built with: warnings, hardening, sanitizers and
# paths that do not depend on the build machine. They sit on the INTERFACE target attnzoo_build_flags, which targets
# link PRIVATE, so that nothing of them reaches users of the library. Optimisation and CPU flags are the user's choice.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# Position-independent code alone does not make a position-independent program where the linker is not told, too.
check_pie_supported(LANGUAGES C)

add_library(attnzoo_build_flags INTERFACE)

function(attnzoo_add_compile_flag flag)
    string(MAKE_C_IDENTIFIER "ATTNZOO_COMPILER_TAKES${flag}" known)
    check_c_compiler_flag("${flag}" ${known})
    if(${known})
        target_compile_options(attnzoo_build_flags INTERFACE "${flag}")
    endif()
endfunction()

function(attnzoo_add_link_flag flag)
    string(MAKE_C_IDENTIFIER "ATTNZOO_LINKER_TAKES${flag}" known)
    check_linker_flag(C "${flag}" ${known})
    if(${known})
        target_link_options(attnzoo_build_flags INTERFACE "${flag}")
    endif()
endfunction()

foreach(flag IN ITEMS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
    attnzoo_add_compile_flag(${flag})
endforeach()
if(ATTNZOO_WARNINGS_AS_ERRORS)
    attnzoo_add_compile_flag(-Werror)
endif()

# The later of two maps that fit wins.
attnzoo_add_compile_flag("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
attnzoo_add_compile_flag("-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")

if(NOT CMAKE_C_FLAGS MATCHES "-f(no-)?stack-protector")
    attnzoo_add_compile_flag(-fstack-protector-strong)
endif()
foreach(flag IN ITEMS -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    attnzoo_add_link_flag(${flag})
endforeach()

if(ATTNZOO_SANITIZE)
    # Sanitizers bring their own checked versions of what _FORTIFY_SOURCE checks, and leave symbols of their run-time
    # for the program to define, which -z defs refuses.
    add_compile_options("-fsanitize=${ATTNZOO_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options("-fsanitize=${ATTNZOO_SANITIZE}")
else()
    attnzoo_add_link_flag(-Wl,-z,defs)
    check_c_source_compiles("
        #ifdef _FORTIFY_SOURCE
        #error
        #endif
        int main(void) { return 0; }" ATTNZOO_FORTIFY_SOURCE_IS_OPEN)
    if(ATTNZOO_FORTIFY_SOURCE_IS_OPEN)
        # Without optimisation it checks nothing and the C library warns.
        set(is_optimised "$<OR:$<CONFIG:Release>,$<CONFIG:RelWithDebInfo>,$<CONFIG:MinSizeRel>>")
        if(CMAKE_C_FLAGS MATCHES "(^| )-O([1-9sz]|fast)")
            set(is_optimised "$<NOT:$<CONFIG:Debug>>")
        endif()
        # Not for C++, of which nothing is installed and whose flags are others.
        target_compile_definitions(attnzoo_build_flags
            INTERFACE "$<$<AND:$<COMPILE_LANGUAGE:C>,${is_optimised}>:_FORTIFY_SOURCE=2>")
    endif()
endif()
