# What the library installs: headers, libraries, the CMake package and attnzoo.pc. The shared and the static library
# have an export set each, so that either can be packaged without the other. Nothing installed names a path of the
# build machine, and the installed tree may be moved.
include(CMakePackageConfigHelpers)
include(AttnzooPkgConfig)

set(ATTNZOO_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/attnzoo")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/attnzoo" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    COMPONENT attnzoo_development FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

function(attnzoo_install_library target export_set)
    get_target_property(export_name ${target} EXPORT_NAME)
    add_library(attnzoo::${export_name} ALIAS ${target})
    install(TARGETS ${target} EXPORT ${export_set}
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT attnzoo_runtime
            NAMELINK_COMPONENT attnzoo_development
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT attnzoo_development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(EXPORT ${export_set} NAMESPACE attnzoo:: DESTINATION "${ATTNZOO_PACKAGE_DIR}"
        COMPONENT attnzoo_development)
endfunction()

if(ATTNZOO_BUILD_SHARED)
    attnzoo_install_library(attnzoo_shared attnzooSharedTargets)
endif()
if(ATTNZOO_BUILD_STATIC)
    attnzoo_install_library(attnzoo_static attnzooStaticTargets)
    install(FILES "${PROJECT_SOURCE_DIR}/cmake/AttnzooCBLAS.cmake" DESTINATION "${ATTNZOO_PACKAGE_DIR}"
        COMPONENT attnzoo_development)
endif()
if(NOT TARGET attnzoo::attnzoo)
    add_library(attnzoo::attnzoo ALIAS attnzoo_static)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/attnzooConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/attnzooConfig.cmake" INSTALL_DESTINATION "${ATTNZOO_PACKAGE_DIR}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/attnzooConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
attnzoo_configure_pkg_config("${PROJECT_BINARY_DIR}/attnzoo.pc")

install(FILES "${PROJECT_BINARY_DIR}/attnzooConfig.cmake" "${PROJECT_BINARY_DIR}/attnzooConfigVersion.cmake"
    DESTINATION "${ATTNZOO_PACKAGE_DIR}" COMPONENT attnzoo_development)
install(FILES "${PROJECT_BINARY_DIR}/attnzoo.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT attnzoo_development)
