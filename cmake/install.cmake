# make install: the libraries, the command, what finds them (pkg-config, CMake, environment modules), and the documents.

include(CMakePackageConfigHelpers)

install(TARGETS suiro_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# libsuiro.so looks for its shims in the folder suiro/ beside itself. A shim whose MPI library is not on the building
# machine was not built (src/mpi/CMakeLists.txt has warned).
foreach(shim suiro_shim_mpich suiro_shim_ompi suiro_shim_abi)
  if(TARGET ${shim})
    install(TARGETS ${shim} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/suiro)
  endif()
endforeach()
install(TARGETS suiro RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(FILES docs/man/suiro.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/user DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

# The installed files name each other relative to where they lie, so that the tree may be moved. CMake knows how to do
# that; pkg-config does it with ${pcfiledir}, the environment module with its own path.
set(SUIRO_MODULE_DIR ${CMAKE_INSTALL_DATADIR}/modulefiles/suiro)
foreach(folder BINDIR LIBDIR MANDIR)
  file(RELATIVE_PATH SUIRO_${folder} "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_${folder}}")
endforeach()
file(RELATIVE_PATH SUIRO_PREFIX_FROM_PKGCONFIG "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH SUIRO_PREFIX_FROM_MODULE "${CMAKE_INSTALL_FULL_DATADIR}/modulefiles/suiro" "${CMAKE_INSTALL_PREFIX}")

configure_file(cmake/suiro.pc.in ${CMAKE_BINARY_DIR}/install/suiro.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/suiro.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(cmake/suiro.module.in ${CMAKE_BINARY_DIR}/install/suiro.module @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/suiro.module DESTINATION ${SUIRO_MODULE_DIR} RENAME ${PROJECT_VERSION})

set(SUIRO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/suiro)
configure_package_config_file(cmake/suiroConfig.cmake.in ${CMAKE_BINARY_DIR}/install/suiroConfig.cmake
                              INSTALL_DESTINATION ${SUIRO_PACKAGE_DIR}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/suiroConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/suiroConfig.cmake ${CMAKE_BINARY_DIR}/install/suiroConfigVersion.cmake
        DESTINATION ${SUIRO_PACKAGE_DIR})
