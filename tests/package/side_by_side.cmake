# cmake -DSTATIC=<build folder> -DSHARED=<build folder> -DFOLDER=... -DLIBDIR=lib -DPKG_CONFIG=... -DCXX=... -DREADELF=...
#   -DSOURCE=consumer.cpp -P side_by_side.cmake
# Installs a static and a shared library into <FOLDER>/prefix, in both orders, and builds what asks pkg-config for each.
set(prefix "${FOLDER}/prefix")
set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")

# What `program` has the loader load.
function(needed program result)
  execute_process(COMMAND "${READELF}" -d "${program}" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "NEEDED[^\n]*" lines "${text}")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# Builds the consumer with what pkg-config says and further flags, and runs it.
function(consumer name pkg_config_options)
  execute_process(
    COMMAND "${PKG_CONFIG}" --cflags --libs ${pkg_config_options} boxsum OUTPUT_VARIABLE flags
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY
  )
  if(NOT flags MATCHES "-DBOXSUM_SHARED")
    message(FATAL_ERROR "installed ${order}: pkg-config gives the flags of the static library alone: ${flags}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(
    COMMAND "${CXX}" -std=c++20 "${SOURCE}" -o "${FOLDER}/${name}" ${flags} ${ARGN} COMMAND_ERROR_IS_FATAL ANY
  )
  execute_process(COMMAND "${FOLDER}/${name}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(order "SHARED;STATIC" "STATIC;SHARED")
  file(REMOVE_RECURSE "${FOLDER}")
  foreach(kind IN LISTS order)
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${${kind}}" --prefix "${prefix}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  if(NOT PKG_CONFIG)
    message("no pkg-config here: its file was not used")
    continue()
  endif()

  consumer(with_shared "" "-Wl,-rpath,${prefix}/${LIBDIR}")
  needed("${FOLDER}/with_shared" libraries)
  if(NOT libraries MATCHES "libboxsum")
    message(FATAL_ERROR "installed ${order}: without -static the shared library is not linked: ${libraries}")
  endif()
  if(libraries MATCHES "omp")
    message(FATAL_ERROR "installed ${order}: a user of the shared library needs OpenMP: ${libraries}")
  endif()

  consumer(with_static --static -static)
  needed("${FOLDER}/with_static" libraries)
  if(libraries)
    message(FATAL_ERROR "installed ${order}: with -static the loader still has to load ${libraries}")
  endif()
endforeach()

# Nor does the library itself, or what CMake reads of the package.
needed("${prefix}/${LIBDIR}/libboxsum.so" libraries)
if(libraries MATCHES "omp")
  message(FATAL_ERROR "the shared library needs OpenMP: ${libraries}")
endif()
file(GLOB files "${prefix}/${LIBDIR}/cmake/boxsum/*" "${prefix}/${LIBDIR}/pkgconfig/*")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(TOLOWER "${text}" text)
  if(text MATCHES "openmp|gomp|iomp")
    message(FATAL_ERROR "${file} asks for OpenMP")
  endif()
endforeach()
