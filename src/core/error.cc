// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <new>

#include "core/environment.h"
#include "mluops/extensions.h"

namespace mluop {
namespace {

thread_local char last_message[512] = "";

}  // namespace

mluOpStatus_t Fail(mluOpStatus_t status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_message, sizeof(last_message), format, arguments);
  va_end(arguments);
  if (Verbosity() >= 2) fprintf(stderr, "%s: %s\n", mluOpGetErrorString(status), last_message);
  return status;
}

mluOpStatus_t FailNull(const char* function, const char* argument) {
  return Fail(MLUOP_STATUS_BAD_PARAM, "%s: %s must be a pointer, got NULL", function, argument);
}

const char* LastErrorMessage() { return last_message; }

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

const char* mluOpGetLastErrorMessage() { return mluop::LastErrorMessage(); }

const char* mluOpGetErrorString(mluOpStatus_t status) {
  switch (status) {
    case MLUOP_STATUS_SUCCESS: return "MLUOP_STATUS_SUCCESS";
    case MLUOP_STATUS_NOT_INITIALIZED: return "MLUOP_STATUS_NOT_INITIALIZED";
    case MLUOP_STATUS_ALLOC_FAILED: return "MLUOP_STATUS_ALLOC_FAILED";
    case MLUOP_STATUS_BAD_PARAM: return "MLUOP_STATUS_BAD_PARAM";
    case MLUOP_STATUS_INTERNAL_ERROR: return "MLUOP_STATUS_INTERNAL_ERROR";
    case MLUOP_STATUS_ARCH_MISMATCH: return "MLUOP_STATUS_ARCH_MISMATCH";
    case MLUOP_STATUS_EXECUTION_FAILED: return "MLUOP_STATUS_EXECUTION_FAILED";
    case MLUOP_STATUS_NOT_SUPPORTED: return "MLUOP_STATUS_NOT_SUPPORTED";
    case MLUOP_STATUS_NUMERICAL_OVERFLOW: return "MLUOP_STATUS_NUMERICAL_OVERFLOW";
  }
  return "MLUOP_STATUS_UNKNOWN";
}
