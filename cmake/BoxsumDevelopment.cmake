# Flags of the project's own targets. An INTERFACE target linked PRIVATE, so that no user inherits them.
add_library(boxsum_development INTERFACE)
set(boxsum_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(BOXSUM_WERROR)
  list(APPEND boxsum_warnings -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND boxsum_warnings -Wno-restrict) # GCC bug 105651: false reports in std::string's operator+
endif()
target_compile_options(boxsum_development INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${boxsum_warnings}>")
if(BOXSUM_SANITIZE)
  target_compile_options(
    boxsum_development
    INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${BOXSUM_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
  )
  # Programs at fixed addresses: some 800,000 relocations of what reports name would be a fifth of each of the suite's
  # 3000 starts.
  target_link_options(boxsum_development INTERFACE "-fsanitize=${BOXSUM_SANITIZE}" $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
