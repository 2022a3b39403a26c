# SPDX-License-Identifier: Apache-2.0
# zaffre_room(NAME PATH USES...) makes room NAME out of src/PATH/*.c and the folders below it. Its headers are reached as "PATH/x.h" through a
# directory that shows that room alone; a room that is not listed (or reached through one that is) cannot be included.
function(zaffre_room name path)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${path}/*.c ${CMAKE_SOURCE_DIR}/src/${path}/*/*.c)
  # A folder below that is a room of its own (named before) is not part of this one.
  get_property(rooms GLOBAL PROPERTY zaffre_room_paths)
  foreach(room ${rooms})
    if(room MATCHES "^${path}/")
      list(FILTER sources EXCLUDE REGEX "/src/${room}/")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY zaffre_room_paths ${path})
  set(view ${CMAKE_BINARY_DIR}/include/${name})
  get_filename_component(parent ${view}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  if(NOT EXISTS ${view}/${path})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${path} ${view}/${path} SYMBOLIC)
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${view})
  target_link_libraries(${name} PUBLIC ${ARGN})
endfunction()

# zaffre_unit_tests(ROOM DIR LIBS...): each test_*.c in DIR and the folders below it is one cmocka program, named <ROOM>.<file>;
# headers in DIR itself are shared by all of them.
function(zaffre_unit_tests room dir)
  set(patience 300)
  if(ZAFFRE_SANITIZE OR CMAKE_CROSSCOMPILING) # (emulated) ten times slower, and more on a busy machine
    set(patience 1800)
  endif()
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/test_*.c)
  foreach(source ${tests})
    get_filename_component(stem ${source} NAME_WE)
    set(target unit_${room}_${stem})
    add_executable(${target} ${source})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${dir})
    target_link_libraries(${target} PRIVATE ${ARGN} cmocka)
    add_test(NAME unit.${room}.${stem} COMMAND ${target})
    set_tests_properties(unit.${room}.${stem} PROPERTIES TIMEOUT ${patience} LABELS unit)
  endforeach()
endfunction()
