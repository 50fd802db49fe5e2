# The man pages of section 3, written while the library is built, from the comments of the public headers, and installed
# with them. Python 3 alone writes them; where there is none they are left out, as is said when the build is configured.
find_package(Python3 COMPONENTS Interpreter QUIET)
set(writer "${PROJECT_SOURCE_DIR}/doc/reference")
set(command_page "${PROJECT_SOURCE_DIR}/tools/attnzoo.1")

# Some copy the library's folders alone.
if(NOT EXISTS "${writer}/write_man_pages.py")
    message(STATUS "The folder doc is not there: the man pages of the library are left out")
    return()
endif()
if(NOT Python3_Interpreter_FOUND)
    message(STATUS "There is no Python 3: the man pages of the library are left out")
    return()
endif()

set(pages "${PROJECT_BINARY_DIR}/man3")
file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/attnzoo/*.h")
add_custom_command(OUTPUT "${pages}/libattnzoo.3"
    COMMAND "${Python3_EXECUTABLE}" -B "${writer}/write_man_pages.py" --include "${PROJECT_SOURCE_DIR}/include"
        --date-of "${command_page}" --output "${pages}"
    DEPENDS ${public_headers} "${writer}/write_man_pages.py" "${writer}/headers.py" "${command_page}"
    COMMENT "Writing the man pages of the library"
    VERBATIM)
add_custom_target(attnzoo_man_pages ALL DEPENDS "${pages}/libattnzoo.3")
install(DIRECTORY "${pages}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT attnzoo_development
    FILES_MATCHING PATTERN "*.3")
