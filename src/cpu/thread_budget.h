// SPDX-License-Identifier: Apache-2.0
// How many threads beside their callers' the teams of this process may count on.
//
// oneTBB starts its threads when work first asks for them, most of them from one another. Where the
// system refuses one (a limit on processes, no address space for its stack) oneTBB throws: from a
// thread of its own that ends the process, and from the caller's it leaves the arena unusable. So
// as many threads are started here first, all at once, and ended again; where that fails, oneTBB is
// asked for no more than there can be, and made to start them before anyone tries again. What remains
// is that another process takes the last of them in between.
#pragma once

namespace mluop {

// How many of `wanted` threads can be started beside those that run. Throws std::bad_alloc.
int CountStartable(int wanted);

// To be called on threads of oneTBB's; how many have done so since there last was no team.
void NoteThread();
int ThreadsSeen();

// The threads of one team, as long as it lives.
class TakenThreads {
 public:
  // Throws std::bad_alloc.
  explicit TakenThreads(int wanted);
  ~TakenThreads();
  TakenThreads(const TakenThreads&) = delete;
  TakenThreads& operator=(const TakenThreads&) = delete;

  int count() const { return count_; }  // in [0, wanted]

  // Threads that oneTBB should have started by now for all teams; 0 where it was not asked for more.
  int expected() const { return expected_; }

 private:
  int expected_ = 0;
  int count_;
};

}  // namespace mluop
