#include "mpi/info.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/message.h"

namespace suiro::mpi {

Result<Pairs> pairs_of(MPI_Info info) {
  Pairs pairs;
  if (info == MPI_INFO_NULL) return pairs;
  int keys = 0;
  if (PMPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return Status(ErrorKind::kInfo, "the info object is not valid");
  for (int i = 0; i < keys; i++) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0;
    int found = 0;
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS ||
        PMPI_Info_get_valuelen(info, key, &length, &found) != MPI_SUCCESS || !found)
      continue;
    std::string value(static_cast<size_t>(length) + 1, '\0');
    if (PMPI_Info_get(info, key, length, value.data(), &found) != MPI_SUCCESS || !found) continue;
    value.resize(value.find('\0'));
    pairs.emplace_back(key, std::move(value));
  }
  return pairs;
}

Result<Pairs> hints_at_open(MPI_Info info) {
  auto pairs = pairs_of(info);
  const char* path = std::getenv("ROMIO_HINTS");
  if (!pairs.ok() || path == nullptr || *path == '\0') return pairs;
  std::ifstream file(path);
  if (!file) {
    log_warning(std::string("ROMIO_HINTS=") + path + " cannot be read; its hints are not in force");
    return pairs;
  }
  Pairs overriding;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key, value;
    if (!(words >> key) || key[0] == '#' || !(words >> value)) continue;
    bool first = std::none_of(overriding.begin(), overriding.end(), [&](const auto& pair) { return pair.first == key; });
    if (first) overriding.emplace_back(key, value);
  }
  for (const auto& [key, value] : overriding) set_pair(&*pairs, key, value);
  return pairs;
}

Result<MPI_Info> info_of(const Pairs& pairs) {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return Status(ErrorKind::kInfo, "cannot make an info object");
  for (const auto& [key, value] : pairs) {
    std::string shortened = value.substr(0, MPI_MAX_INFO_VAL - 1);
    PMPI_Info_set(info, key.c_str(), shortened.c_str());
  }
  return info;
}

void set_pair(Pairs* pairs, const std::string& key, const std::string& value) {
  for (auto& pair : *pairs) {
    if (pair.first != key) continue;
    pair.second = value;
    return;
  }
  pairs->emplace_back(key, value);
}

}  // namespace suiro::mpi
