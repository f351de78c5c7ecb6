# cmake -DPREFIX=... -DLIBDIR=lib -DDOCDIR=share/doc/boxsum -DPKG_CONFIG=... -DCXX=... -DSOURCE=consumer.cpp -DFOLDER=...
#   -P license_and_pkg_config.cmake
# The installation names its license, and is usable without CMake.
if(NOT EXISTS "${PREFIX}/${DOCDIR}/LICENSE")
  message(FATAL_ERROR "no license in ${PREFIX}/${DOCDIR}")
endif()
if(NOT PKG_CONFIG)
  message("no pkg-config here: its file was not used")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
execute_process(
  COMMAND "${PKG_CONFIG}" --cflags --libs --static boxsum OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE
          COMMAND_ERROR_IS_FATAL ANY
)
separate_arguments(flags UNIX_COMMAND "${flags}")
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(
  COMMAND "${CXX}" -std=c++20 "${SOURCE}" -o "${FOLDER}/consumer" ${flags} COMMAND_ERROR_IS_FATAL ANY
)
execute_process(COMMAND "${FOLDER}/consumer" COMMAND_ERROR_IS_FATAL ANY)
