# Third-party packages. Static archives where the system has them, so that a program of ours needs
# only libc, libstdc++ and, opened at run time, what its devices bring.
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL QUIET COMPONENTS Crypto)
if(NOT OpenSSL_FOUND)
  set(OPENSSL_USE_STATIC_LIBS OFF)
  find_package(OpenSSL REQUIRED COMPONENTS Crypto)
endif()

# OpenCL: headers only; the loader is opened at run time.
find_path(RTCG_OPENCL_INCLUDE_DIR CL/cl.h REQUIRED)

# CUDA: headers only and optional; without them, or with older ones, rtcg has the host and OpenCL back ends and still prints CUDA.
find_package(CUDAToolkit 12.4 QUIET)
if(CUDAToolkit_FOUND)
  message(STATUS "CUDA headers: ${CUDAToolkit_INCLUDE_DIRS}")
else()
  message(STATUS "CUDA headers: not found, building without the CUDA back end")
endif()

if(RTCG_BUILD_TESTS)
  find_package(GTest REQUIRED)
  # isl answers what rtcg's own constraint sets are compared with; the library does without it.
  find_path(RTCG_ISL_INCLUDE_DIR isl/set.h)
  find_library(RTCG_ISL_LIBRARY isl)
  if(NOT RTCG_ISL_INCLUDE_DIR OR NOT RTCG_ISL_LIBRARY)
    message(FATAL_ERROR "The tests need isl: install libisl-dev (scripts/install_packages.sh test)")
  endif()
endif()
if(RTCG_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(RTCG_BUILD_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
