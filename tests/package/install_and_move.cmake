# cmake -DBUILD_FOLDER=... -DPREFIX=... -P install_and_move.cmake
file(REMOVE_RECURSE "${PREFIX}" "${PREFIX}.first")
execute_process(
  COMMAND "${CMAKE_COMMAND}" --install "${BUILD_FOLDER}" --prefix "${PREFIX}.first" COMMAND_ERROR_IS_FATAL ANY
)
file(RENAME "${PREFIX}.first" "${PREFIX}")
