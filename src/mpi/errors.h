// From our errors to MPI's: the one place that knows both.
#pragma once

#include <mpi.h>

#include "base/status.h"

namespace suiro::mpi {

/// The predefined error class of a kind (MPI-4.0 section 14.7). Usable as an error code as it is.
int error_class(ErrorKind kind);

/// Prints what happened (one line; expected failures of an open or delete only at level info) and calls the error
/// handler of `identity`, the program's handle. Returns the error code that the MPI function returns.
int raise(MPI_File identity, const Status& status);

/// The same where the program has no handle: errors of MPI_File_open and MPI_File_delete, which go to the handler that
/// MPI_FILE_NULL has at this moment.
int raise_without_file(const Status& status);

/// A genuine handle of the host MPI library to give to the program: an empty file of this process alone, read-only, on
/// MPI_COMM_SELF. Its name is gone again when this returns. (Not /dev/null: Open MPI makes lock files and a semaphore
/// named after the file, which users of one node would share.)
Result<MPI_File> open_identity();

}  // namespace suiro::mpi
