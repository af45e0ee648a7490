# `cmake --install` gives find_package(rtcg) with a target for each layer.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY RTCG_LAYERS)
install(TARGETS ${layers} EXPORT rtcg_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET rtcg_fmt)
  install(TARGETS rtcg_fmt EXPORT rtcg_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rtcg)
install(EXPORT rtcg_targets NAMESPACE rtcg:: DESTINATION ${package_dir})
write_basic_package_version_file(rtcg-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/rtcg-config.cmake.in rtcg-config.cmake @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rtcg-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rtcg-config-version.cmake DESTINATION ${package_dir})
