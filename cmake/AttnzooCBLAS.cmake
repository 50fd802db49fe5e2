# Finds a BLAS with the C interface. attnzoo_find_cblas(VENDOR [HEADER]) makes the imported target attnzoo_cblas: the
# libraries, with HEADER also the folder of cblas.h. VENDOR is a BLA_VENDOR of CMake's FindBLAS. Where there is none,
# there is no target. The installed package uses this file too, for the static library, which needs no header; it is
# a function so that it leaves no variables behind there.
include(CheckFunctionExists)

function(attnzoo_find_cblas vendor)
    if(TARGET attnzoo_cblas)
        return()
    endif()
    set(BLA_VENDOR "${vendor}")
    find_package(BLAS QUIET)
    if(NOT BLAS_FOUND)
        return()
    endif()

    # Most BLAS libraries hold the C interface; the reference one may keep it in a library of its own.
    set(libraries "${BLAS_LIBRARIES}")
    set(CMAKE_REQUIRED_LIBRARIES "${libraries}")
    set(CMAKE_REQUIRED_QUIET ON)
    string(MAKE_C_IDENTIFIER "ATTNZOO_SGEMM_${vendor}" links)
    check_function_exists(cblas_sgemm ${links})
    if(NOT ${links})
        find_library(ATTNZOO_CBLAS_LIBRARY cblas)
        mark_as_advanced(ATTNZOO_CBLAS_LIBRARY)
        set(libraries "${ATTNZOO_CBLAS_LIBRARY}" "${BLAS_LIBRARIES}")
        set(CMAKE_REQUIRED_LIBRARIES "${libraries}")
        string(APPEND links _BESIDE)
        check_function_exists(cblas_sgemm ${links})
        if(NOT ${links})
            return()
        endif()
    endif()

    if("HEADER" IN_LIST ARGN)
        find_path(ATTNZOO_CBLAS_INCLUDE_DIR cblas.h
            PATH_SUFFIXES openblas openblas-pthread openblas-openmp openblas-serial blis flexiblas cblas)
        mark_as_advanced(ATTNZOO_CBLAS_INCLUDE_DIR)
        if(NOT ATTNZOO_CBLAS_INCLUDE_DIR)
            return()
        endif()
    endif()

    add_library(attnzoo_cblas INTERFACE IMPORTED)
    set_target_properties(attnzoo_cblas PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    if("HEADER" IN_LIST ARGN)
        set_target_properties(attnzoo_cblas PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ATTNZOO_CBLAS_INCLUDE_DIR}")
    endif()
endfunction()
