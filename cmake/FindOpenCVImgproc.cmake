# OpenCV's core and image processing by their headers and libraries, as the target OpenCVImgproc::imgproc: the CMake package
# of OpenCV is in Debian's libopencv-dev, which brings 250 packages more than libopencv-imgproc-dev.
find_path(OpenCVImgproc_INCLUDE_DIR opencv2/imgproc.hpp PATH_SUFFIXES opencv4)
find_library(OpenCVImgproc_LIBRARY opencv_imgproc)
find_library(OpenCVImgproc_CORE_LIBRARY opencv_core)
mark_as_advanced(OpenCVImgproc_INCLUDE_DIR OpenCVImgproc_LIBRARY OpenCVImgproc_CORE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenCVImgproc REQUIRED_VARS OpenCVImgproc_LIBRARY OpenCVImgproc_CORE_LIBRARY OpenCVImgproc_INCLUDE_DIR
)
if(OpenCVImgproc_FOUND AND NOT TARGET OpenCVImgproc::imgproc)
  add_library(OpenCVImgproc::imgproc INTERFACE IMPORTED)
  target_include_directories(OpenCVImgproc::imgproc SYSTEM INTERFACE "${OpenCVImgproc_INCLUDE_DIR}")
  target_link_libraries(
    OpenCVImgproc::imgproc INTERFACE "${OpenCVImgproc_LIBRARY}" "${OpenCVImgproc_CORE_LIBRARY}"
  )
endif()
