// Which basic element (access/external32.h) each predefined MPI datatype consists of.
#pragma once

#include <mpi.h>

#include <vector>

#include "access/external32.h"
#include "base/status.h"

namespace suiro::mpi {

/// The elements of one item, in order: one for most types, two for the pairs of MPI_MINLOC. kType when unknown.
Result<std::vector<BasicType>> basic_elements(MPI_Datatype predefined);

}  // namespace suiro::mpi
