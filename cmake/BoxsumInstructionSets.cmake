# Code that exists once per instruction set and is chosen at run time: a source each, whose flags never reach code that is
# shared.

# boxsum_compile_with(source flags...): a source of the library with flags of its own, which may say how it is optimised;
# with -O3 if they don't, but in Debug.
function(boxsum_compile_with source)
  target_sources(boxsum PRIVATE ${source})
  set(flags ${ARGN})
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(PREPEND flags -O3)
  endif()
  set_source_files_properties(${source} TARGET_DIRECTORY boxsum PROPERTIES COMPILE_OPTIONS "${flags}")
endfunction()

# boxsum_loops(name FLAGS ... [AVX2 ...] [AVX512 ...]): name_baseline.cpp, and where the processor may have them
# name_avx2.cpp and name_avx512.cpp; with FLAGS, and with those of its instruction set.
function(boxsum_loops name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FLAGS;AVX2;AVX512")
  boxsum_compile_with(${name}_baseline.cpp ${arg_FLAGS})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    boxsum_compile_with(${name}_avx2.cpp -mavx2 ${arg_AVX2} ${arg_FLAGS})
    boxsum_compile_with(
      ${name}_avx512.cpp -mavx512f -mavx512bw -mavx512vl -mavx512dq ${arg_AVX512} ${arg_FLAGS}
    )
  endif()
endfunction()
