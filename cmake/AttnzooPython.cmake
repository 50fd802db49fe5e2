# Finds a Python 3 that has NumPy, which several tests are written in: ATTNZOO_PYTHON. The first python3 on the path
# may be one without NumPy, so the system's own is tried too.
if(NOT ATTNZOO_PYTHON)
    foreach(candidate IN ITEMS python3 /usr/bin/python3)
        execute_process(COMMAND ${candidate} -c "import numpy, sys; print(sys.executable)"
            OUTPUT_VARIABLE executable OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE outcome)
        if(outcome EQUAL 0)
            set(ATTNZOO_PYTHON "${executable}" CACHE FILEPATH "A Python 3 that has NumPy")
            break()
        endif()
    endforeach()
endif()
if(NOT ATTNZOO_PYTHON)
    message(FATAL_ERROR "The tests need Python 3 with NumPy (Debian: python3-numpy). "
        "-DATTNZOO_BUILD_TESTS=OFF builds without them.")
endif()
