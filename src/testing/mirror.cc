// SPDX-License-Identifier: Apache-2.0
#include "testing/mirror.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "core/dtype.h"
#include "mluops/extensions.h"

namespace mluop::testing {
namespace {

constexpr size_t kRedzone = 512;
constexpr int kRedzoneByte = 0xa5;

void Expect(cnrtRet_t result) {
  if (result == cnrtErrorNoMem) throw std::bad_alloc();
  if (result != cnrtSuccess) throw std::runtime_error(mluOpGetLastErrorMessage());
}

void Copy(void* to, const void* from, size_t bytes, cnrtMemTransDir_t direction) {
  Expect(cnrtMemcpy(to, const_cast<void*>(from), bytes, direction));
}

bool IsRedzone(const char* bytes, size_t count) {
  return std::all_of(bytes, bytes + count,
                     [](char b) { return static_cast<unsigned char>(b) == kRedzoneByte; });
}

}  // namespace

Mirror::Mirror(const PreparedCall& call, Placement placement)
    : call_(call), placement_(placement), arguments_(call.arguments()) {
  for (int i = 0; i < arguments_.spec->tensor_count; ++i) {
    TensorArgument& tensor = arguments_.tensors[i];
    const size_t element = tensor.desc == nullptr ? 1 : SizeOf(tensor.desc->dtype);
    blocks_.push_back(Allocate(tensor.ByteCount(), element));
    if (tensor.desc == nullptr) continue;
    void* const data = blocks_.back().base + blocks_.back().redzone;
    if (arguments_.spec->tensors[i].direction == kIn) {
      Copy(data, tensor.data, tensor.ByteCount(), cnrtMemcpyHostToDev);
    }
    tensor.data = data;
  }
  arguments_.workspace = {};
}

Mirror::~Mirror() {
  FreeWorkspace();
  for (const Block& block : blocks_) cnrtFree(block.base);
}

Mirror::Block Mirror::Allocate(size_t bytes, size_t element) const {
  Block block = {nullptr, placement_ == Placement::kBack ? kRedzone + element : 0, bytes};
  void* base = nullptr;
  Expect(cnrtMalloc(&base, bytes + 2 * block.redzone));
  block.base = static_cast<char*>(base);
  if (block.redzone > 0) Expect(cnrtMemset(base, kRedzoneByte, bytes + 2 * block.redzone));
  return block;
}

void Mirror::PoisonOutputs() {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (arguments_.spec->tensors[i].direction != kOut) continue;
    Expect(cnrtMemset(blocks_[i].base + blocks_[i].redzone, 0xff, blocks_[i].bytes));
  }
}

void Mirror::FreeWorkspace() {
  for (const Block& block : workspace_) cnrtFree(block.base);
  workspace_.clear();
  arguments_.workspace = {};
}

void Mirror::SetWorkspace(size_t bytes) {
  FreeWorkspace();
  if (bytes == 0) return;
  workspace_.push_back(Allocate(bytes, 1));
  void* const data = workspace_.back().base + workspace_.back().redzone;
  Expect(cnrtMemset(data, 0xff, bytes));
  arguments_.workspace = {data, bytes};
}

std::vector<char> Mirror::CopyToHost(const Block& block, std::string* overwritten) {
  std::vector<char> bytes(block.bytes + 2 * block.redzone);
  Copy(bytes.data(), block.base, bytes.size(), cnrtMemcpyDevToHost);
  if (!IsRedzone(bytes.data(), block.redzone)) *overwritten = "memory before ";
  if (!IsRedzone(bytes.data() + block.redzone + block.bytes, block.redzone)) {
    *overwritten = "memory after ";
  }
  return bytes;
}

std::string Mirror::FindOverwrite(size_t tensor) const {
  const Block& block = blocks_[tensor];
  std::string overwritten;
  const std::vector<char> bytes = CopyToHost(block, &overwritten);
  if (!overwritten.empty()) return overwritten;
  const bool is_input = arguments_.spec->tensors[tensor].direction == kIn;
  const void* const original = call_.arguments().tensors[tensor].data;
  if (is_input && block.bytes > 0 &&
      std::memcmp(bytes.data() + block.redzone, original, block.bytes) != 0) {
    return "the input ";
  }
  return "";
}

std::string Mirror::Fetch() const {
  Expect(cnrtSyncDevice());
  for (const Block& block : workspace_) {
    std::string overwritten;
    CopyToHost(block, &overwritten);
    if (!overwritten.empty()) return overwritten + "the workspace was overwritten";
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const std::string place = FindOverwrite(i);
    if (!place.empty()) {
      return place + std::string(arguments_.spec->tensors[i].name) + " was overwritten";
    }
    if (arguments_.spec->tensors[i].direction != kOut) continue;
    Copy(call_.arguments().tensors[i].data, blocks_[i].base + blocks_[i].redzone, blocks_[i].bytes,
         cnrtMemcpyDevToHost);
  }
  return "";
}

}  // namespace mluop::testing
