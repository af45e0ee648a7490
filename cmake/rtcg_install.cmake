# `cmake --install` gives find_package(rtcg) with a target for each layer.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY RTCG_LAYERS)
install(TARGETS ${layers} EXPORT rtcg_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT librtcg-dev
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT librtcg-dev)
install(TARGETS rtcg_fmt EXPORT rtcg_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT librtcg-dev)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rtcg)
install(EXPORT rtcg_targets NAMESPACE rtcg:: DESTINATION ${package_dir} COMPONENT librtcg-dev)
write_basic_package_version_file(rtcg-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/rtcg-config.cmake.in rtcg-config.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rtcg-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rtcg-config-version.cmake DESTINATION ${package_dir} COMPONENT librtcg-dev)

# `make package`: rtcg_0.1.0_amd64.deb has the command line and its kernels, librtcg-dev the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR rtcg)
set(CPACK_PACKAGE_CONTACT "the maintainers of rtcg")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL rtcg librtcg-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The host back end compiles with the system's C compiler. GPUs bring their drivers; NVRTC is found if it is there.
set(CPACK_DEBIAN_RTCG_PACKAGE_NAME rtcg)
set(CPACK_COMPONENT_RTCG_DESCRIPTION "Command line for run-time code generation on GPUs and CPUs
 Describes, transforms, checks, runs and tunes loop kernels.")
set(CPACK_DEBIAN_RTCG_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RTCG_PACKAGE_DEPENDS "gcc, libc6-dev")
set(CPACK_DEBIAN_RTCG_PACKAGE_RECOMMENDS "ocl-icd-libopencl1")
set(CPACK_DEBIAN_LIBRTCG-DEV_PACKAGE_NAME librtcg-dev)
set(CPACK_COMPONENT_LIBRTCG-DEV_DESCRIPTION "C++ library for run-time code generation on GPUs and CPUs
 Headers, static libraries and the CMake package rtcg.")
set(CPACK_DEBIAN_LIBRTCG-DEV_PACKAGE_DEPENDS
  "libstdc++-12-dev | libstdc++-dev, gcc, libboost-dev, libfmt-dev, libssl-dev, nlohmann-json3-dev")
include(CPack)
