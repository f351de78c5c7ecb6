# cmake -DNM=... -DLIBRARY=<shared library> -DHEADERS=<include folder> -P symbols.cmake
# The shared library shows what the public headers declare, all of it, and nothing else.
execute_process(
  COMMAND "${NM}" --dynamic --defined-only --demangle --format=posix "${LIBRARY}" OUTPUT_VARIABLE symbols
          COMMAND_ERROR_IS_FATAL ANY
)
file(GLOB_RECURSE headers "${HEADERS}/*.hpp" "${HEADERS}/*.cuh")
set(declared "")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}") # what comments mention is not declared
  string(APPEND declared "${text}")
endforeach()

string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" lines "${symbols}")
set(wrong "")
set(shown "")
foreach(line IN LISTS lines)
  # "boxsum::box_sums(...) T 1234 56"; "vtable for boxsum::error V ..."
  string(REGEX REPLACE " [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$" "" name "${line}")
  string(REGEX REPLACE "^(vtable|typeinfo name|typeinfo|VTT|guard variable) for " "" name "${name}")
  string(REGEX REPLACE "\\[abi:[a-z0-9]+\\]" "" name "${name}")
  if(name STREQUAL "")
    continue()
  endif()
  # The function: what stands before its arguments, its template arguments aside, without the type it returns.
  string(REGEX REPLACE "\\(.*$" "" name "${name}")
  while(name MATCHES "<[^<>]*>")
    string(REGEX REPLACE "<[^<>]*>" "" name "${name}")
  endwhile()
  string(REGEX REPLACE "^.* " "" name "${name}")
  string(REGEX REPLACE "^.*::~?" "" last "${name}")
  if(NOT name MATCHES "^boxsum::" OR NOT (last MATCHES "^operator" OR declared MATCHES "[^A-Za-z0-9_]${last}[^A-Za-z0-9_]"))
    string(APPEND wrong "  ${line}\n")
  endif()
  string(APPEND shown " ${name} ")
endforeach()
if(wrong)
  message(FATAL_ERROR "shown, but in no public header:\n${wrong}")
endif()
foreach(name IN ITEMS sat box_sums box_variance describe_cpu algorithms version box_filter integral_histogram verify
                      memory_pool::shared memory_pool::set_limit host_buffer::host_buffer cuda::device_count error
                      invalid_argument::what detail::allocate_table)
  if(NOT shown MATCHES " boxsum::${name} ")
    message(FATAL_ERROR "not shown: boxsum::${name}")
  endif()
endforeach()
