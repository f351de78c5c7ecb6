# OpenCV's CUDA arithmetic by its headers and libraries, as the target OpenCVCuda::cudaarithm. Distributions do not package
# it; a build of one's own is found on CMAKE_PREFIX_PATH.
find_path(OpenCVCuda_INCLUDE_DIR opencv2/cudaarithm.hpp PATH_SUFFIXES opencv4)
find_library(OpenCVCuda_LIBRARY opencv_cudaarithm)
find_library(OpenCVCuda_CORE_LIBRARY opencv_core)
mark_as_advanced(OpenCVCuda_INCLUDE_DIR OpenCVCuda_LIBRARY OpenCVCuda_CORE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenCVCuda REQUIRED_VARS OpenCVCuda_LIBRARY OpenCVCuda_CORE_LIBRARY OpenCVCuda_INCLUDE_DIR
)
if(OpenCVCuda_FOUND AND NOT TARGET OpenCVCuda::cudaarithm)
  add_library(OpenCVCuda::cudaarithm INTERFACE IMPORTED)
  target_include_directories(OpenCVCuda::cudaarithm SYSTEM INTERFACE "${OpenCVCuda_INCLUDE_DIR}")
  target_link_libraries(OpenCVCuda::cudaarithm INTERFACE "${OpenCVCuda_LIBRARY}" "${OpenCVCuda_CORE_LIBRARY}")
endif()
