# The site: the target documentation, made by Doxygen from the public headers and the pages, below documentation/html in
# the build folder, and installed. Two builds of the same sources give the same bytes.
find_package(Doxygen 1.9.4 REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(site "${PROJECT_BINARY_DIR}/documentation")
set(writer "${PROJECT_SOURCE_DIR}/doc/reference")
# The pictures that pages show; write_site_sources.py copies them.
set(ATTNZOO_SITE_PICTURES "sources/pictures/copying.png sources/pictures/finding_hard.png \
sources/pictures/finding_soft.png sources/pictures/finding_where.png sources/pictures/length.png \
sources/pictures/recalling.png sources/pictures/speech_alignment.png sources/pictures/spelling.png \
sources/pictures/spelling_additive.png sources/pictures/text_recogniser.png")
# The style sheet has its own colours for the dark; releases that have some, too, must leave it to it.
set(ATTNZOO_SITE_COLOUR_STYLE "")
if(DOXYGEN_VERSION VERSION_GREATER_EQUAL 1.9.5)
    set(ATTNZOO_SITE_COLOUR_STYLE "HTML_COLORSTYLE        = LIGHT")
endif()
configure_file("${PROJECT_SOURCE_DIR}/doc/Doxyfile.in" "${site}/Doxyfile" @ONLY)

file(GLOB inputs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/attnzoo/*.h"
    "${PROJECT_SOURCE_DIR}/include/attnzoo/*.hpp" "${PROJECT_SOURCE_DIR}/include/attnzoo/cpp/*.hpp"
    "${PROJECT_SOURCE_DIR}/doc/*.md"
    "${PROJECT_SOURCE_DIR}/examples/*.c" "${PROJECT_SOURCE_DIR}/examples/data/*/README.md" "${PROJECT_SOURCE_DIR}/*.md")
add_custom_command(OUTPUT "${site}/html/index.html"
    COMMAND "${Python3_EXECUTABLE}" -B "${writer}/write_site_sources.py" --source "${PROJECT_SOURCE_DIR}"
        --output "${site}/sources"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${site}/html"
    COMMAND Doxygen::doxygen Doxyfile
    DEPENDS ${inputs} "${writer}/write_site_sources.py" "${writer}/headers.py" "${site}/Doxyfile"
        "${PROJECT_SOURCE_DIR}/doc/site.css"
    WORKING_DIRECTORY "${site}"
    COMMENT "Writing the documentation"
    VERBATIM)
add_custom_target(documentation ALL DEPENDS "${site}/html/index.html")
install(DIRECTORY "${site}/html" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT attnzoo_documentation)
