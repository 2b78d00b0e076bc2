// SPDX-License-Identifier: Apache-2.0
// Whether oneTBB may still be entered. Where it may not, loops run on the calling thread, and what
// oneTBB holds is left as it is.
#pragma once

namespace mluop {

// To be called before oneTBB is first entered. A forked child has none of its parent's workers, and
// locks may have been held at the moment of the fork: from then on it is lost to the child.
void NoteOneTbb();

// Once lost it stays so; at exit it is.
bool OneTbbIsLost();
void LoseOneTbb();

// As long as it lives the process does not end under the feet of what is inside of oneTBB. Throws where
// oneTBB is lost.
class InsideOneTbb {
 public:
  InsideOneTbb();
  ~InsideOneTbb();
  InsideOneTbb(const InsideOneTbb&) = delete;
  InsideOneTbb& operator=(const InsideOneTbb&) = delete;
};

// Calls `body`, which enters oneTBB. Where it throws, oneTBB is lost to the whole process: what it
// does once (counting the cores, say) and failed to do, it waits for in the next call, for ever; and
// what it had queued may or may not run.
template <typename Body>
auto EnterOneTbb(Body&& body) {
  const InsideOneTbb inside;
  try {
    return body();
  } catch (...) {
    LoseOneTbb();
    throw;
  }
}

}  // namespace mluop
