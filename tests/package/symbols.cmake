# cmake -DNM=... -DLIBRARY=<shared library> -DHEADERS=<include folder> -P symbols.cmake
# The shared library shows what the public headers declare, each name in its namespace and class, all of it, and nothing else.
execute_process(
  COMMAND "${NM}" --dynamic --defined-only --demangle --format=posix "${LIBRARY}" OUTPUT_VARIABLE symbols
          COMMAND_ERROR_IS_FATAL ANY
)
file(GLOB_RECURSE headers "${HEADERS}/*.hpp" "${HEADERS}/*.cuh")

# What stands in the braces of each namespace and class goes to `in<name>`: "in::boxsum::cuda::sat_plan". Braces of functions
# and initialisers belong to where they stand.
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}") # what comments mention is not declared
  string(REGEX REPLACE "#[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\"[^\"\n]*\"" "" text "${text}")
  string(REGEX REPLACE "[][\\\\\n]" " " text "${text}")
  string(REPLACE ";" "|" text "${text}")
  string(REGEX MATCHALL "[{}]|[^{}]+" pieces "${text}")
  set(scopes "") # the last is where we are
  set(scope "")
  set(before "")
  foreach(piece IN LISTS pieces)
    if(piece STREQUAL "{")
      list(APPEND scopes "${scope}/") # not empty
      if(before MATCHES "(^|[ |])(namespace|class|struct|union) +(BOXSUM_EXPORT +)?([A-Za-z0-9_]+)[^()=|]*$")
        string(APPEND scope "::${CMAKE_MATCH_4}")
      endif()
    elseif(piece STREQUAL "}")
      list(POP_BACK scopes scope)
      string(REGEX REPLACE "/$" "" scope "${scope}")
    else()
      string(APPEND "in${scope}" " ${piece} ")
    endif()
    set(before "${piece}")
  endforeach()
  if(scopes)
    message(FATAL_ERROR "${header}: braces do not match")
  endif()
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
  string(REGEX REPLACE "::[^:]*$" "" scope "::${name}")
  if(NOT name MATCHES "^boxsum::" OR NOT (last MATCHES "^operator" OR "${in${scope}}" MATCHES "[^A-Za-z0-9_]${last}[^A-Za-z0-9_]"))
    string(APPEND wrong "  ${line}\n")
  endif()
  string(APPEND shown " ${name} ")
endforeach()
if(wrong)
  message(FATAL_ERROR "shown, but in no public header:\n${wrong}")
endif()
# Of each header with functions that are not inline.
foreach(
  name IN ITEMS
  algorithms
  find_algorithm
  binning::uniform
  find_blobs
  box_hessian
  box_sums
  box_means
  box_variances
  box_variance
  box_variance_bound
  convolve
  describe_cpu
  cuda::convolve_plan::run_async
  cuda::box_sums_async
  cuda::device_count
  cuda::box_filter_async
  cuda::guided_filter_async
  cuda::histogram_plan::run_async
  cuda::best_windows_async
  cuda::device_buffer::device_buffer
  cuda::non_local_means_async
  cuda::row_stream::next
  cuda::sat_async
  cuda::sat_plan::run_async
  cuda::sat_list_plan::run_async
  cuda::variance_shadows_async
  cuda::stream::stream
  cuda::variable_blur_async
  cuda::window_sums_async
  cuda::workspace::reserve
  error
  invalid_argument::what
  adaptive_threshold
  box_filter
  local_contrast
  local_statistics
  variable_box_filter
  guided_filter
  frames_of
  histogram_pipeline::next
  best_windows
  window_histograms
  histogram_tasks::run
  kept_histogram::box_histograms
  integral_histogram
  box_histogram
  box_histograms
  cuda::box_histograms
  cuda::window_histograms
  host_buffer::host_buffer
  memory_pool::set_limit
  memory_pool::shared
  memory_pool::trim
  non_local_means
  row_stream::next
  row_stream::push
  sat
  image_means
  variance_shadows
  detail::allocate_table
  detail::check_image
  dtype_from_name
  type_pairs
  variable_blur
  verify
  version
  window_means
  window_sums
  window_variances
)
  if(NOT shown MATCHES " boxsum::${name} ")
    message(FATAL_ERROR "not shown: boxsum::${name}")
  endif()
endforeach()
