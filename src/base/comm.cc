#include "base/comm.h"

#include <string>

namespace suiro {

Status Comm::agree(Status local) {
  // One reduction carries both answers: the lowest failing rank (as -rank, so that max finds it) and the worst kind.
  constexpr int64_t kNobody = INT64_MIN;
  int64_t values[1] = {local.ok() ? kNobody : -static_cast<int64_t>(rank())};
  max(values, 1);
  if (values[0] == kNobody) return Status();
  int failing = static_cast<int>(-values[0]);
  int64_t kind = static_cast<int64_t>(local.kind());
  broadcast(&kind, sizeof kind, failing);
  if (rank() == failing) return local;
  auto agreed = static_cast<ErrorKind>(kind);
  // A rank that failed differently keeps its own explanation but reports the agreed kind.
  std::string text = local.ok() ? "rank " + std::to_string(failing) + " failed: " + std::string(kind_name(agreed))
                                : std::string(local.message());
  return Status(agreed, std::move(text), local.system_errno());
}

}  // namespace suiro
