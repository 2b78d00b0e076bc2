// SPDX-License-Identifier: Apache-2.0
// The times of other libraries, from files of bench/results. They come from other runs, and may come
// from other machines: a page marks them so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine.h"

namespace mluop::tool {

// Reads the files that --peers names. Throws std::invalid_argument.
Row ReadPeers(const std::vector<std::string>& names);

// The files of bench/results that the build embeds; the build defines it.
const std::vector<std::string_view>& BuiltInPeers();
// Returns BuiltInPeers(), parsed.
Row ParseBuiltInPeers();

struct Peer {
  std::string name;     // of the library
  std::string level;    // "library", or "drop-in": from tensor to tensor of PyTorch
  std::string machine;  // that it was measured on
  double ratio;         // its time over ours
  double seconds;       // ratio times our time of the row
};
// The peers of a row on the same kind of device, at most one per file. A file that has our time too
// gives the ratio of that run; else the ratio is to the time of the row.
std::vector<Peer> PeersOf(const Row& files, const Row& row);

}  // namespace mluop::tool
