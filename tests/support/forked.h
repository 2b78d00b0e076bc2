// SPDX-License-Identifier: Apache-2.0
// Runs part of a test in a forked process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mluop::testing {

// The exit status of a process, or minus the signal that killed it.
inline int StatusOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs `body` in a forked child and returns the child's status. The child passes the result of
// `body` to `end`; std::exit runs the destructors too. An alarm kills a child that hangs.
template <typename Body>
int InForkedChild(const Body& body, void (*end)(int) = _exit) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    end(body());
  }
  return StatusOf(child);
}

}  // namespace mluop::testing
