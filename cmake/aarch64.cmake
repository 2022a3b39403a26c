# SPDX-License-Identifier: Apache-2.0
# Toolchain of `make arm64`: Debian's cross compiler, headers and libraries of a Debian arm64 root (tools/arm64-root makes it), tests run by
# qemu-user in that root.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
get_filename_component(ZAFFRE_ARM64_ROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root" ABSOLUTE)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT ${ZAFFRE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${ZAFFRE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${ZAFFRE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ZAFFRE_ARM64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ZAFFRE_ARM64_ROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${ZAFFRE_ARM64_ROOT})
