// SPDX-License-Identifier: Apache-2.0
// Runs a function on several threads.
#pragma once

#include <thread>
#include <vector>

namespace mluop::testing {

// Runs `body(index)` on `count` threads at once, and joins them.
template <typename Body>
void OnThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mluop::testing
