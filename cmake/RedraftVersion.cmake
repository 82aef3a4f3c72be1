# Writes OUTPUT from INPUT with version and commit; touches it only when they change. Run at every build (cmake -P).
if(REDRAFT_COMMIT STREQUAL "")
  execute_process(COMMAND git describe --always --abbrev=12 --dirty --exclude=*
                  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE REDRAFT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR REDRAFT_COMMIT STREQUAL "")
    set(REDRAFT_COMMIT unknown)
  endif()
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
