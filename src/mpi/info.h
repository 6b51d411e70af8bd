// MPI_Info as key-value pairs.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace suiro::mpi {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// All pairs of an info object; none for MPI_INFO_NULL.
Result<Pairs> pairs_of(MPI_Info info);
/// The hints of an open: those of `info`, overridden by those of the file that the variable ROMIO_HINTS names (lines
/// "key value", '#' begins a comment, the first line of a key counts), as administrators know it from ROMIO.
Result<Pairs> hints_at_open(MPI_Info info);
/// A new info object, owned by the caller. Values longer than the library allows are cut.
Result<MPI_Info> info_of(const Pairs& pairs);
/// Sets a pair, replacing an earlier one of the same key.
void set_pair(Pairs* pairs, const std::string& key, const std::string& value);

}  // namespace suiro::mpi
