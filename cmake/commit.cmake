# cmake -DSOURCE=FOLDER -DGIT=PROGRAM -DOUTPUT=FILE -P commit.cmake: writes a header with the commit that is checked out, for
# `weir --version`. The text is empty if there is no git.
set(commit "")
if(EXISTS "${SOURCE}/.git" AND GIT)
  execute_process(COMMAND "${GIT}" rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define WEIR_COMMIT \"${commit}\"\n")
