// SPDX-License-Identifier: Apache-2.0
// Parts of a test in a forked process, and how they ended.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mluop::testing {

// The exit status of a process, or minus the signal that ended it.
inline int StatusOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The status with which a forked child ends that runs `body`: what it returns, by way of `end`
// (std::exit: with all that is destroyed then). A hang ends by alarm.
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
