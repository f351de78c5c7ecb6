# Looks into the object files of the kernel sets. Called with -D LIBRARY=... -D NM=... -D OBJDUMP=... -D CHECK=...
#
# isolation: a kernel set defines its table, VNNI's unit its functions, and nothing else. A weak symbol (an inline
# function, a template) could be the copy that the linker keeps for the whole program, with instructions that a lesser
# machine lacks.
# streaming: the non-temporal stores are there: compilers may turn them into ordinary ones (llvm-project issue 56703).
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${AR}" t "${LIBRARY}" OUTPUT_VARIABLE members COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" objects "${members}")
list(FILTER objects INCLUDE REGEX "^(bin_)?kernels_(avx|neon)")
if(NOT objects)
  message(FATAL_ERROR "no vector kernel set in ${LIBRARY}")
endif()
foreach(object IN LISTS objects)
  file(MAKE_DIRECTORY "${FOLDER}")
  execute_process(COMMAND "${AR}" x "${LIBRARY}" "${object}" WORKING_DIRECTORY "${FOLDER}" COMMAND_ERROR_IS_FATAL ANY)
  if(CHECK STREQUAL "isolation")
    execute_process(COMMAND "${NM}" --defined-only --extern-only "${FOLDER}/${object}" OUTPUT_VARIABLE symbols
                    COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "\n+$" "" symbols "${symbols}")
    string(REPLACE "\n" ";" symbols "${symbols}")
    list(FILTER symbols EXCLUDE REGEX "_kernelsE?$| T _ZN6boxsum3cpu4vnni")
    if(symbols)
      message(FATAL_ERROR "${object} shares code with other translation units: ${symbols}")
    endif()
  elseif(CHECK STREQUAL "streaming")
    execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${FOLDER}/${object}" OUTPUT_VARIABLE code
                    COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "vmovnt|stnp" found "${code}")
    list(LENGTH found count)
    message(STATUS "${object}: ${count} non-temporal stores")
    # 27 streaming kernels of tables with four rows each, at least, 4 of VNNI's; 6 of histograms, with rows of 2 to 4
    # vectors.
    set(least 100)
    if(object MATCHES "^bin_")
      set(least 48)
    endif()
    if(count LESS least)
      message(FATAL_ERROR "${object}: only ${count} non-temporal stores")
    endif()
  endif()
endforeach()
