// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>

namespace mluop {
namespace {

void FailWith(mluOpStatus_t status, const char* format, va_list arguments) {
  char message[512];
  vsnprintf(message, sizeof(message), format, arguments);
  store_message(status, message);
}

}  // namespace

mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  FailWith(status, format, arguments);
  va_end(arguments);
  return status;
}

cnrtRet_t Fail(cnrtRet_t error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  FailWith(StatusOf(error), format, arguments);
  va_end(arguments);
  return error;
}

mluOpStatus_t FailNull(const char* function, const char* argument) {
  return Fail(MLUOP_STATUS_BAD_PARAM, "%s: %s must be a pointer, got NULL", function, argument);
}

cnrtRet_t FailNullRuntime(const char* function, const char* argument) {
  return Fail(cnrtErrorArgsInvalid, "%s: %s must be a pointer, got NULL", function, argument);
}

mluOpStatus_t StatusOf(cnrtRet_t error) {
  switch (error) {
    case cnrtSuccess: return MLUOP_STATUS_SUCCESS;
    case cnrtErrorArgsInvalid: return MLUOP_STATUS_BAD_PARAM;
    case cnrtErrorNoDevice: return MLUOP_STATUS_NOT_INITIALIZED;
    case cnrtErrorNoMem: return MLUOP_STATUS_ALLOC_FAILED;
    case cnrtErrorUnknown: return MLUOP_STATUS_EXECUTION_FAILED;
  }
  return MLUOP_STATUS_EXECUTION_FAILED;
}

mluOpStatus_t FailFromException(const char* operation) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(MLUOP_STATUS_ALLOC_FAILED, "%s: out of memory", operation);
  } catch (const std::exception& error) {
    return Fail(MLUOP_STATUS_INTERNAL_ERROR, "%s: %s", operation, error.what());
  } catch (...) {
    return Fail(MLUOP_STATUS_INTERNAL_ERROR, "%s: unknown exception", operation);
  }
}

}  // namespace mluop
