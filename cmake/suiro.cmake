# Helpers shared by every room: one way to declare a room, one set of flags.

set(SUIRO_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(SUIRO_WERROR)
  list(APPEND SUIRO_WARNINGS -Werror)
endif()
add_compile_options(-fno-omit-frame-pointer)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
if(SUIRO_SANITIZE)
  add_compile_options(-fsanitize=${SUIRO_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SUIRO_SANITIZE})
endif()

# suiro_room(NAME SOURCES a.cc b.cc LINKS lower-rooms...)
#   A room is one static library, suiro_NAME. Its LINKS are the rooms it may include: nothing else is on its
#   dependency list, and tests/tidy checks the includes against this list.
function(suiro_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS" ${ARGN})
  add_library(suiro_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(suiro_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(suiro_${name} PRIVATE ${SUIRO_WARNINGS})
  foreach(lower ${ROOM_LINKS})
    target_link_libraries(suiro_${name} PUBLIC suiro_${lower})
  endforeach()
endfunction()
