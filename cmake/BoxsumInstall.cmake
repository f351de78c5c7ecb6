# Install and export: find_package(boxsum CONFIG) gives boxsum::boxsum, from an installation or from this build folder. A
# static and a shared library may be installed side by side, hence the two files of targets.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_target_property(library_type boxsum TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  set(kind shared)
  set(BOXSUM_PC_CFLAGS " -DBOXSUM_SHARED")
else()
  set(kind static)
  set(BOXSUM_PC_CFLAGS "")
endif()
set(BOXSUM_PC_PRIVATE "-lstdc++ -lpthread")
if(BOXSUM_WITH_CUDA)
  string(APPEND BOXSUM_PC_PRIVATE " -lcudart_static -ldl -lrt")
endif()

install(
  TARGETS boxsum
  EXPORT boxsum-targets-${kind}
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/boxsum")
install(EXPORT boxsum-targets-${kind} NAMESPACE boxsum:: DESTINATION "${package_dir}")
export(EXPORT boxsum-targets-${kind} NAMESPACE boxsum:: FILE "${PROJECT_BINARY_DIR}/boxsum-targets-${kind}.cmake")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/boxsum-config.cmake.in" "${PROJECT_BINARY_DIR}/boxsum-config.cmake"
  INSTALL_DESTINATION "${package_dir}"
)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/boxsum-config-version.cmake" COMPATIBILITY SameMinorVersion
)
install(FILES "${PROJECT_BINARY_DIR}/boxsum-config.cmake" "${PROJECT_BINARY_DIR}/boxsum-config-version.cmake"
        DESTINATION "${package_dir}")

# For builds without CMake. The prefix follows from where the file lies, so that an installation may be moved. Where both
# libraries are, linkers take the shared one unless told -static, so its file stays, and says what a static one needs, too.
file(RELATIVE_PATH BOXSUM_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" BOXSUM_PC_PREFIX "${BOXSUM_PC_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/boxsum.pc.in" "${PROJECT_BINARY_DIR}/boxsum.pc" @ONLY)
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(kind STREQUAL "shared")
  install(FILES "${PROJECT_BINARY_DIR}/boxsum.pc" DESTINATION "${pkgconfig_dir}")
else()
  set(shared_library "${CMAKE_INSTALL_LIBDIR}/${CMAKE_SHARED_LIBRARY_PREFIX}boxsum${CMAKE_SHARED_LIBRARY_SUFFIX}")
  install(
    CODE "if(NOT EXISTS \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${shared_library}\")
  file(INSTALL \"${PROJECT_BINARY_DIR}/boxsum.pc\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${pkgconfig_dir}\")
endif()"
  )
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
