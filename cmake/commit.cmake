# cmake -DSOURCE=FOLDER -DGIT=PROGRAM -DOUTPUT=FILE -P commit.cmake: writes a header with the checked-out commit for `weir
# --version`; the text is empty if git reports none.
set(commit "")
if(EXISTS "${SOURCE}/.git" AND GIT)
  execute_process(COMMAND "${GIT}" rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define WEIR_COMMIT \"${commit}\"\n")
