# Install and export: find_package(boxsum CONFIG) gives boxsum::boxsum, from an installation or from this build folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(
  TARGETS boxsum
  EXPORT boxsum-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/boxsum")
install(EXPORT boxsum-targets NAMESPACE boxsum:: DESTINATION "${package_dir}")
export(EXPORT boxsum-targets NAMESPACE boxsum:: FILE "${PROJECT_BINARY_DIR}/boxsum-targets.cmake")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/boxsum-config.cmake.in" "${PROJECT_BINARY_DIR}/boxsum-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/boxsum-config-version.cmake" COMPATIBILITY SameMinorVersion
)
install(FILES "${PROJECT_BINARY_DIR}/boxsum-config.cmake" "${PROJECT_BINARY_DIR}/boxsum-config-version.cmake"
        DESTINATION "${package_dir}")
