# Filters: the tests of a GPU, unchanged. Formulas have the CPU's bits, so the compiler may not contract them.
boxsum_emulated_objects(
  boxsum_emulated_filters "${cuda}/filters/device_filters.cpp" "${cuda}/filters/device_strips.cpp"
  "${cuda}/filters/pixel_kernels.cu" "${cuda}/filters/window_means.cu"
)
# What the variants below have in common with it.
boxsum_emulated_objects(boxsum_emulated_other_windows "${cuda}/filters/variable_means.cu" "${cuda}/filters/window_moments.cu")
boxsum_emulated_objects(boxsum_emulated_window_test "${PROJECT_SOURCE_DIR}/tests/unit/cuda/window_kernels_test.cpp")
target_compile_options(boxsum_emulated_filters PRIVATE -ffp-contract=off)
target_compile_options(boxsum_emulated_other_windows PRIVATE -ffp-contract=off)
boxsum_emulated_test(
  emulated_filters_test SOURCES "${PROJECT_SOURCE_DIR}/tests/unit/cuda/filter_strips_test.cpp"
  OBJECTS boxsum_emulated_filters boxsum_emulated_other_windows boxsum_emulated_window_test boxsum_emulated_fast
)

# The kernels' test must fail where they are wrong: boxsum_emulated_window_mutant(name FILE file TEXT text REPLACEMENT text
# FILTER tests) compiles window_means.cu with a copy of a file of src/cuda/filters in which REPLACEMENT stands for TEXT.
function(boxsum_emulated_window_mutant name)
  cmake_parse_arguments(arg "" "FILE;TEXT;REPLACEMENT;FILTER" "" ${ARGN})
  set(original "${cuda}/filters/${arg_FILE}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${cuda}/filters/window_means.cu")
  configure_file("${cuda}/filters/window_means.cu" "${folder}/cuda/filters/window_means.cu" COPYONLY)
  boxsum_emulated_mutate("${original}" "${folder}/cuda/filters/${arg_FILE}" "${arg_TEXT}" "${arg_REPLACEMENT}")
  boxsum_emulated_objects(${name}_objects "${folder}/cuda/filters/window_means.cu")
  target_include_directories(${name}_objects BEFORE PRIVATE "${folder}")
  target_compile_options(${name}_objects PRIVATE -ffp-contract=off)
  boxsum_emulated_rejected(
    ${name} FILTER "${arg_FILTER}"
    OBJECTS $<TARGET_OBJECTS:${name}_objects> $<TARGET_OBJECTS:boxsum_emulated_other_windows>
            $<TARGET_OBJECTS:boxsum_emulated_window_test>
  )
endfunction()
boxsum_emulated_window_mutant(
  mutant_units_not_turned FILE window_walk.cuh TEXT "(skip & step) != 0" REPLACEMENT "false" FILTER means_are_those
)
boxsum_emulated_window_mutant(
  mutant_last_unit_not_read FILE window_walk.cuh TEXT "k < N / unit || skip != 0" REPLACEMENT "k < N / unit" FILTER means_are_those
)
boxsum_emulated_window_mutant(
  mutant_cut_windows_taken_whole FILE window_walk.cuh TEXT "reduced ? 0 : elements - side" REPLACEMENT "reduced ? 0 : elements"
  FILTER means_are_those
)
boxsum_emulated_window_mutant(
  mutant_image_not_mirrored FILE window_terms.cuh TEXT "mirrored ? n - within : within" REPLACEMENT "within" FILTER means_are_those
)
boxsum_emulated_window_mutant(
  mutant_mean_rounded_down FILE window_means.cu TEXT "x + static_cast<Sum>(n) / 2" REPLACEMENT "x" FILTER means_are_those
)
boxsum_emulated_window_mutant(
  mutant_quotient_not_corrected FILE window_means.cu TEXT "return q + static_cast<Sum>(rest >= n)" REPLACEMENT "return q" FILTER means_are_rounded
)
