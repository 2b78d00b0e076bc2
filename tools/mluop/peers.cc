// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <fstream>
#include <stdexcept>

#include "html.h"

namespace mluop::tool {
namespace {

// Returns the peer of a case in a file, or NULL. Prefers a measurement at the level "library",
// which is the level of `row`, to one at the level "drop-in".
const Row* FindPeer(const Row& file, const Row& row) {
  const Row* found = nullptr;
  for (const Row& peer : file.at("cases")) {
    if (!peer.contains("peer_s") || peer.at("case") != row.at("case")) continue;
    if (found == nullptr || Text(peer, "level") == "library") found = &peer;
  }
  return found;
}

std::string KindOf(const std::string& device) { return device.substr(0, device.find(':')); }

}  // namespace

Row ReadPeers(const std::vector<std::string>& names) {
  Row peers = Row::array();
  for (const std::string& name : names) {
    std::ifstream file(name);
    const Row read = Row::parse(file, nullptr, /*allow_exceptions=*/false);
    const auto has = [&](const char* key) { return read.is_object() && read.contains(key); };
    if (!has("machine") || !read["machine"].contains("name") || !has("commit") || !has("command") ||
        !has("device") || !has("cases"))
      throw std::invalid_argument("--peers must be a file written by bench/peers.py --json, got " +
                                  name);
    peers.push_back(read);
  }
  return peers;
}

Row ParseBuiltInPeers() {
  Row peers = Row::array();
  for (const std::string_view text : BuiltInPeers()) peers.push_back(Row::parse(text));
  return peers;
}

std::vector<Peer> PeersOf(const Row& files, const Row& row) {
  std::vector<Peer> peers;
  const double ours = Number(row, "min_s");
  for (const Row& file : files) {
    if (Text(file, "device") != KindOf(Text(row, "device"))) continue;
    const Row* const peer = FindPeer(file, row);
    if (peer == nullptr) continue;
    const double ratio = Number(*peer, "peer_s") / peer->value("ours_s", ours);
    peers.push_back({Text(*peer, "peer"), Text(*peer, "level"), Text(file["machine"], "name"),
                     ratio, ratio * ours});
  }
  return peers;
}

}  // namespace mluop::tool
